import type { OnUnreadable } from '../shared/contract/checks.ts';
import { toInstant } from '../shared/domain/clock.ts';
import { forEachConcurrent } from '../shared/domain/concurrency.ts';
import { endOfHold, heldBy, holdOf, withoutHolds } from '../shared/domain/holds.ts';
import { shownUrl } from '../shared/domain/text.ts';
import { sumOf } from '../shared/ports/store.ts';
import type { WebhookStatus } from '../shared/sqlite/webhooks.ts';
import type { Activity, AnswerCounts } from '../shared/state/activity.ts';
import type { Books } from '../shared/state/books.ts';
import { feedPlace } from '../shared/state/feed-states.ts';
import {
  type AccountStatus,
  accountStatus,
  type ShownPause,
  shownHold,
  shownPause,
} from './account-status.ts';
import type { Bridge } from './bridge.ts';
import type { StackState } from './stack-state.ts';

export type StatusPorts = Pick<Bridge, 'bookKeeper' | 'activity' | 'webhooks' | 'reusedHistories' | 'stack'> &
  Partial<Pick<Bridge, 'kind' | 'isDelivering'>> & {
    readonly partnerAccounts: Pick<Bridge['partnerAccounts'], 'list'>;
    readonly feedStates: Pick<Bridge['feedStates'], 'list'>;
    readonly budgetStore: Pick<Bridge['budgetStore'], 'read'>;
  };

/** Number of books read concurrently: there may be a thousand partner accounts. */
const booksAtOnce = 25;

/** A stored row that cannot be read is left out and reported. @param only only this partner account; default: all */
export async function readStatus(ports: StatusPorts, nowMs: number, only?: string): Promise<Status> {
  const unreadable: string[] = [];
  const onUnreadable: OnUnreadable = ({ message }) => unreadable.push(message);
  const [accounts, states, queue, budget, activity, stack] = await Promise.all([
    ports.partnerAccounts.list(onUnreadable),
    ports.feedStates.list(onUnreadable),
    ports.bookKeeper.queue(),
    ports.budgetStore.read(),
    ports.activity.read(),
    ports.stack?.read(nowMs),
  ]);
  const feedsOf = Map.groupBy(states, ({ partnerAccount, generation }) => `${partnerAccount}/${generation}`);
  const wanted = accounts
    .filter(({ name }) => only === undefined || name === only)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const booksOf = new Map<string, Books>();
  await forEachConcurrent(wanted, booksAtOnce, async ({ name, generation }) => {
    booksOf.set(name, await ports.bookKeeper.read(name, generation));
  });
  const isRunning = ports.kind === 'local' ? ports.isDelivering?.() : undefined;
  const isAtRest = isRunning === false;
  const partnerAccounts = wanted.map((account) => {
    const { name, generation } = account;
    // A feed whose row cannot be read is not missing.
    const isUnreadable = unreadable.some((flaw) => flaw.startsWith(feedPlace(name)));
    const explained = [...(isUnreadable ? ['feed-missing'] : []), ...(isAtRest ? ['lagging'] : [])];
    const feeds = feedsOf.get(`${name}/${generation}`) ?? [];
    const { redelivered, ...books } = booksOf.get(name) as Books;
    return {
      ...accountStatus(account, feeds, nowMs, explained),
      books,
      ...(redelivered !== undefined && { redelivered }),
    };
  });
  const { waiting, deadLetters, oldestListedAt } = queue;
  const { nextSlotMs } = budget;
  const lastPolled = Math.max(0, ...states.map((feed) => feed.lastPolled ?? 0));
  const ofService = withoutHolds(budget, ({ kind }) => kind === 'operator');
  const hold = holdOf(ofService, undefined, nowMs);
  const circuit = ofService.holds?.some(({ kind }) => kind === 'circuit') === true;
  const pauseReason: Status['pauseReason'] = circuit ? 'circuit' : 'rate-limited';
  const { oldestMessageSeconds: oldestMessage = null, ...ofStack } = stack ?? {};
  const heldFor = oldestListedAt === undefined ? 0 : (nowMs - Date.parse(oldestListedAt)) / 1000;
  const oldest = Math.max(0, heldFor, oldestMessage ?? 0);
  const isOldestKnown = oldestListedAt !== undefined || oldestMessage !== null;
  return {
    partnerAccounts,
    queue: { waiting, deadLetters },
    oldestWaitingSeconds: waiting > 0 && isOldestKnown ? oldest : null,
    lastDrain: lastPolled === 0 ? null : toInstant(lastPolled),
    budget: { reservedSeconds: Math.max(0, nextSlotMs - nowMs) / 1000 },
    answers: shownAnswers(activity, nowMs),
    pausedUntil: hold ? toInstant(endOfHold(hold)) : null,
    pauseReason: hold || circuit ? pauseReason : null,
    circuit,
    hold: shownHold(budget),
    paused: shownPause(heldBy(budget, 'operator', nowMs)),
    unreadable,
    ...(isRunning !== undefined && { isRunning }),
    ...(ports.reusedHistories && { reusedHistories: ports.reusedHistories(wanted).map(({ name }) => name) }),
    ...(ports.webhooks && { webhooks: ports.webhooks.list().map((webhook) => shownWebhook(webhook, nowMs)) }),
    ...ofStack,
  };
}

function shownWebhook({ url, waiting, oldest, trouble }: WebhookStatus, nowMs: number): ShownWebhook {
  return {
    address: shownUrl(url),
    state: trouble === undefined ? 'delivering' : trouble.gone ? 'gone' : 'failing',
    waiting,
    oldestSeconds: oldest === undefined ? null : Math.max(0, nowMs - oldest) / 1000,
    failingSince: trouble ? toInstant(trouble.since) : null,
    lastAnswer: trouble?.reason ?? null,
  };
}

type ShownStack = Partial<Omit<StackState, 'oldestMessageSeconds'>>;

export interface ShownWebhook {
  readonly address: string;
  /** `gone`: it answered 410, and gets nothing more in this run. */
  readonly state: 'delivering' | 'failing' | 'gone';
  readonly waiting: number;
  readonly oldestSeconds: number | null;
  readonly failingSince: string | null;
  /** Why the last attempt failed, in words; null if it succeeded. */
  readonly lastAnswer: string | null;
}

/** As printed by `status --json`; times are ISO 8601 in UTC, or null. Only a stack has the state of AWS resources. */
export interface Status extends ShownStack {
  readonly partnerAccounts: readonly AccountStatus[];
  readonly queue: { readonly waiting: number; readonly deadLetters: number };
  /** In the queue or aside; null when none waits, or this is unknown. */
  readonly oldestWaitingSeconds: number | null;
  readonly lastDrain: string | null;
  /** How far ahead the slots of the rate budget are reserved: a new request waits this long. */
  readonly budget: { readonly reservedSeconds: number };
  /** What the service answered in the last quarter of an hour; null before the first request. */
  readonly answers: ShownAnswers | null;
  /** The whole bridge sends nothing until then: the service asked for it, or the circuit is open. */
  readonly pausedUntil: string | null;
  readonly pauseReason: 'rate-limited' | 'circuit' | null;
  /** The service seems to block this address: after the pause, single trial requests are sent. */
  readonly circuit: boolean;
  /** The hold that the service's answers made, in force or not tried yet; null after a success. */
  readonly hold: AccountStatus['hold'];
  readonly paused: ShownPause | null;
  /** Only for an embedded bridge: whether a process runs it. */
  readonly isRunning?: boolean;
  /** Only for an embedded bridge: partner accounts that this older copy of the state would publish with used numbers. */
  readonly reusedHistories?: readonly string[];
  /** Only for an embedded bridge. */
  readonly webhooks?: readonly ShownWebhook[];
  /** Stored rows that cannot be read, each with the reason; what they describe is not polled. */
  readonly unreadable: readonly string[];
}

/** What the service answered the functions, or the run, of a bridge; requests of commands are not counted. */
export interface ShownAnswers extends Answered {
  /** The part of the rate that requests used in the last quarter of an hour, and in its busiest minute: 0 to 1. */
  readonly rateUsed: number;
  readonly rateUsedAtMost: number;
  readonly maxRequestsPerSecond: number;
  /** The last half hour, oldest first; a minute without requests is left out. */
  readonly minutes: readonly ({ readonly at: string } & Answered)[];
}

interface Answered {
  /** By kind: `ok`, `5xx`, `none` (no answer), or the kind of the fault. */
  readonly counts: AnswerCounts;
  /** How long an answer took on average; null without any. */
  readonly meanMs: number | null;
}

const minuteMs = 60_000;
const quarter = 15;

/** @returns null before the first request */
export function shownAnswers(activity: Activity | undefined, nowMs: number): ShownAnswers | null {
  if (!activity) return null;
  const { maxRequestsPerSecond } = activity;
  const now = Math.floor(nowMs / minuteMs);
  const within = (length: number) =>
    Object.entries(activity.minutes)
      .filter(([minute]) => now - Number(minute) < length)
      .sort(([a], [b]) => Number(a) - Number(b));
  const recent = within(quarter).map(([, counts]) => counts);
  const used = (counts: AnswerCounts, minutes: number) =>
    Math.min(1, requestsIn(counts) / (minutes * 60 * maxRequestsPerSecond));
  const all = recent.reduce<AnswerCounts>(sumOf, {});
  return {
    ...answered(all),
    rateUsed: used(all, quarter),
    rateUsedAtMost: Math.max(0, ...recent.map((counts) => used(counts, 1))),
    maxRequestsPerSecond,
    minutes: within(2 * quarter).map(([minute, counts]) => ({
      at: toInstant(Number(minute) * minuteMs),
      ...answered(counts),
    })),
  };
}

function answered({ ms = 0, ...counts }: AnswerCounts): Answered {
  const count = requestsIn(counts) - (counts.none ?? 0);
  return { counts, meanMs: count > 0 ? Math.round(ms / count) : null };
}

const requestsIn = ({ ms: _duration, ...counts }: AnswerCounts): number =>
  Object.values(counts).reduce((sum, value) => sum + value, 0);
