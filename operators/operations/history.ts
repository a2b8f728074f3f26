/** Why an advert has an event or has none: what the bridge knows about the advert, in order of time, and the outcome. */
import type { AdvertEvent } from '../../shared/contract/events.ts';
import { advertsFeed, type DeadLetter } from '../../shared/contract/messages.ts';
import {
  type HistoryOwner,
  isPublished,
  objectKeyOf,
  type PublishedEvents,
} from '../../shared/domain/advert-event.ts';
import { knownSuccess, toInstant } from '../../shared/domain/clock.ts';
import { holdOf } from '../../shared/domain/holds.ts';
import type { WaitingMessage } from '../../shared/ports/queue.ts';
import type { AdvertRow } from '../../shared/state/advert-histories.ts';
import { type Bridge, type Hosted, isDelivering } from './bridge.ts';
import { shownDeadLetter } from './dead-letters.ts';
import { knownAccount } from './errors.ts';

type HistoryBridge = Hosted &
  Pick<Bridge, 'aside' | 'queue' | 'eventsOf'> &
  Pick<Bridge, 'partnerAccounts' | 'feedStates' | 'advertHistories' | 'budgetStore' | 'deadLetters'> & {
    readonly clock: Pick<Bridge['clock'], 'now'>;
    settings(): Promise<PublishedEvents>;
  };

type Asked = Pick<HistoryOwner, 'partnerAccount' | 'advertId'>;

/** Codes of problems.json, with the facts for their sentences: history-text.ts makes them. */
export interface KnownHistory extends Known {
  readonly outcome: Outcome;
  readonly circumstances: readonly Circumstance[];
  /** In order of time. */
  readonly moments: readonly Moment[];
}
type Outcome = ReturnType<typeof historyOutcome>;
/** What delays an event, or hides a later change. */
type Circumstance = 'queued' | 'held' | 'not-running' | 'poll-failed';
interface Moment {
  readonly at: string;
  readonly code:
    | ('connected' | 'listed' | 'waiting' | 'hidden' | 'given-up' | 'missing' | 'read')
    | (typeof codesOfLatest)[keyof typeof codesOfLatest];
  readonly event?: AdvertEvent;
  readonly [fact: string]: unknown;
}

/** Changes nothing. @throws {UsageError} for an unknown partner account */
export async function readHistory(bridge: HistoryBridge, asked: Asked): Promise<KnownHistory> {
  const known = await gatherKnown(bridge, asked);
  const moments = momentsOf(known).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return { ...known, outcome: historyOutcome(known), circumstances: circumstancesOf(known), moments };
}

type Known = Awaited<ReturnType<typeof gatherKnown>>;

async function gatherKnown(bridge: HistoryBridge, { partnerAccount, advertId }: Asked) {
  const account = await knownAccount(bridge.partnerAccounts, partnerAccount);
  const { generation } = account;
  const key = { partnerAccount, generation, feed: advertsFeed.name, advertId };
  // Read in the order in which a message moves: if it moves in the meantime, it is seen twice rather than not at all.
  const inQueue = await bridge.queue.ofAdvert?.(partnerAccount, advertId);
  const found = [...(await bridge.aside.ofAdvert(partnerAccount, advertId)), ...(inQueue ?? [])];
  const ofAccount = await bridge.deadLetters.list(partnerAccount);
  const [row, feeds, budget, published, queued] = await Promise.all([
    bridge.advertHistories.read(key),
    bridge.feedStates.ofAccount(partnerAccount),
    bridge.budgetStore.read(),
    bridge.settings(),
    bridge.host.kind === 'stack' ? bridge.queue.depth(partnerAccount) : 0,
  ]);
  const latest = row?.envelope === undefined ? undefined : (JSON.parse(row.envelope) as AdvertEvent);
  const ofAdvert = ofAccount.filter((one) => one.advertId === objectKeyOf(key));
  const deadLetters = ofAdvert.map(shownDeadLetter);
  // A later event makes earlier dead letters irrelevant.
  const since = latest ? Date.parse(latest.detail.metadata.observedAt) : 0;
  const isCurrent = ({ message, at }: DeadLetter) =>
    (message?.generation ?? generation) === generation && Date.parse(at) >= since;
  const [givenUp] = deadLetters.filter(isCurrent).toSorted((a, b) => (a.at > b.at ? -1 : 1));
  const nowMs = bridge.clock.now();
  return {
    account,
    advertId,
    row,
    latest,
    deadLetters,
    nowMs,
    published,
    /** The newest dead letter of the current generation, unless the latest event is later. */
    givenUp,
    events: (bridge.eventsOf?.(partnerAccount, advertId) ?? []).map(
      (text) => JSON.parse(text) as AdvertEvent,
    ),
    /** Messages in a queue that cannot be inspected, of all adverts; 0 if it can. */
    queued,
    feed: feeds.find((feed) => feed.generation === generation && feed.feed === key.feed),
    waiting: found.filter(({ message }) => message.generation === generation).map(shownWaiting),
    latestPublished: isOnBus(row, latest, published),
    /** Why nothing is asked of the service for this advert now. */
    hold: holdOf(budget, account, nowMs),
    isDelivering: isDelivering(bridge),
  };
}

const shownWaiting = ({ message, place, receives, until: untilMs }: WaitingMessage) => {
  const { key, listedAt, cause, correlationId } = message;
  const until = untilMs === undefined ? null : toInstant(untilMs);
  return { place, key, listedAt, cause, correlationId, receives, until };
};

/** Whether the bus has accepted the latest event; null when this is uncertain. */
function isOnBus(row: AdvertRow | undefined, latest: AdvertEvent | undefined, published: PublishedEvents) {
  if (!row || !latest) return null;
  if (!isPublished(latest, published)) return false;
  // Planted fault: history-ignores-pending
  return row.pending ? null : true;
}

function historyOutcome(known: Known) {
  const { row, givenUp, latest, latestPublished, queued } = known;
  // What was published as gone without a witness waits for another look.
  const ofLatest = latestPublished === null ? undefined : latest?.detail.metadata.correlationId;
  const waiting = known.waiting.filter(({ correlationId }) => correlationId !== ofLatest);
  const isUnconfirmed = row?.missingSince !== undefined;
  if (waiting.length > 0 && isUnconfirmed) return 'unconfirmed';
  if (waiting.some(({ place }) => place === 'queue')) return 'waits-in-queue';
  // Planted fault: history-without-aside
  if (waiting.length > 0) return 'aside';
  if (givenUp) return 'dead-lettered';
  if (queued > 0 && isUnconfirmed) return 'unconfirmed';
  if (!latest && row) return queued > 0 ? 'waits-in-queue' : 'dropped';
  if (!latest) return 'not-listed';
  if (latestPublished === null) return 'not-accepted';
  return latestPublished ? 'published' : 'kept-off';
}

function circumstancesOf({ queued, hold, isDelivering, feed }: Known): Circumstance[] {
  const about: Circumstance[] = queued > 0 ? ['queued'] : [];
  if (hold) return [...about, 'held'];
  if (!isDelivering) return [...about, 'not-running'];
  return feed?.problem ? [...about, 'poll-failed'] : about;
}

const codesOfLatest = { true: 'published', false: 'kept-off', null: 'not-accepted' } as const;

function momentsOf(known: Known): Moment[] {
  const { account, latest, latestPublished, waiting, deadLetters, row, feed, nowMs } = known;
  const all: Moment[] = [{ at: account.connectedAt, code: 'connected', account: account.name }];
  for (const event of known.events) {
    const { eventId, observedAt: at } = event.detail.metadata;
    if (eventId !== latest?.detail.metadata.eventId) all.push({ at, code: 'published', event });
  }
  if (latest) {
    const { listedAt, observedAt, correlationId: page, cause } = latest.detail.metadata;
    all.push({ at: listedAt, code: 'listed', page, cause });
    all.push({ at: observedAt, code: codesOfLatest[`${latestPublished}`], event: latest });
  }
  for (const { place, listedAt: at, correlationId: page, cause, receives, until } of waiting) {
    const where = place === 'queue' ? 'in the queue' : 'outside the queue';
    all.push({ at, code: until === null ? 'waiting' : 'hidden', page, cause, where, receives, until });
  }
  for (const { id, at, fault, reason } of deadLetters) all.push({ at, code: 'given-up', id, fault, reason });
  if (row?.missingSince !== undefined) all.push({ at: toInstant(row.missingSince), code: 'missing' });
  const success = knownSuccess(feed?.lastSuccess, nowMs);
  if (success !== undefined) all.push({ at: toInstant(success), code: 'read' });
  return all;
}
