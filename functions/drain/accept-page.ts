import type { Cause } from '../../shared/contract/events.ts';
import type { Feed } from '../../shared/contract/messages.ts';
import { metrics } from '../../shared/contract/names.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import type { FeedState, FeedStates, Lease, Progress } from '../../shared/state/feed-states.ts';
import { type EnqueueDeps, enqueuePage } from './enqueue-page.ts';
import { idsOf, type PageIds } from './page-ids.ts';
import type { PageRead } from './read-page.ts';
import { isSetback, type StuckFeedError, standstillAfter, type Trail } from './standstill.ts';

export interface AcceptDeps extends EnqueueDeps {
  readonly feedStates: FeedStates;
  readonly clock: Clock;
  readonly settings: {
    /** Duration of the lease; each page renews it. */
    readonly leaseMs: number;
  };
}

export interface LeasedFeed {
  readonly feed: Feed;
  readonly lease: Lease;
  /** From where the feed is read: differs from the stored state at the start of a resync. */
  readonly state: FeedState;
  /** The `cause` that the events of this feed's adverts carry. */
  readonly cause: Cause;
  readonly trail: Trail;
}

export interface Accepted {
  readonly lease: Lease;
  /** Set when the poll must not read further pages, although this page was stored. */
  readonly standstill: StuckFeedError | undefined;
}

/**
 * Sends the page's IDs to the queue, and only then stores everything else in one write: cursor, `since`, counts, lease.
 *
 * @returns undefined when this process no longer holds the lease
 * @throws {PartnerError} when the queue did not accept everything
 */
export async function acceptPage(
  deps: AcceptDeps,
  { feed, lease, state, cause, trail }: LeasedFeed,
  read: PageRead,
): Promise<Accepted | undefined> {
  const { feedStates, observer, clock, settings } = deps;
  const { page, receivedAt, startedOver, since } = read;
  const found = idsOf(page.data);
  const { partnerAccount, generation } = state;
  const listing = { partnerAccount, generation, feed: feed.name };
  const standstill = standstillAfter(state, read, found, trail);
  // Pages in a row without an ID make one dead letter, not one each.
  const isKnown = found.ids.length === 0 && state.resetsInARow > 0;
  const sent = isKnown ? { ...found, malformed: 0 } : found;
  // Planted faults: cursor-before-sends, reset-before-sends
  await enqueuePage(deps, listing, sent, { receivedAt, cause });
  const progress = progressOf(state, read, found);
  // The write of the last page also ends the lease, which saves a write. After a standstill the lease stays, because
  // `release` stores the pause.
  const leaseMs = page.hasMore || standstill ? settings.leaseMs : 'ended';
  const next = await feedStates.advance(lease, progress, { nowMs: clock.now(), leaseMs });
  if (!next) return undefined;
  observer.count(metrics.listed, page.data.length);
  observer.count(metrics.coalesced, found.repeated);
  observer.count(metrics.deadLettered, found.malformed);
  if (startedOver) {
    observer.count(metrics.cursorResets, 1);
    observer.warn('cursor rejected: reading starts over', { partnerAccount, feed: feed.name, since });
  }
  return { lease: next, standstill };
}

const progressOf = (
  { resets, resetsInARow, resyncing }: FeedState,
  read: PageRead,
  found: PageIds,
): Progress => {
  const { page, since, startedOver, serviceTime } = read;
  const { malformed, repeated } = found;
  return {
    since,
    cursor: page.nextCursor,
    ...(startedOver ? { resets: resets + 1, lastReset: serviceTime } : { resets }),
    resetsInARow: isSetback(read, found) ? resetsInARow + 1 : 0,
    // Planted fault: last-success-of-any-page
    ...(page.hasMore ? resyncing && { resyncing } : { lastSuccess: serviceTime }),
    counts: { listed: page.data.length, malformed, repeated },
  };
};
