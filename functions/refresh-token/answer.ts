import { checked } from '../../shared/contract/checks.ts';
import { type RefreshOutcome, refreshEvent } from '../../shared/contract/refresh-token.ts';
import type { CallOptions } from './refresh-request.ts';
import type { RefreshToken } from './refresh-token.ts';
import type { SweepReport } from './sweep.ts';

/**
 * Does what the event asks for: a refresh, or a sweep where it names no action, as the schedule's. The answer is data
 * without secrets. A function that did more than that would let drain and fan-out connect and forget partner accounts.
 *
 * @throws {ShapeError} for an event that is none of the contract, without a word of it
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
