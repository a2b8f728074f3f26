import type { Cause } from '../../shared/contract/events.ts';
import type { ChangedAdvert, DeadLetter } from '../../shared/contract/messages.ts';
import { metrics } from '../../shared/contract/names.ts';
import { type Clock, toInstant } from '../../shared/domain/clock.ts';
import { asPartnerError, PartnerError } from '../../shared/domain/faults.ts';
import type { Feed } from '../../shared/domain/feed.ts';
import { cleanText } from '../../shared/partner-api/errors/clean-text.ts';
import type { ChangedAdvertsQueue } from '../../shared/ports/changed-adverts-queue.ts';
import type { DeadLetters } from '../../shared/ports/dead-letters.ts';
import type { FeedReader } from '../../shared/ports/feed-reader.ts';
import type { FeedState, FeedStates, PollEnd } from '../../shared/ports/feed-states.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import { idsOf, type PageIds } from './page-ids.ts';
import { type PageRead, readPage } from './read-page.ts';

export interface PollSettings {
  /** Of the whole bridge; default 10. */
  readonly maxRequestsPerSecond?: number;
  readonly overlapSeconds: number;
  /** How long the lease runs; renewed with each page. */
  readonly leaseMs: number;
  /** No more is read for a partner account that has this many messages waiting. */
  readonly maxWaiting: number;
}

export interface PollDeps {
  readonly feedStates: FeedStates;
  readonly reader: FeedReader;
  readonly queue: ChangedAdvertsQueue;
  readonly deadLetters: DeadLetters;
  readonly observer: Observer;
  readonly clock: Clock;
  /** A fresh ID of at most 64 characters, never one given before. */
  readonly newId: () => string;
  /** Names this process as the holder of leases. */
  readonly holder: string;
  readonly settings: PollSettings;
}

export type PollReport = { readonly pages: number; readonly listed: number } & (
  | {
      readonly end:
        | 'up-to-date'
        | 'out-of-time'
        | 'backlog'
        | 'lease-lost'
        | 'unknown-feed'
        /** Another run was here since the feeds were listed. */
        | 'just-polled'
        /** There is more; it is the others' turn. */
        | 'turn-over';
    }
  | { readonly end: 'held'; readonly by: string }
  | { readonly end: 'fault'; readonly fault: PartnerError }
);

export interface PollOptions {
  /** Ms since 1970: no page is asked for after it. */
  readonly deadlineMs: number;
  /** Ends the poll after the page in hand. */
  readonly signal?: AbortSignal;
  /** Reads the feed again from `since`, without its cursor; without `since` goes on with that. */
  readonly resync?: { readonly since?: string };
  /** The feed as it was listed: not polled where another run has done so since. */
  readonly listed?: Pick<FeedState, 'lastPolled'>;
}

/** Pages read in one turn: an account with a backlog does not stand in front of all others. */
const pagesATurn = 10;
/**
 * For one page with all its attempts: a service that hangs for one account costs the others no more. On top of the time
 * that the adverts take which stand before it in the rate budget, three batches of them.
 */
const pageMs = 20_000;
const slotsBefore = 30;
/** Resets without an accepted page in between, after which a person is called and the feed is left alone a while. */
const maxResetsInARow = 3;
const stuckPauseMs = 5 * 60_000;
/** A page is not asked for when its answer might come after the lease has run out. */
const leaseMarginMs = 10_000;

/**
 * Reads one feed of one partner account to its end, page by page: the IDs of a page go to the queue first, then its
 * cursor is stored (I2). Whatever fails in between, the next poll reads the same page again.
 */
export async function pollFeed(
  deps: PollDeps,
  feed: Feed,
  partnerAccount: string,
  { deadlineMs, signal, resync, listed }: PollOptions,
): Promise<PollReport> {
  const { feedStates, clock, holder, settings } = deps;
  const slotsMs = (slotsBefore * 1000) / (settings.maxRequestsPerSecond ?? 10);
  const key = { partnerAccount, feed: feed.name };
  const counts = { pages: 0, listed: 0 };
  const isOver = () => clock.now() >= deadlineMs || signal?.aborted === true;
  // Before the lease: taking it counts as a turn, and who gets nothing of his turn would wait for another round.
  if (isOver()) return { ...counts, end: 'out-of-time' };
  const lease = await feedStates.acquire(key, holder, clock.now(), settings.leaseMs, listed);
  if (!lease) return { ...counts, end: 'unknown-feed' };
  if ('heldBy' in lease) return { ...counts, end: 'held', by: lease.heldBy };
  if ('polledAt' in lease) return { ...counts, end: 'just-polled' };

  const { fence } = lease;
  const poll: Poll = { deps, feed, fence, cause: resync ? 'resync' : 'feed' };
  let end: PollEnd = {};
  let leasedUntil = clock.now() + settings.leaseMs;
  try {
    // Only read: what is stored changes with the first page that the queue has accepted.
    for (let state = restarted(lease.state, resync?.since); ; ) {
      if (isOver()) return { ...counts, end: 'out-of-time' };
      if (counts.pages >= pagesATurn) return { ...counts, end: 'turn-over' };
      if ((await deps.queue.depth(partnerAccount)) > settings.maxWaiting)
        return { ...counts, end: 'backlog' };
      const page = await readPage(deps.reader, feed, state, {
        deadlineMs: Math.min(deadlineMs, leasedUntil - leaseMarginMs, clock.now() + pageMs + slotsMs),
        overlapMs: settings.overlapSeconds * 1000,
        nowMs: clock.now(),
        generation: state.generation,
      });
      const accepted = await acceptPage(poll, state, page);
      if (!accepted) return { ...counts, end: 'lease-lost' };
      leasedUntil = accepted.leasedUntil;
      counts.pages += 1;
      counts.listed += page.page.data.length;
      if (accepted.standstill) throw accepted.standstill;
      if (!page.page.hasMore) return { ...counts, end: 'up-to-date' };
      state = accepted.state;
    }
  } catch (error) {
    const fault = asPartnerError(error);
    end = endOf(fault, clock.now());
    // Not sent, for the budget has no slot in time or the service wants to be left alone.
    if (fault.code === 'paused' && counts.pages === 0 && listed) {
      end = { ...end, unasked: { lastPolled: listed.lastPolled } };
    }
    tell(deps.observer, fault, key);
    return { ...counts, end: 'fault', fault };
  } finally {
    // A lease that cannot be given back runs out by itself; the poll's own outcome is what counts.
    if (leasedUntil > clock.now()) {
      await feedStates.release(key, fence, end, clock.now()).catch(() => undefined);
    }
  }
}

interface Poll {
  readonly deps: PollDeps;
  readonly feed: Feed;
  readonly fence: number;
  readonly cause: Cause;
}

function restarted({ cursor, ...state }: FeedState, since: string | undefined): FeedState {
  if (since !== undefined) return { ...state, since, resyncing: true };
  return { ...state, ...(cursor === undefined ? {} : { cursor }) };
}

interface Accepted {
  readonly state: FeedState;
  readonly leasedUntil: number;
  /** Why the feed is not to be read on, although the page is kept. */
  readonly standstill?: StuckFeedError;
}

/** IDs first, then everything else in one write. @returns undefined when the lease is not ours any more */
async function acceptPage(
  { deps, feed, fence, cause }: Poll,
  state: FeedState,
  { page, since, startedOver, receivedAt, serviceTime }: PageRead,
): Promise<Accepted | undefined> {
  const { feedStates, observer, clock, settings } = deps;
  const { resyncing, ...before } = state;
  const found = idsOf(page.data);
  await enqueue(deps, feed, state, found, { receivedAt, cause });
  const progress = {
    since,
    cursor: page.nextCursor,
    resets: state.resets + (startedOver ? 1 : 0),
    resetsInARow: startedOver ? state.resetsInARow + 1 : 0,
    ...(page.hasMore ? resyncing && { resyncing } : { lastSuccess: serviceTime }),
    listed: found.ids.length + found.malformed,
    malformed: found.malformed,
    repeated: found.repeated,
  };
  const now = clock.now();
  const standstill = standstillAfter(state, { page, startedOver }, progress.resetsInARow);
  // The lease ends with the write of the last page, and giving it back is no write of its own; but a standstill has to be
  // noted with it.
  const leaseMs = page.hasMore || standstill ? settings.leaseMs : 0;
  if (!(await feedStates.advance(state, fence, progress, now, leaseMs))) return undefined;
  observer.count(metrics.listed, page.data.length);
  observer.count(metrics.coalesced, found.repeated);
  observer.count(metrics.deadLettered, found.malformed);
  if (startedOver) {
    observer.count(metrics.cursorResets, 1);
    observer.warn('cursor rejected: reading starts over', {
      partnerAccount: state.partnerAccount,
      feed: feed.name,
      since,
    });
  }
  const { listed: _listed, malformed: _malformed, repeated: _repeated, ...stored } = progress;
  return { state: { ...before, ...stored }, leasedUntil: now + leaseMs, ...(standstill && { standstill }) };
}

/** @throws {PartnerError} when the queue did not accept everything; nothing may be stored then */
async function enqueue(
  deps: PollDeps,
  feed: Feed,
  state: FeedState,
  found: PageIds,
  { receivedAt, cause }: { readonly receivedAt: number; readonly cause: Cause },
): Promise<void> {
  const { partnerAccount, generation } = state;
  const readId = deps.newId();
  const listedAt = toInstant(receivedAt);
  if (found.malformed > 0) {
    await deps.deadLetters.sendMalformed([malformedLetter(partnerAccount, found, listedAt)]);
    deps.observer.warn('the feed named something that is no advert ID', {
      partnerAccount,
      correlationId: readId,
      count: found.malformed,
    });
  }
  const messages = found.ids.map(
    (advertId): ChangedAdvert => ({
      key: `${readId}:${advertId}`,
      partnerAccount,
      generation,
      feed: feed.name,
      advertId,
      listedAt,
      cause,
      correlationId: readId,
    }),
  );
  if (messages.length === 0) return;
  const refused = await deps.queue.send(messages);
  if (refused.size > 0)
    throw new PartnerError(
      'transient',
      `the queue did not accept ${refused.size} of ${messages.length} messages`,
    );
  deps.observer.info('page accepted', {
    partnerAccount,
    feed: feed.name,
    correlationId: readId,
    adverts: messages.length,
  });
}

/** One letter for all malformed IDs of a page: a feed that names nothing else must not fill the dead letters. */
function malformedLetter(
  partnerAccount: string,
  { malformed, malformedShown }: PageIds,
  at: string,
): DeadLetter {
  const shown = malformedShown.map((text) => JSON.stringify(cleanText(text, []).slice(0, 40)));
  const named = malformed > shown.length ? [...shown, '…'] : shown;
  return {
    partnerAccount,
    advertId: malformedShown[0] ?? null,
    count: malformed,
    fault: 'malformed-id',
    reason: `the feed named ${malformed} that ${malformed === 1 ? 'is no advert ID' : 'are no advert IDs'} (expected 1 to 20 digits): ${named.join(', ')}`,
    at,
    receives: 0,
    message: null,
  };
}

/** A cursor that stays where it is although there is more would be read for ever. */
function standstillAfter(
  before: FeedState,
  { page, startedOver }: Pick<PageRead, 'page' | 'startedOver'>,
  resetsInARow: number,
): StuckFeedError | undefined {
  if (resetsInARow >= maxResetsInARow) {
    return new StuckFeedError(`the service has rejected ${resetsInARow} cursors in a row`);
  }
  if (startedOver || page.nextCursor !== before.cursor) return undefined;
  if (!page.hasMore && page.data.length === 0) return undefined;
  return new StuckFeedError('the feed gives the same cursor again although it has more changes');
}

/** The feed cannot be read on as it is; asking again at once would only hammer the service. */
export class StuckFeedError extends PartnerError {
  constructor(message: string) {
    super('contract-broken', message);
  }
}

function endOf(fault: PartnerError, nowMs: number): PollEnd {
  return {
    fault: fault.message,
    faultKind: fault.code,
    ...(callsForPerson(fault) ? { needsPerson: true } : {}),
    ...(fault instanceof StuckFeedError ? { pausedUntil: nowMs + stuckPauseMs } : {}),
  };
}

const callsForPerson = (fault: PartnerError): boolean =>
  fault.policy.needsAttention || fault instanceof StuckFeedError;

function tell(observer: Observer, fault: PartnerError, key: { partnerAccount: string; feed: string }): void {
  const fields = {
    ...key,
    fault: fault.code,
    status: fault.status,
    reason: fault.message,
    error: fault.cause,
  };
  if (callsForPerson(fault)) {
    observer.count(metrics.needsAttention, 1);
    observer.error('the feed cannot be read until somebody acts', fields);
  } else {
    observer.warn('the feed could not be read: the next poll goes on from the stored cursor', fields);
  }
}
