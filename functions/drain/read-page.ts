import type { Feed } from '../../shared/contract/messages.ts';
import { isCursor } from '../../shared/contract/partner-service.ts';
import { knownSuccess, toInstant } from '../../shared/domain/clock.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import { mayBeCursorRejection } from '../../shared/partner-api/error-answers.ts';
import type { CallOptions, FeedReader, ReceivedPage } from '../../shared/ports/readers.ts';
import type { FeedState } from '../../shared/state/feed-states.ts';

export interface PageRead extends ReceivedPage {
  /** The `since` of the request; every later request with the page's cursor must send the same value. */
  readonly since: string;
  /** The cursor was rejected and reading started over from `since`. */
  readonly startedOver: boolean;
}

export interface ReadOptions extends CallOptions {
  readonly overlapMs: number;
  readonly nowMs: number;
  /** Number of entries asked for. */
  readonly limit: number;
}

/**
 * Reads the page after the stored cursor. The document does not say how a rejected cursor looks (partner-api.md §4.1
 * rule 7). So if the service may have rejected the cursor, or the cursor cannot be sent, this function asks once
 * without it: from the last success minus the overlap, or during a resync from the resync's start. If that fails too,
 * the cursor was not the cause, and the state stays unchanged.
 *
 * @throws {PartnerError}
 */
export async function readPageOrStartOver(
  reader: FeedReader,
  feed: Feed,
  state: FeedState,
  { overlapMs, nowMs, limit, ...options }: ReadOptions,
): Promise<PageRead> {
  const { partnerAccount, since, cursor } = state;
  if (cursor === undefined || isCursor(cursor)) {
    try {
      const query = { feed, since, cursor, limit };
      const received = await reader.readPage(partnerAccount, query, options);
      return { ...received, since, startedOver: false };
    } catch (fault) {
      if (cursor === undefined || !(fault instanceof PartnerError) || !mayBeCursorRejection(fault))
        throw fault;
    }
  }
  const restart = restartOf(state, overlapMs, nowMs);
  const received = await reader.readPage(partnerAccount, { feed, since: restart, limit }, options);
  // Planted fault: old-since-after-reset
  return { ...received, since: restart, startedOver: true };
}

/**
 * A `since` that misses no change: the request time of the last up-to-date page minus the overlap, or the feed's first
 * `since`. A resync starts over at its own start, because its unread changes lie before the last success.
 */
export function restartOf(
  { since, lastSuccess, resyncing }: FeedState,
  overlapMs: number,
  nowMs: number,
): string {
  // Planted faults: resync-starts-over-from-last-success, date-believed
  const success = resyncing ? undefined : knownSuccess(lastSuccess, nowMs);
  return success === undefined ? since : toInstant(success - overlapMs);
}
