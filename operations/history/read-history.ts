/** Explains why an advert has an event or has none, from everything that the bridge knows about the advert. */
import type { AdvertEvent } from '../../shared/contract/events.ts';
import { advertsFeed } from '../../shared/contract/feeds.ts';
import type { DeadLetter } from '../../shared/contract/messages.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { type HistoryOwner, objectKeyOf } from '../../shared/domain/history-key.ts';
import { isPublished, type PublishedEvents } from '../../shared/domain/published-events.ts';
import type { StoredLetter, StoredLetters } from '../../shared/ports/dead-letters.ts';
import { type FeedState, type FeedStates, feedsOfAccount } from '../../shared/ports/feed-states.ts';
import type { WaitingMessage, WaitingMessages } from '../../shared/ports/waiting-messages.ts';
import type { AdvertHistories } from '../../shared/state/advert-histories.ts';
import type { BudgetStore } from '../../shared/state/budget.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';
import { accountsBeside, unknownAccount } from '../unknown-account.ts';
import type { LogLine } from './advert-log.ts';
import { answerOf, type HistoryOutcome, type Known, type Waiting } from './answer.ts';
import { type HiddenQueue, lookBehind } from './hidden-queue.ts';

export interface HistoryPorts {
  readonly partnerAccounts: Pick<PartnerAccounts, 'read' | 'list'>;
  readonly feedStates: Pick<FeedStates, 'list'>;
  readonly budgetStore: Pick<BudgetStore, 'read'>;
  readonly advertHistories: Pick<AdvertHistories, 'read'>;
  readonly waitingMessages: WaitingMessages;
  readonly deadLetters: Pick<StoredLetters, 'list'>;
  /** The settings that limit which events are published. */
  settings(): Promise<PublishedEvents>;
  /** Whether a consumer is currently taking messages from the queue. */
  isDelivering(): boolean;
  /** Set if the queue cannot be inspected. */
  readonly hiddenQueue?: HiddenQueue;
}

/** As printed by `history --json`; times are ISO 8601 in UTC. */
export interface AdvertHistory {
  readonly partnerAccount: string;
  readonly advertId: string;
  /** The complete latest event as recorded; null when there is none. */
  readonly latest: AdvertEvent | null;
  /** Whether the bus has accepted it; null when this is uncertain, and when there is no event. */
  readonly latestPublished: boolean | null;
  readonly waiting: readonly Waiting[];
  readonly deadLetters: readonly ({ readonly id: string } & DeadLetter)[];
  /** What the functions have logged about the advert, oldest first; only for a stack. */
  readonly log?: readonly LogLine[];
  readonly outcome: HistoryOutcome;
  /** One sentence. */
  readonly answer: string;
}

/**
 * Reads what the bridge knows about one advert and summarizes its state. Changes nothing.
 *
 * @throws {UsageError} for an unknown partner account
 */
export async function readHistory(
  ports: HistoryPorts,
  { partnerAccount, advertId }: Pick<HistoryOwner, 'partnerAccount' | 'advertId'>,
  nowMs: number,
): Promise<AdvertHistory> {
  const account = await ports.partnerAccounts.read(partnerAccount);
  if (!account) throw unknownAccount(await accountsBeside(ports.partnerAccounts, partnerAccount));
  const { generation } = account;
  // Read in the order in which a message moves: if it moves in the meantime, it is seen twice rather than not at all.
  const visible = await ports.waitingMessages.ofAdvert(partnerAccount, advertId);
  const { letters, unseen } = await ports.deadLetters.list({ partnerAccount });
  const feed = advertsFeed.name;
  const key = { partnerAccount, generation, feed, advertId };
  const [row, feedStates, budget, published] = await Promise.all([
    ports.advertHistories.read(key),
    feedsOfAccount(ports.feedStates, partnerAccount),
    ports.budgetStore.read(),
    ports.settings(),
  ]);
  const latest = row?.envelope === undefined ? undefined : (JSON.parse(row.envelope) as AdvertEvent);
  const own = letters.filter(({ letter }) => letter.advertId === objectKeyOf(key));
  const seen = visible.filter(({ message }) => message.generation === generation).map(shownWaiting);
  const hidden = await lookBehind(
    ports.hiddenQueue,
    { partnerAccount, feed, advertId },
    {
      ...{ latest, generation, nowMs },
      placed: [...seen, ...own.flatMap(({ letter }) => letter.message ?? [])],
    },
  );
  const isFeed = (state: FeedState) => state.generation === generation && state.feed === feed;
  const known: Known = {
    ...{ account, budget, row, latest, published, advertId, nowMs },
    isAtWork: ports.isDelivering(),
    feed: feedStates.find(isFeed),
    waiting: [...seen, ...(hidden?.waiting ?? [])],
    givenUp: givenUp(own, generation, latest),
    ...(hidden && { queued: hidden.length, lastLogged: hidden.lastLogged }),
  };
  const latestPublished = isOnBus(known);
  const outcome = outcomeOf(known, latestPublished, unseen > 0);
  return {
    ...{ partnerAccount, advertId },
    latest: latest ?? null,
    latestPublished,
    waiting: known.waiting,
    deadLetters: own.map(({ id, letter }) => ({ id, ...letter })),
    ...(hidden && { log: hidden.log }),
    outcome,
    answer: answerOf(known, outcome),
  };
}

function shownWaiting({ message, place, receives, until }: WaitingMessage): Waiting {
  const { key, listedAt, cause, correlationId } = message;
  const shownUntil = until === undefined ? null : toInstant(until);
  return { place, key, listedAt, cause, correlationId, receives, until: shownUntil };
}

/** Dead letters later than the latest event: a later event makes earlier dead letters irrelevant. */
function givenUp(
  letters: readonly StoredLetter[],
  generation: number,
  latest: AdvertEvent | undefined,
): DeadLetter[] {
  const since = latest ? Date.parse(latest.detail.metadata.observedAt) : 0;
  return letters
    .map(({ letter }) => letter)
    .filter(
      ({ message, at }) => (message?.generation ?? generation) === generation && Date.parse(at) >= since,
    )
    .sort((a, b) => (a.at > b.at ? -1 : 1));
}

/** Whether the bus has accepted the latest event; null when this is uncertain. */
function isOnBus({ row, latest, published }: Known): boolean | null {
  if (!row || !latest) return null;
  if (!isPublished(latest, published)) return false;
  // Planted fault: history-ignores-pending
  return row.pending ? null : true;
}

function outcomeOf(
  { row, waiting, givenUp, latest, queued = 0 }: Known,
  latestPublished: boolean | null,
  areLettersHidden: boolean,
): HistoryOutcome {
  if (waiting.some(({ place }) => place === 'queue')) {
    return row?.missingSince === undefined ? 'waits-in-queue' : 'unconfirmed';
  }
  // Planted fault: history-without-aside
  if (waiting.length > 0) return 'aside';
  if (givenUp.length > 0) return 'dead-lettered';
  if (!latest && row) return queued > 0 ? 'waits-in-queue' : areLettersHidden ? 'dead-lettered' : 'dropped';
  if (!latest) return 'not-listed';
  if (latestPublished === null) return 'not-accepted';
  return latestPublished ? 'published' : 'kept-off';
}
