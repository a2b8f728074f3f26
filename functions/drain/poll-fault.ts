/** Records a failed poll in the feed's row, the log and the metrics. */
import { metrics } from '../../shared/contract/names.ts';
import type { PartnerError } from '../../shared/domain/faults.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { FeedKey, FeedState, PollEnd } from '../../shared/state/feed-states.ts';
import { StuckFeedError } from './standstill.ts';

const stuckPauseMs = 5 * 60_000;

/** @param before the feed's state when the poll began, with the fault of the poll before it */
export function pollEndOf(fault: PartnerError, before: FeedState, nowMs: number): PollEnd {
  // The same request was refused as wrong twice: it would have the same answer for ever.
  const isRefusedAgain = fault.code === 'invalid-request' && before.faultKind === fault.code;
  const isStuck = fault instanceof StuckFeedError || isRefusedAgain;
  return {
    fault: fault.message,
    faultKind: fault.code,
    ...((fault.policy.needsAttention || isStuck) && { needsPerson: true }),
    ...(isStuck && { pausedUntil: nowMs + stuckPauseMs }),
  };
}

export function reportFault(
  observer: Observer,
  fault: PartnerError,
  { needsPerson }: PollEnd,
  key: FeedKey,
): void {
  const { code, status, message: reason, cause: error } = fault;
  const fields = { ...key, fault: code, status, reason, error };
  if (code === 'operator-paused') {
    observer.info('the feed was not polled, because an operator has paused it', fields);
  } else if (needsPerson) {
    observer.count(metrics.needsAttention, 1);
    observer.error('the feed cannot be read until somebody acts', fields);
  } else {
    observer.warn('the feed could not be read: the next poll goes on from the stored cursor', fields);
  }
}
