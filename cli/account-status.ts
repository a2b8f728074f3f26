import type { FeedState, FeedStates } from '../functions/drain/ports.ts';
import { pauseOf, refreshTokenAlarmMs, refreshTokenLifetimeMs, stopOf } from '../shared/domain/accounts.ts';
import { toInstant } from '../shared/domain/clock.ts';
import { knownSuccess } from '../shared/domain/last-success.ts';
import type { BookKeeper, Books, PartnerAccount, PartnerAccounts } from '../shared/domain/ports.ts';
import { sideBySide } from '../shared/domain/side-by-side.ts';
import type { BudgetStore } from '../shared/partner-api/ports.ts';
import type { AccountStatus, Status } from './bridge.ts';

export interface StatusPorts {
  readonly partnerAccounts: Pick<PartnerAccounts, 'list'>;
  readonly feedStates: Pick<FeedStates, 'list'>;
  readonly bookKeeper: BookKeeper;
  readonly budgetStore: Pick<BudgetStore, 'read'>;
}

/** Readings of books side by side: a thousand partner accounts are not to be asked for all at once. */
const booksAtOnce = 25;

/**
 * How the bridge is, from the same ports whichever kind it is.
 *
 * @param only this partner account; default: all, by name
 */
export async function readStatus(ports: StatusPorts, nowMs: number, only?: string): Promise<Status> {
  const [accounts, states, queue, budget] = await Promise.all([
    ports.partnerAccounts.list(),
    ports.feedStates.list(),
    ports.bookKeeper.queue(),
    ports.budgetStore.read(),
  ]);
  const feedsOf = Map.groupBy(states, ({ partnerAccount, generation }) => `${partnerAccount}/${generation}`);
  const wanted = accounts
    .filter(({ name }) => only === undefined || name === only)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const read = new Map<string, Books>();
  await sideBySide(wanted, booksAtOnce, async ({ name, generation }) => {
    read.set(name, await ports.bookKeeper.read(name, generation));
  });
  const partnerAccounts = wanted.map((account) => {
    const { name, generation } = account;
    const status = statusOf(account, feedsOf.get(`${name}/${generation}`) ?? [], nowMs);
    return { ...status, ...entryOf(read.get(name) as Books) };
  });
  const { waiting, deadLetters } = queue;
  const { pausedUntilMs } = budget;
  return {
    partnerAccounts,
    queue: { waiting, deadLetters },
    pausedUntil: pausedUntilMs > nowMs ? toInstant(pausedUntilMs) : null,
  };
}

/** The terms of the sum by themselves, in their order. */
function entryOf({ redelivered, ...books }: Books): Pick<AccountStatus, 'books' | 'redelivered'> {
  const { listed, events, unchanged, coalesced, unavailable, deadLettered, inFlight } = books;
  return {
    books: { listed, events, unchanged, coalesced, unavailable, deadLettered, inFlight },
    ...(redelivered === undefined ? {} : { redelivered }),
  };
}

function statusOf(
  account: PartnerAccount,
  feeds: readonly FeedState[],
  nowMs: number,
): Omit<AccountStatus, 'books' | 'redelivered'> {
  const { name, generation, token } = account;
  const whereabouts = stateOf(account, feeds, nowMs);
  const isPolling = whereabouts.state === 'polling';
  const lastSuccess = oldestSuccess(feeds, nowMs);
  const behindSince = feeds.length === 0 ? null : (lastSuccess ?? Date.parse(account.connectedAt));
  return {
    name,
    generation,
    ...whereabouts,
    // By the clock of the machine that read the feed, which may be ahead of this one's.
    lagSeconds: behindSince === null ? null : Math.max(0, nowMs - behindSince) / 1000,
    lastSuccess: lastSuccess === null ? null : toInstant(lastSuccess),
    tokenExpiresAt: token ? toInstant(token.expiresAt) : null,
    refreshTokenExpiresAt: token ? toInstant(token.usedAt + refreshTokenLifetimeMs) : null,
    needsPerson:
      isLeftForPerson(whereabouts) ||
      (isPolling && feeds.some(({ needsPerson }) => needsPerson)) ||
      (whereabouts.state !== 'stopped' && isDying(account, nowMs)),
    cursorResets: feeds.reduce((sum, { resets }) => sum + resets, 0),
  };
}

function stateOf(
  account: PartnerAccount,
  feeds: readonly FeedState[],
  nowMs: number,
): Pick<AccountStatus, 'state' | 'reason'> {
  const stop = stopOf(account);
  if (stop) return { state: 'stopped', reason: stop.reason };
  const pause = pauseOf(account, nowMs);
  if (pause) return { state: 'paused', reason: pause.reason };
  const stuck = feeds.find(({ pausedUntil = 0 }) => pausedUntil > nowMs);
  if (stuck) return { state: 'paused', reason: stuck.fault ?? null };
  return { state: 'polling', reason: feeds.find(({ fault }) => fault !== undefined)?.fault ?? null };
}

function oldestSuccess(feeds: readonly FeedState[], nowMs: number): number | null {
  const successes = feeds.map(({ lastSuccess }) => knownSuccess(lastSuccess, nowMs));
  if (successes.length === 0 || successes.includes(undefined)) return null;
  return Math.min(...(successes as number[]));
}

/** Whether something is left for a person: a disconnected account is as it was asked to be. */
export function needsPerson({ partnerAccounts, queue }: Status): boolean {
  return queue.deadLetters > 0 || partnerAccounts.some((account) => account.needsPerson);
}

/** A pause of this kind ends by itself; a feed is paused only when it cannot be read on as it is. */
const passingPause = 'token-rejected-again';

const isDying = ({ token }: PartnerAccount, nowMs: number): boolean =>
  token !== undefined && nowMs - token.usedAt >= refreshTokenAlarmMs;

const isLeftForPerson = ({ state, reason }: Pick<AccountStatus, 'state' | 'reason'>): boolean =>
  (state === 'stopped' && reason !== 'disconnected') || (state === 'paused' && reason !== passingPause);
