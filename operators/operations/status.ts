import { type Backlog, shownUrl, type Trouble } from '../../embedded/state/event-log.ts';
import type { WebhookStatus as KnownWebhook } from '../../embedded/state/webhooks.ts';
import type { OnUnreadable } from '../../shared/contract/checks.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { forEachConcurrent } from '../../shared/domain/concurrency.ts';
import { endOfHold, heldBy, holdOf, withoutHolds } from '../../shared/domain/holds.ts';
import { type Counters, sumOf } from '../../shared/ports/store.ts';
import type { Activity } from '../../shared/state/activity.ts';
import { type Books, emptyBooks } from '../../shared/state/books.ts';
import { accountStatus, heldMs, shownHold, shownPause } from './account-status.ts';
import type { Bridge, LocalHost } from './bridge.ts';
import { readFailingAdverts } from './failing-adverts.ts';
import type { Answers, FailingAdverts, PrintedHold, StackState, Status, WebhookStatus } from './printed.ts';

type RowsOfStatus = Pick<
  Bridge,
  'partnerAccounts' | 'feedStates' | 'budgetStore' | 'activity' | 'bookKeeper' | 'aside' | 'advertHistories'
>;

export interface StatusPorts extends RowsOfStatus {
  /** Of a stack, what AWS runs; undefined: that is not asked for. */
  readonly host: LocalHost | { readonly kind: 'stack'; read(nowMs: number): Promise<StackState | undefined> };
}

/** Number of books read concurrently: there may be a thousand partner accounts. */
const booksAtOnce = 25;

/** @param only only this partner account; default: all */
export async function readStatus(ports: StatusPorts, nowMs: number, only?: string): Promise<Status> {
  const { host } = ports;
  const local = host.kind === 'local' ? host : undefined;
  const unreadableRows: { readonly row: string; readonly issue: string }[] = [];
  const noteOf =
    (kind: 'account' | 'feed'): OnUnreadable =>
    ({ message }, { name }) =>
      unreadableRows.push({ row: `${kind}/${name}`, issue: message });
  const [accounts, states, queue, budget, activity, stack, idleRun] = await Promise.all([
    ports.partnerAccounts.list(noteOf('account')),
    ports.feedStates.list(noteOf('feed')),
    ports.bookKeeper.queue(),
    ports.budgetStore.read(),
    ports.activity.read(),
    host.kind === 'stack' ? host.read(nowMs) : undefined,
    local ? local.idleRun() : null,
  ]);
  const wanted = accounts.filter(({ name }) => only === undefined || name === only);
  const workOf = new Map<string, { readonly books: Books; readonly failing: FailingAdverts | null }>();
  await forEachConcurrent(wanted, booksAtOnce, async (account) => {
    const books = await ports.bookKeeper.read(account.name, account.generation);
    const failing = books.inFlight > 0 ? await readFailingAdverts(ports, account, nowMs) : null;
    workOf.set(account.name, { books, failing });
  });
  const bridgeHold = shownHold(budget);
  const paused = shownPause(heldBy(budget, 'operator', nowMs));
  const isRunning = local?.isRunning();
  const standstill = local?.standstill(nowMs);
  const fullDisk = local?.fullDisk();
  const feedsOf = Map.groupBy(states, ({ partnerAccount, generation }) => `${partnerAccount}/${generation}`);
  const partnerAccounts = wanted.map((account) => {
    const { name, generation } = account;
    // A feed whose row cannot be read is not missing.
    const isUnreadable = unreadableRows.some(({ row }) => row.startsWith(`feed/${name}/`));
    const explained = [
      isUnreadable && 'feed-missing',
      ...(isRunning === false || standstill || fullDisk ? ['lagging', 'unread', 'poll-failed'] : []),
      ...(saysUnread(bridgeHold, nowMs) ? ['unread', 'poll-failed'] : []),
      ...(bridgeHold || paused ? ['failing'] : []),
    ];
    const feeds = feedsOf.get(`${name}/${generation}`) ?? [];
    const work = workOf.get(name) ?? { books: emptyBooks, failing: null };
    return accountStatus(account, { feeds, ...work }, { nowMs, explained });
  });
  const { isMore, deadLetters, oldestListedAt } = queue;
  const inFlight = partnerAccounts.reduce((sum, { books }) => sum + books.inFlight, 0);
  const waiting = isMore ? Math.max(queue.waiting, inFlight) : queue.waiting;
  const lastPolled = Math.max(0, ...states.map((feed) => feed.lastPolled ?? 0));
  const ofService = withoutHolds(budget, ({ kind }) => kind === 'operator');
  const hold = holdOf(ofService, undefined, nowMs);
  const circuit = ofService.holds?.some(({ kind }) => kind === 'circuit') === true;
  const { oldestMessageSeconds = null, ...ofStack } = stack ?? {};
  const listedSeconds = oldestListedAt === undefined ? null : (nowMs - Date.parse(oldestListedAt)) / 1000;
  const ages = [listedSeconds, oldestMessageSeconds].filter((age) => age !== null);
  return {
    partnerAccounts,
    queue: { waiting, deadLetters },
    oldestWaitingSeconds: waiting > 0 && ages.length > 0 ? Math.max(0, ...ages) : null,
    lastDrain: lastPolled === 0 ? null : toInstant(lastPolled),
    budget: { reservedSeconds: Math.max(0, budget.nextSlotMs - nowMs) / 1000 },
    answers: shownAnswers(activity, nowMs),
    pausedUntil: hold ? toInstant(endOfHold(hold)) : null,
    pauseReason: circuit ? 'circuit' : hold ? 'rate-limited' : null,
    circuit,
    hold: bridgeHold,
    paused,
    unreadable: unreadableRows.map(({ issue }) => issue),
    unreadableRows,
    isRunning,
    idleRun,
    standstill: standstill ? { run: standstill.run, since: toInstant(standstill.since) } : null,
    fullDisk: fullDisk ? { since: fullDisk.since === undefined ? null : toInstant(fullDisk.since) } : null,
    reusedHistories: local?.reusedHistories(wanted).map(({ name }) => name),
    webhooks: local?.webhooks.list().map((webhook) => shownWebhook(webhook, nowMs)),
    output: isRunning === false ? null : shownTrouble(local?.outputTrouble()),
    outputEvents: shownEvents(local?.outputEvents()),
    ...ofStack,
  };
}

/** Whether the hold of the bridge says why feeds are not read. */
const saysUnread = (hold: PrintedHold | null, nowMs: number): boolean =>
  hold !== null &&
  (hold.fault === 'rate-limited' || hold.kind === 'circuit' || nowMs - Date.parse(hold.since) >= heldMs);

const shownWebhook = ({ url, oldest, trouble, ...backlog }: KnownWebhook, nowMs: number): WebhookStatus => ({
  address: shownUrl(url),
  state: trouble === undefined ? 'delivering' : trouble.gone ? 'gone' : 'failing',
  ...backlogFacts(backlog),
  oldestSeconds: oldest === undefined ? null : Math.max(0, nowMs - oldest) / 1000,
  failingSince: trouble ? toInstant(trouble.since) : null,
  lastAnswer: trouble?.reason ?? null,
});

const backlogFacts = ({ waiting, givenUp, maxEvents }: Backlog) => ({
  waiting,
  givenUp,
  maxEvents: maxEvents ?? null,
});

const shownEvents = (backlog: Backlog | undefined) => (backlog ? backlogFacts(backlog) : null);

const shownTrouble = (trouble: Trouble | undefined) =>
  trouble ? { failingSince: toInstant(trouble.since), reason: trouble.reason } : null;

const minuteMs = 60_000;
const quarter = 15;

/** Of the functions, or the run; requests of commands are not counted. */
export function shownAnswers(activity: Activity | undefined, nowMs: number): Answers | null {
  if (!activity) return null;
  const { maxRequestsPerSecond } = activity;
  const now = Math.floor(nowMs / minuteMs);
  const minutes = Object.entries(activity.minutes)
    .map(([minute, counts]) => ({ minute: Number(minute), counts }))
    .filter(({ minute }) => now - minute < 2 * quarter)
    .sort((a, b) => a.minute - b.minute);
  const recent = minutes.flatMap(({ minute, counts }) => (now - minute < quarter ? [counts] : []));
  const all = recent.reduce<Counters>(sumOf, {});
  const used = (counts: Counters, length: number) =>
    Math.min(1, requestsIn(counts) / (length * 60 * maxRequestsPerSecond));
  return {
    ...answered(all),
    rateUsed: used(all, quarter),
    rateUsedAtMost: Math.max(0, ...recent.map((counts) => used(counts, 1))),
    maxRequestsPerSecond,
    minutes: minutes.map(({ minute, counts }) => ({ at: toInstant(minute * minuteMs), ...answered(counts) })),
  };
}

function answered({ ms = 0, ...counts }: Counters) {
  const count = requestsIn(counts) - (counts.none ?? 0);
  return { counts: counts as Counters, meanMs: count > 0 ? Math.round(ms / count) : null };
}

const requestsIn = ({ ms: _duration, ...counts }: Counters): number =>
  Object.values(counts).reduce((sum, value) => sum + value, 0);
