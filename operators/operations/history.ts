/** Why an advert has an event or has none: what the bridge knows about the advert, in order of time, and one sentence. */
import type { AdvertEvent } from '../../shared/contract/events.ts';
import { advertsFeed, type DeadLetter } from '../../shared/contract/messages.ts';
import {
  type HistoryOwner,
  isPublished,
  objectKeyOf,
  type PublishedEvents,
} from '../../shared/domain/advert-event.ts';
import { knownSuccess, toInstant } from '../../shared/domain/clock.ts';
import { blamingHold, type Hold, heldFault, holdOf } from '../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { printableLine as printable } from '../../shared/domain/text.ts';
import type { WaitingMessage } from '../../shared/ports/queue.ts';
import type { AdvertRow } from '../../shared/state/advert-histories.ts';
import { type Bridge, type Hosted, isDelivering } from './bridge.ts';
import { shownDeadLetter } from './dead-letters.ts';
import { knownAccount } from './errors.ts';
import type { AdvertHistory } from './printed.ts';

type HistoryBridge = Hosted &
  Pick<Bridge, 'aside' | 'queue' | 'eventsOf'> &
  Pick<Bridge, 'partnerAccounts' | 'feedStates' | 'advertHistories' | 'budgetStore' | 'deadLetters'> & {
    readonly clock: Pick<Bridge['clock'], 'now'>;
    settings(): Promise<PublishedEvents>;
  };

type Asked = Pick<HistoryOwner, 'partnerAccount' | 'advertId'>;

/** Changes nothing. @throws {UsageError} for an unknown partner account */
export async function readHistory(bridge: HistoryBridge, asked: Asked): Promise<AdvertHistory> {
  const known = await gatherKnown(bridge, asked);
  const { latest = null, latestPublished, events, waiting, deadLetters } = known;
  const outcome = historyOutcome(known);
  return {
    ...asked,
    latest,
    latestPublished,
    events,
    waiting,
    deadLetters,
    facts: factsOf(known).sort((a, b) => Date.parse(a.at) - Date.parse(b.at)),
    outcome,
    answer: [sentences[outcome](known), ...circumstances(known)].join(''),
  };
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
  const hold = holdOf(budget, account, nowMs);
  const notRunning = isDelivering(bridge) ? undefined : 'no `run` is at work on this bridge';
  return {
    ...{ account, advertId, row, latest, deadLetters, nowMs, published },
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
    because: hold ? heldText(account, hold, nowMs) : notRunning,
  };
}

const shownWaiting = ({ message, place, receives, until }: WaitingMessage) => {
  const { key, listedAt, cause, correlationId } = message;
  return {
    ...{ place, key, listedAt, cause, correlationId, receives },
    until: until === undefined ? null : toInstant(until),
  };
};

/** Whether the bus has accepted the latest event; null when this is uncertain. */
function isOnBus(row: AdvertRow | undefined, latest: AdvertEvent | undefined, published: PublishedEvents) {
  if (!row || !latest) return null;
  if (!isPublished(latest, published)) return false;
  // Planted fault: history-ignores-pending
  return row.pending ? null : true;
}

function heldText(account: PartnerAccount, hold: Hold, nowMs: number): string {
  const { kind, since, until } = hold;
  const whose = account.holds?.includes(hold) ? account.name : undefined;
  const says = printable(heldFault(hold, whose, nowMs).message);
  if (kind === 'authorization') return `${says} since ${toInstant(since)}`;
  return `${says} until ${until === undefined ? 'it is resumed' : toInstant(until)}`;
}

function historyOutcome(known: Known): keyof typeof sentences {
  const { row, waiting, givenUp, latest, latestPublished, queued } = known;
  const isUnconfirmed = row?.missingSince !== undefined;
  if (waiting.some(({ place }) => place === 'queue')) return isUnconfirmed ? 'unconfirmed' : 'waits-in-queue';
  // Planted fault: history-without-aside
  if (waiting.length > 0) return 'aside';
  if (givenUp) return 'dead-lettered';
  if (queued > 0 && isUnconfirmed) return 'unconfirmed';
  if (!latest && row) return queued > 0 ? 'waits-in-queue' : 'dropped';
  if (!latest) return 'not-listed';
  if (latestPublished === null) return 'not-accepted';
  return latestPublished ? 'published' : 'kept-off';
}

/** The answer, by the outcome; {@link circumstances} follow. */
const sentences = {
  published: (known: Known) => `${eventText(known)} was published.`,
  /** By a setting. */
  'kept-off': (known: Known) =>
    `${eventText(known)} was recorded and not published, because the setting ${keptOffBy(known)}.`,
  'not-accepted': (known: Known) =>
    `${eventText(known)} was recorded, but the bus may not have accepted it: it is published before anything else when its message comes again, or the feed lists the advert again.`,
  unconfirmed: ({ advertId, row }: Known) =>
    `The partner service said at ${toInstant(row?.missingSince ?? 0)} that it does not know advert ${advertId}: it is asked once more before an event says that the advert is unavailable.`,
  'waits-in-queue': (known: Known) => `${listedText(known)} waits in the queue${triedText(known)}.`,
  /** For a person or the end of a hold. */
  aside: (known: Known) =>
    `${listedText(known)} waits outside the queue${triedText(known)}, from where it comes back within a minute ${endOfWait(known)}.`,
  'dead-lettered': ({ advertId, givenUp }: Known) =>
    `The change of advert ${advertId} was given up at ${givenUp?.at} (${printable(givenUp?.fault ?? '')}: ${printable(givenUp?.reason ?? '')}), and has no event until its dead letter is redriven.`,
  dropped: ({ advertId }: Known) =>
    `Advert ${advertId} has no event: what the feed listed of it was given up, and its dead letter was dropped.`,
  'not-listed': ({ advertId, account, queued }: Known) =>
    `Advert ${advertId} has not been ${queued > 0 ? 'handled' : 'listed by the feed'} since partner account ${account.name} was connected at ${account.connectedAt}.`,
};

/** What delays an event, or hides a later change. */
function* circumstances({ queued, because, feed }: Known): Generator<string> {
  if (queued > 0) yield ` About ${queued} messages wait in the queue; SQS does not tell whose.`;
  if (because !== undefined) yield ` The service is not asked about it now, because ${because}.`;
  else if (feed?.problem)
    yield ` What changed later is not known, because the last poll failed (${printable(feed.problem.reason)}).`;
}

const shownStatus = (status: string | null): string => (status === null ? 'unavailable' : printable(status));

/** "Event 7 of advert 123 (new → active)" */
function eventText({ advertId, latest }: Pick<Known, 'advertId' | 'latest'>): string {
  if (!latest) return `The latest event of advert ${advertId}`;
  const { metadata, data } = latest.detail;
  const before = metadata.sequence === 1 ? '' : `${shownStatus(data.previousStatus)} → `;
  return `Event ${metadata.sequence} of advert ${advertId} (${before}${shownStatus(data.status)})`;
}

const listedText = ({ advertId, waiting: [head] }: Known): string =>
  `Advert ${advertId} was listed${head ? ` at ${head.listedAt}` : ''} and`;

function endOfWait({ account, waiting: [head] }: Known): string {
  if (head?.until) return `of ${head.until}`;
  return blamingHold(account)
    ? `once the service answers any advert of ${account.name} well`
    : 'once nothing holds it up';
}

const triedText = ({ row }: Known): string =>
  row?.tries === undefined
    ? ''
    : `, after ${row.tries} failed tries${row.fault === undefined ? '' : ` (${printable(row.fault)})`}`;

function keptOffBy({ account, published }: Known): string {
  const { publishPartnerAccounts, publishStatuses = [] } = published;
  return publishPartnerAccounts && !publishPartnerAccounts.includes(account.name)
    ? `publishPartnerAccounts (${publishPartnerAccounts.join(', ')}) does not name ${account.name}`
    : `publishStatuses (${publishStatuses.join(', ')}) names neither of its statuses`;
}

function factsOf(known: Known) {
  const { account, latest, latestPublished, waiting, deadLetters, row, feed, nowMs } = known;
  const facts = [{ at: account.connectedAt, says: `partner account ${account.name} was connected` }];
  const fact = (at: string, says: string) => facts.push({ at, says });
  const page = (id: string, cause: string) => `listed by page ${printable(id)} (${cause})`;
  const isLatest = ({ detail }: AdvertEvent) => detail.metadata.eventId === latest?.detail.metadata.eventId;
  for (const event of known.events.filter((one) => !isLatest(one)))
    fact(
      event.detail.metadata.observedAt,
      `${eventText({ advertId: known.advertId, latest: event })}: published`,
    );
  if (latest) {
    const { listedAt, observedAt, correlationId, cause } = latest.detail.metadata;
    const bus = { true: 'published', false: 'kept off the bus', null: 'the bus may not have it' };
    fact(listedAt, page(correlationId, cause));
    fact(observedAt, `${eventText(known)}: ${bus[`${latestPublished}`]}`);
  }
  for (const { place, listedAt, correlationId, cause, receives, until } of waiting) {
    const where = place === 'queue' ? 'in the queue' : 'outside the queue';
    const hidden = until === null ? '' : `, hidden until ${until}`;
    fact(listedAt, `${page(correlationId, cause)}: waits ${where}, delivered ${receives} times${hidden}`);
  }
  for (const { id, at, fault, reason } of deadLetters) {
    fact(at, `given up, as dead letter ${id}: ${printable(fault)}: ${printable(reason)}`);
  }
  if (row?.missingSince !== undefined)
    fact(toInstant(row.missingSince), 'the partner service does not know it');
  const success = knownSuccess(feed?.lastSuccess, nowMs);
  if (success !== undefined) fact(toInstant(success), 'the feed was read to its end');
  return facts;
}
