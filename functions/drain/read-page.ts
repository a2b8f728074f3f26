import { type Feed, pageLimit } from '../../shared/contract/feeds.ts';
import { isCursor } from '../../shared/contract/partner-service.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import { knownSuccess } from '../../shared/domain/last-success.ts';
import { mayBeCursorRejection } from '../../shared/partner-api/errors/classify.ts';
import type { CallOptions, FeedReader, ReceivedPage } from '../../shared/ports/feed-reader.ts';
import type { FeedState } from '../../shared/ports/feed-states.ts';

export interface PageRead extends ReceivedPage {
  /** What was sent as `since`; goes with the page's cursor from now on. */
  readonly since: string;
  /** The cursor was rejected and reading started over from `since`. */
  readonly startedOver: boolean;
}

/**
 * Reads the page after the stored cursor. When the service may have rejected the cursor, or it cannot be sent, asks once
 * without it, from the last success less the overlap (during a resync from where that began): the document does not say
 * how a rejection looks (partner-api.md §4.1 rule 7). When that fails too it was not the cursor, and the state stays as
 * it is.
 *
 * @throws {PartnerError}
 */
export async function readPageOrStartOver(
  reader: FeedReader,
  feed: Feed,
  state: FeedState,
  { overlapMs, nowMs, ...options }: CallOptions & { readonly overlapMs: number; readonly nowMs: number },
): Promise<PageRead> {
  const { partnerAccount, since, cursor } = state;
  if (cursor === undefined || isCursor(cursor)) {
    try {
      const query = { feed, since, cursor, limit: pageLimit };
      const received = await reader.readPage(partnerAccount, query, options);
      return { ...received, since, startedOver: false };
    } catch (fault) {
      if (cursor === undefined || !(fault instanceof PartnerError) || !mayBeCursorRejection(fault))
        throw fault;
    }
  }
  const restart = restartOf(state, overlapMs, nowMs);
  const received = await reader.readPage(partnerAccount, { feed, since: restart, limit: pageLimit }, options);
  // Planted fault: old-since-after-reset
  return { ...received, since: restart, startedOver: true };
}

/**
 * A `since` that misses nothing: before the last up-to-date page was asked for, or the first one. A resync begins again
 * where it began, for what it has not come to yet lies before the last success.
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
