/** Records a failed poll in the feed's row, the log and the metrics. */
import { metrics } from '../../shared/contract/names.ts';
import type { PartnerError } from '../../shared/domain/faults.ts';
import type { FeedKey, PollEnd } from '../../shared/ports/feed-states.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import { StuckFeedError } from './standstill.ts';

const stuckPauseMs = 5 * 60_000;

const needsPerson = (fault: PartnerError): boolean =>
  fault.policy.needsAttention || fault instanceof StuckFeedError;

export const pollEndOf = (fault: PartnerError, nowMs: number): PollEnd => ({
  fault: fault.message,
  faultKind: fault.code,
  ...(needsPerson(fault) ? { needsPerson: true } : {}),
  ...(fault instanceof StuckFeedError ? { pausedUntil: nowMs + stuckPauseMs } : {}),
});

export function reportFault(observer: Observer, fault: PartnerError, key: FeedKey): void {
  const { code, status, message: reason, cause: error } = fault;
  const fields = { ...key, fault: code, status, reason, error };
  if (code === 'operator-paused') {
    observer.info('the feed was not polled, because an operator has paused it', fields);
  } else if (needsPerson(fault)) {
    observer.count(metrics.needsAttention, 1);
    observer.error('the feed cannot be read until somebody acts', fields);
  } else {
    observer.warn('the feed could not be read: the next poll goes on from the stored cursor', fields);
  }
}
