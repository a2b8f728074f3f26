import type { Cause } from '../../shared/contract/events.ts';
import {
  type ChangedAdvert,
  type DeadLetter,
  type Feed,
  type FeedName,
  feeds,
} from '../../shared/contract/messages.ts';
import { metrics } from '../../shared/contract/names.ts';
import { type Clock, toInstant } from '../../shared/domain/clock.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import type { PartnerClient } from '../../shared/partner-api/client.ts';
import { cleanText } from '../../shared/partner-api/error-answers.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { ChangedAdvertsQueue } from '../../shared/ports/queue.ts';
import type { DeadLetters } from '../../shared/state/dead-letters.ts';
import type { FeedStates, Lease } from '../../shared/state/feed-states.ts';
import { isSetback, type StandstillDetector } from './poll-fault.ts';
import { idsOf, type PageIds, type PageRead } from './read-page.ts';

export interface PollDeps extends EnqueueDeps {
  readonly feedStates: FeedStates;
  readonly reader: Pick<PartnerClient, 'readPage'>;
  readonly clock: Clock;
  /** Names this process as the holder of leases. */
  readonly holder: string;
  readonly settings: {
    /** Duration of the lease; each page renews it. Default: `feedLeaseMs`. */
    readonly leaseMs?: number;
    readonly maxRequestsPerSecond: number;
    readonly overlapSeconds: number;
    /** Reading stops while this many messages of the partner account are in the queue. */
    readonly maxWaiting: number;
  };
}

/** A crash stops the polling of a feed for at most this long; a page needs only a fraction of it. */
export const feedLeaseMs = 90_000;

export interface LeasedFeed {
  readonly feed: Feed;
  readonly lease: Lease;
  readonly standstillAfter: StandstillDetector;
}

/**
 * Sends the page's IDs to the queue, and only then stores everything else in one write: cursor, `since`, counts, lease.
 *
 * @returns the renewed lease, and a `standstill` if the poll must read no further although this page was stored;
 * undefined when this process no longer holds the lease
 * @throws {BridgeFault} when the queue did not accept everything
 */
export async function acceptPage(
  deps: PollDeps,
  { feed, lease, standstillAfter }: LeasedFeed,
  read: PageRead,
) {
  const { feedStates, observer, clock, settings } = deps;
  const { page, receivedAt, startedOver, since, serviceTime } = read;
  const found = idsOf(page.data);
  const { state } = lease;
  const { partnerAccount, generation, resyncing } = state;
  const listing = { partnerAccount, generation, feed: feed.name };
  const cause = resyncing ? 'resync' : 'feed';
  const standstill = standstillAfter(state, read, found);
  const progress = {
    since,
    cursor: page.nextCursor,
    ...(startedOver ? { resets: state.resets + 1, lastReset: serviceTime } : { resets: state.resets }),
    resetsInARow: isSetback(read, found) ? state.resetsInARow + 1 : 0,
    // Planted fault: last-success-of-any-page
    ...(page.hasMore ? resyncing && { resyncing } : { lastSuccess: serviceTime }),
    counts: { listed: page.data.length, malformed: found.malformed, repeated: found.repeated },
  };
  // Planted faults: cursor-before-sends, reset-before-sends
  await enqueuePage(deps, listing, found, { receivedAt, cause });
  // The write of the last page also ends the lease. After a standstill it stays, because `release` stores the pause.
  const leaseMs = page.hasMore || standstill ? (settings.leaseMs ?? feedLeaseMs) : 'ended';
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

export interface EnqueueDeps {
  readonly queue: Pick<ChangedAdvertsQueue, 'send' | 'depth'>;
  readonly deadLetters: Pick<DeadLetters, 'sendMalformed'>;
  readonly observer: Observer;
  /** Returns a new, unique ID of at most 64 characters. */
  readonly newId: () => string;
}

interface Listing {
  readonly partnerAccount: string;
  readonly generation: number;
  readonly feed: FeedName;
}

/**
 * Sends one message for each distinct ID of the page, and one dead letter for all malformed IDs.
 *
 * @returns the messages
 * @throws {BridgeFault} when the queue did not accept everything; the caller must then store nothing
 */
export async function enqueuePage(
  { queue, deadLetters, observer, newId }: EnqueueDeps,
  { partnerAccount, generation, feed }: Listing,
  found: PageIds,
  { receivedAt, cause }: { readonly receivedAt: number; readonly cause: Cause },
): Promise<readonly ChangedAdvert[]> {
  // New for every page read: the same page, read again, may stand for newer changes.
  // Planted fault: key-from-cursor
  const readId = newId();
  const listedAt = toInstant(receivedAt);
  const about = { partnerAccount, feed, correlationId: readId };
  if (found.malformed > 0) {
    await deadLetters.sendMalformed(malformedIds(about, found, listedAt));
    const count = found.malformed;
    observer.warn(`the feed listed malformed ${feeds[feed].object} IDs: they are dead-lettered`, {
      ...about,
      count,
    });
  }
  const messages = found.ids.map((advertId): ChangedAdvert => {
    const key = `${readId}:${advertId}`;
    return { ...about, key, generation, advertId, listedAt, cause };
  });
  if (messages.length === 0) return messages;
  const refused = await queue.send(messages);
  // Planted fault: refused-sends-ignored
  if (refused.size > 0) {
    const message = `the queue did not accept ${refused.size} of ${messages.length} messages`;
    throw new BridgeFault('transient', message);
  }
  observer.info('page accepted', { ...about, generation, adverts: messages.length });
  return messages;
}

/** One dead letter for all malformed IDs of a page, so that a broken feed does not make thousands. */
function malformedIds(
  { partnerAccount, feed }: Pick<Listing, 'partnerAccount' | 'feed'>,
  { malformed, malformedShown }: PageIds,
  at: string,
): DeadLetter {
  const shown = malformedShown.map((text) => JSON.stringify(cleanText(text, []).slice(0, 40)));
  if (malformed > shown.length) shown.push('…');
  return {
    partnerAccount,
    advertId: malformedShown[0] ?? null,
    count: malformed,
    fault: 'malformed-id',
    reason: `the feed listed ${malformed} malformed ${feeds[feed].object} IDs (expected 1 to 20 digits): ${shown.join(', ')}`,
    at,
    receives: 0,
    message: null,
  };
}
