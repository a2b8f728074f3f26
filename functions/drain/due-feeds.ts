import type { ShapeError } from '../../shared/contract/checks.ts';
import { type Feed, feedNamed } from '../../shared/contract/messages.ts';
import { type Clock, knownSuccess } from '../../shared/domain/clock.ts';
import type { FaultKind } from '../../shared/domain/faults.ts';
import { endOfHold, holdMeanings, holdOf } from '../../shared/domain/holds.ts';
import { stopOf } from '../../shared/domain/partner-account.ts';
import { needsAttention, type Observer } from '../../shared/ports/observer.ts';
import { type FeedState, type FeedStates, waitOf } from '../../shared/state/feed-states.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';

interface PausedFeed {
  readonly partnerAccount: string;
  /** The fault of the account's hold, or of the feed that waits by itself. */
  readonly fault: FaultKind;
  readonly reason: string;
  /** Infinity for an operator's pause without an end. */
  readonly untilMs: number;
  /** Start of the lag of a feed that waits for itself, ms since 1970; absent for a hold. */
  readonly lagsSince?: number;
}

export interface DueFeed {
  readonly feed: Feed;
  readonly state: FeedState;
  /** Start of the lag of a feed that was never read to its end. */
  readonly begunAt: number;
}

/** When the feed was last read to its end. */
export const lagStartOf = ({ state, begunAt }: Pick<DueFeed, 'state' | 'begunAt'>, nowMs: number): number =>
  knownSuccess(state.lastSuccess, nowMs) ?? begunAt;

export interface SortedFeeds {
  /** Feeds to poll now; the one that has waited longest comes first. */
  readonly due: readonly DueFeed[];
  /** Partner accounts that need manual reauthorization. */
  readonly stopped: readonly string[];
  readonly paused: readonly PausedFeed[];
}

/** An account without a feed of its generation so long after `connect`, which takes seconds, needs attention. */
export const feedMissingMs = 60_000;

interface SortDeps {
  readonly feedStates: Pick<FeedStates, 'list'>;
  readonly partnerAccounts: Pick<PartnerAccounts, 'list'>;
  readonly clock: Clock;
  readonly observer: Observer;
}

/**
 * @param only this partner account, also while its feed waits; default: all
 * @param insists ignores waits that only the bridge imposed
 */
export async function sortFeeds(
  { feedStates, partnerAccounts, clock, observer }: SortDeps,
  { only, insists = false }: { readonly only?: string; readonly insists?: boolean } = {},
): Promise<SortedFeeds> {
  const onUnreadable = ({ message: reason }: ShapeError) =>
    needsAttention(observer, 'a stored row cannot be read: what it is about is not polled', { reason });
  const [states, listed] = await Promise.all([
    feedStates.list(onUnreadable),
    partnerAccounts.list(onUnreadable),
  ]);
  const now = clock.now();
  const known = listed.filter(({ name }) => only === undefined || name === only);
  const byName = new Map(known.map((account) => [account.name, account]));
  const missing = new Set(known.filter((account) => !stopOf(account)));
  const due: DueFeed[] = [];
  const paused: PausedFeed[] = [];
  for (const state of states) {
    const { partnerAccount, problem } = state;
    const account = byName.get(partnerAccount);
    if (account?.generation !== state.generation) continue;
    missing.delete(account);
    const feed = feedNamed(state.feed);
    const hold = holdOf(undefined, account, now);
    if (hold?.kind === 'authorization' || !feed) continue;
    if (hold) {
      const reason = hold.kind === 'operator' ? `paused by ${hold.who}` : (hold.reason ?? hold.kind);
      const held = { fault: holdMeanings[hold.kind].account, reason, untilMs: endOfHold(hold) };
      paused.push({ partnerAccount, ...held });
      continue;
    }
    const begunAt = Math.max(Date.parse(account.connectedAt), Date.parse(state.since) || 0);
    const one = { feed, state, begunAt };
    const wait = only === undefined ? waitOf(problem, now) : undefined;
    if (wait && !(insists && wait.why === 'failing')) {
      const fault = wait.why === 'stuck' ? 'contract-broken' : 'transient';
      const lagsSince = lagStartOf(one, now);
      paused.push({ partnerAccount, fault, reason: problem?.reason ?? '', untilMs: wait.until, lagsSince });
    } else due.push(one);
  }
  for (const { name: partnerAccount, generation, connectedAt } of missing) {
    if (now - Date.parse(connectedAt) < feedMissingMs) continue;
    const message = 'a partner account has no feed of its generation, and is not polled: connect it again';
    needsAttention(observer, message, { partnerAccount, generation });
  }
  // A deliberately disconnected account does not need reauthorization.
  const stopped = known.filter((account) => (stopOf(account)?.reason ?? 'disconnected') !== 'disconnected');
  return { due, stopped: stopped.map(({ name }) => name), paused };
}
