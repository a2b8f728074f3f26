/** The sentence at the end of the output of `history`. */
import type { AdvertEvent } from '../../shared/contract/events.ts';
import type { DeadLetter } from '../../shared/contract/messages.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { endOfHold, type Hold, holdOf } from '../../shared/domain/holds.ts';
import { knownSuccess } from '../../shared/domain/last-success.ts';
import { type PartnerAccount, stopOf } from '../../shared/domain/partner-account.ts';
import type { PublishedEvents } from '../../shared/domain/published-events.ts';
import type { BudgetState } from '../../shared/domain/rate-budget.ts';
import { printableLine as printable } from '../../shared/domain/text/printable.ts';
import type { FeedState } from '../../shared/ports/feed-states.ts';
import type { AdvertRow } from '../../shared/state/advert-histories.ts';
import type { LogLine } from './advert-log.ts';

/** The state of an advert. */
export type HistoryOutcome =
  /** Its latest event is on the bus, and no message of it waits. */
  | 'published'
  /** Its latest event is recorded, and a setting keeps it from being published. */
  | 'kept-off'
  /** Its latest event is recorded, and the bus may not have accepted it. */
  | 'not-accepted'
  | 'waits-in-queue'
  /** The service answered that it does not know the advert, and is asked again before an event is published. */
  | 'unconfirmed'
  /** A message waits outside the queue, for a person or the end of a pause. */
  | 'aside'
  | 'dead-lettered'
  /** It has no event, and a person has deleted its dead letter. */
  | 'dropped'
  | 'not-listed';

/** A message that has no outcome yet. Times are ISO 8601 in UTC. */
export interface Waiting {
  readonly place: 'queue' | 'aside';
  readonly key: string;
  readonly listedAt: string;
  /** null when the message is known only from the log. */
  readonly cause: string | null;
  /** Identifies the page that listed the advert. */
  readonly correlationId: string;
  readonly receives: number;
  /** The message is delayed until then; null if it is not delayed, or this is not known. */
  readonly until: string | null;
}

/** The known facts about the advert, from which the answer is composed. */
export interface Known {
  readonly account: PartnerAccount;
  readonly feed: FeedState | undefined;
  readonly budget: BudgetState;
  readonly row: AdvertRow | undefined;
  readonly latest: AdvertEvent | undefined;
  /** Messages of the current generation; oldest first. */
  readonly waiting: readonly Waiting[];
  /** Dead letters of the current generation, later than the latest event; newest first. */
  readonly givenUp: readonly DeadLetter[];
  readonly published: PublishedEvents;
  /** Approximate number of messages in the queue, of all adverts; absent if the queue can be inspected. */
  readonly queued?: number;
  /** The last log line about each message, by the page that listed it. */
  readonly lastLogged?: ReadonlyMap<string, LogLine>;
  readonly advertId: string;
  /** Whether a run polls and publishes now. */
  readonly isAtWork: boolean;
  readonly nowMs: number;
}

/** Explains in one sentence why the advert has an event or has none. */
export function answerOf(known: Known, outcome: HistoryOutcome): string {
  const { account, row } = known;
  const advert = capital(known);
  switch (outcome) {
    case 'published':
      return `${eventText(known)} was published, ${nothingText(known)}, and ${readText(known)}.`;
    case 'kept-off':
      return `${eventText(known)} was recorded and not published, because the setting ${keptOffBy(known)}.`;
    case 'not-accepted':
      return `${eventText(known)} was recorded, but the bus may not have accepted it: it is published before anything else when its message comes again, or the feed lists the advert again.`;
    case 'unconfirmed':
      return `${listedText(known)}, but the partner service said at ${toInstant(row?.missingSince ?? 0)} that it does not know it: it is asked once more before an event says that the advert is unavailable.`;
    case 'waits-in-queue':
      return `${listedText(known)} and waits in the queue${waitText(known)}${followsText(known)}.`;
    case 'aside':
      return `${listedText(known)} and waits outside the queue${waitText(known)}${followsText(known)}.`;
    case 'dead-lettered':
      return givenUpText(known);
    case 'dropped':
      return `${advert} has no event: what the feed listed of it was given up, and its dead letter was dropped.`;
    case 'not-listed':
      return `${advert} has not been ${known.queued ? 'handled' : 'listed by the feed'} since partner account ${account.name} was connected at ${account.connectedAt}: ${notListedText(known)}.`;
  }
}

/** "Event 7 of advert 123 (active, before: new), observed at …" */
function eventText({ advertId, latest }: Known): string {
  if (!latest) return `The latest event of advert ${advertId}`;
  const { metadata, data } = latest.detail;
  const before = metadata.sequence === 1 ? '' : `, before: ${statusText(data.previousStatus)}`;
  return `Event ${metadata.sequence} of advert ${advertId} (${statusText(data.status)}${before}), observed at ${metadata.observedAt},`;
}

/** "Advert 123" */
const capital = ({ advertId }: Known): string => `Advert ${advertId}`;

const statusText = (status: string | null): string => (status === null ? 'unavailable' : printable(status));

function listedText(known: Known): string {
  const [head] = known.waiting;
  return head ? `${capital(known)} was listed at ${head.listedAt}` : `${capital(known)} was listed`;
}

const hiddenText = (queued: number): string =>
  `SQS does not show whose the messages in its queue are, about ${queued}`;

const nothingText = ({ queued = 0 }: Known): string =>
  queued === 0
    ? `nothing of the advert waits`
    : `nothing of the advert is known to wait (${hiddenText(queued)})`;

/** How far the feed has been read, and why it is not read further. */
function readText(known: Known): string {
  const success = successOf(known);
  const read =
    success === undefined
      ? 'the feed has not been read to its end yet'
      : `the feed, read to its end at ${success}, has named no later change, or none that is another status${unchangedText(known)}`;
  return `${read}${unreadText(known)}`;
}

function notListedText(known: Known): string {
  const { queued = 0 } = known;
  const success = successOf(known);
  const read =
    success === undefined
      ? 'the feed has not been read to its end yet'
      : `the feed was read to its end at ${success}`;
  return `${read}${queued === 0 ? '' : ` (${hiddenText(queued)})`}${unreadText(known)}`;
}

function successOf({ feed, nowMs }: Known): string | undefined {
  const success = feed && knownSuccess(feed.lastSuccess, nowMs);
  return success === undefined ? undefined : toInstant(success);
}

/** Mentions a later listing that the log shows as unchanged. */
function unchangedText({ latest, lastLogged = new Map() }: Known): string {
  const since = latest?.detail.metadata.observedAt ?? '';
  const last: LogLine | undefined = [...lastLogged.values()].findLast(
    ({ became, at }) => became === 'unchanged' && at > since,
  );
  return last === undefined
    ? ''
    : ` (it was listed again by page ${printable(last.correlationId)}, and found unchanged at ${last.at})`;
}

/** Why changes may be unknown. */
function unreadText(known: Known): string {
  const { fault } = known.feed ?? {};
  const because =
    hindrance(known) ?? (fault === undefined ? undefined : `its last poll failed (${printable(fault)})`);
  return because === undefined ? '' : `; what changed after that is not known, because ${because}`;
}

/** What currently stops requests for the partner account. */
function hindrance({ account, budget, isAtWork, nowMs }: Known): string | undefined {
  const stop = stopOf(account);
  if (stop)
    return `partner account ${account.name} has been stopped since ${toInstant(stop.since)} (${stop.reason})`;
  const own = holdOf(undefined, account, nowMs);
  if (own) return holdText(`partner account ${account.name}`, own);
  const everywhere = holdOf(budget, undefined, nowMs);
  if (!everywhere) return isAtWork ? undefined : 'no `run` is at work on this bridge';
  if (everywhere.kind === 'operator') return holdText('the bridge', everywhere);
  const until = toInstant(endOfHold(everywhere));
  return everywhere.kind === 'circuit'
    ? `the partner service blocks this address, and nothing is asked of it until ${until}`
    : `the partner service asked for a pause until ${until}`;
}

function holdText(what: string, { kind, who = 'unknown', since, until, reason }: Hold): string {
  const end = until === undefined ? 'until it is resumed' : `until ${toInstant(until)}`;
  const why = reason === undefined ? '' : printable(reason);
  if (kind !== 'operator') return `${what} is paused ${end} (${why})`;
  return `${what} is paused ${end} (by ${printable(who)} since ${toInstant(since)}${why && `: ${why}`})`;
}

function waitText(known: Known): string {
  const { row, waiting, nowMs } = known;
  const because = hindrance(known);
  if (because !== undefined) return ` because ${because}`;
  const [head] = waiting;
  if (head?.place === 'aside') return ', from where it is put back within a minute';
  const until =
    waiting
      .map((one) => one.until ?? '')
      .sort()
      .at(-1) ?? '';
  const next = until > toInstant(nowMs) ? `is tried again at ${until}` : 'is tried again within minutes';
  if (row?.tries !== undefined) return `: it failed ${timesText(row.tries)}, and ${next}`;
  const { receives = 0 } = head ?? {};
  return receives === 0
    ? ''
    : `: it was delivered ${timesText(receives)}, and ${next} unless it is being fetched now`;
}

const timesText = (times: number): string => (times === 1 ? 'once' : `${times} times`);

/** What will happen to the waiting message. */
function followsText({ latest }: Known): string {
  if (!latest) return '; its first event follows';
  const { metadata, data } = latest.detail;
  return `; event ${metadata.sequence + 1} follows unless the advert is still ${statusText(data.status)}`;
}

function givenUpText({ advertId, givenUp, latest }: Known): string {
  const [letter] = givenUp;
  if (!letter) {
    return (
      `The change of advert ${advertId} was given up. Whether its dead letter is still there cannot be seen now, ` +
      'for another command reads dead letters: ask again in five minutes.'
    );
  }
  const listed = letter.message ? ` listed at ${letter.message.listedAt}` : '';
  const since = latest ? ` after event ${latest.detail.metadata.sequence}` : '';
  return (
    `The change of advert ${advertId}${listed} was given up at ${letter.at}${since} ` +
    `(${printable(letter.fault)}: ${printable(letter.reason)}), and has no event until its dead letter is redriven.`
  );
}

function keptOffBy({ account, published }: Known): string {
  const { publishPartnerAccounts, publishStatuses = [] } = published;
  return publishPartnerAccounts && !publishPartnerAccounts.includes(account.name)
    ? `publishPartnerAccounts (${publishPartnerAccounts.join(', ')}) does not name ${account.name}`
    : `publishStatuses (${publishStatuses.join(', ')}) names neither of its statuses`;
}
