import { checked } from '../../shared/contract/checks.ts';
import { type RefreshOutcome, refreshEvent } from '../../shared/contract/invocations.ts';
import type { CallOptions } from './refresh-lock.ts';
import type { RefreshToken } from './refresh-token.ts';
import type { SweepReport } from './sweep.ts';

/**
 * Carries out the event's action: a refresh, or a sweep if the event names no action (as the schedule's event does).
 * The answer contains no secrets. This function must not offer more actions: drain and fan-out may call it, and they
 * must not be able to connect or forget partner accounts.
 *
 * @throws {ShapeError} for an event that does not match the contract; the error contains nothing of the event
 */
export async function answerRefreshToken(
  stage: RefreshToken,
  event: unknown,
  options: CallOptions,
): Promise<RefreshOutcome | SweepReport> {
  const isNamed = typeof event === 'object' && event !== null && 'action' in event;
  if (!isNamed) return stage.sweep(options);
  return stage.refresh(checked(refreshEvent, event, 'event of refresh-token'), options);
}
