import { advertIdPattern } from '../../shared/contract/checks.ts';
import type { Feed } from '../../shared/contract/messages.ts';
import { isCursor } from '../../shared/contract/partner-service.ts';
import { knownSuccess, toInstant } from '../../shared/domain/clock.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import type { PartnerClient } from '../../shared/partner-api/client.ts';
import { mayBeCursorRejection } from '../../shared/partner-api/error-answers.ts';
import type { CallOptions, ReceivedPage } from '../../shared/partner-api/readings.ts';
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
  readonly limit: number;
}

/**
 * Reads the page after the stored cursor. If the service may have rejected the cursor (partner-api.md §4.1 rule 7), or
 * it cannot be sent, asks once without it; if that fails too, the cursor was not the cause.
 *
 * @throws {BridgeFault}
 */
export async function readPageOrStartOver(
  reader: Pick<PartnerClient, 'readPage'>,
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
      if (cursor === undefined || !(fault instanceof BridgeFault) || !mayBeCursorRejection(fault))
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

export interface PageIds {
  /** Distinct IDs, in the order of their first occurrence. */
  readonly ids: readonly string[];
  readonly repeated: number;
  readonly malformed: number;
  /** The first five malformed entries as text, each cut to 256 characters. */
  readonly malformedShown: readonly string[];
}

/** Enough to identify the problem; a page may have a thousand malformed entries. */
const maxShown = 5;

/** Separates the IDs of a page from malformed entries. An integer is an ID too, in case the service changes the type. */
export function idsOf(data: readonly unknown[]): PageIds {
  const ids = new Set<string>();
  const malformedShown: string[] = [];
  let malformed = 0;
  for (const entry of data) {
    const id = Number.isSafeInteger(entry) ? String(entry) : entry;
    if (typeof id === 'string' && advertIdPattern.test(id)) ids.add(id);
    else {
      malformed += 1;
      if (malformed <= maxShown) malformedShown.push(malformedText(entry));
    }
  }
  return { ids: [...ids], repeated: data.length - malformed - ids.size, malformed, malformedShown };
}

function malformedText(entry: unknown): string {
  if (typeof entry === 'string') return entry.slice(0, 256);
  try {
    return (JSON.stringify(entry) ?? '').slice(0, 256);
  } catch {
    // `JSON.stringify` fails for deep nesting; one such entry must not block the rest of the page.
    return '(not printable)';
  }
}
