/** The status of one partner account, from its row and its feeds' rows. */
import { feedMissingMs } from '../../functions/drain/due-feeds.ts';
import { maxLagSeconds } from '../../shared/contract/names.ts';
import { knownSuccess, toInstant } from '../../shared/domain/clock.ts';
import { policyOf } from '../../shared/domain/faults.ts';
import { blamingHold, type Hold, type Holder, heldBy, holdOf } from '../../shared/domain/holds.ts';
import { isDying, type PartnerAccount, refreshTokenLifetimeMs } from '../../shared/domain/partner-account.ts';
import { isTokenHold } from '../../shared/domain/renewal.ts';
import type { Books } from '../../shared/state/books.ts';
import { type FeedState, waitOf } from '../../shared/state/feed-states.ts';
import type { AccountStatus, FailingAdverts, PrintedHold, PrintedPause } from './printed.ts';

/** A hold that the service's answers made is no finding before it has lasted for so long: most end at the first trial. */
export const heldMs = 30_000;

/** @param explained causes that something of the whole bridge explains already */
export function accountStatus(
  account: PartnerAccount,
  stored: {
    readonly feeds: readonly FeedState[];
    readonly books: Books;
    readonly failing: FailingAdverts | null;
  },
  { nowMs, explained }: { readonly nowMs: number; readonly explained: readonly (string | false)[] },
): AccountStatus {
  const { name, generation, token } = account;
  const { redelivered, ...books } = stored.books;
  const { failing } = stored;
  const feeds = stored.feeds.map((feed) =>
    policyOf(feed.problem?.kind)?.account ? { ...feed, problem: undefined } : feed,
  );
  const oldest = Math.min(...feeds.map((feed) => knownSuccess(feed.lastSuccess, nowMs) ?? Number.NaN));
  const lastSuccess = Number.isFinite(oldest) ? oldest : undefined;
  // Not negative: the clock of the machine that connected the account may be ahead of this one.
  const behindMs = Math.max(0, nowMs - (lastSuccess ?? Date.parse(account.connectedAt)));
  const lagSeconds = feeds.length === 0 ? null : behindMs / 1000;
  const [state, reason, ...causes] = situationOf(account, feeds, nowMs);
  if (state !== 'stopped') {
    if (feeds.length === 0 && behindMs >= feedMissingMs) causes.push('feed-missing');
    // Any other known problem already explains that nothing is read.
    const isExplained = causes.length > 0;
    if (!isExplained && nowMs - (blamingHold(account)?.since ?? nowMs) >= heldMs) causes.push('held');
    else if (!isExplained && feeds.some((feed) => failedPolls(feed) > 1)) causes.push('unread');
    else if (!isExplained && state === 'polling' && (lagSeconds ?? 0) > maxLagSeconds) causes.push('lagging');
    else if (!isExplained && feeds.some((feed) => failedPolls(feed) === 1)) causes.push(tried);
    if (failing && state === 'polling' && !causes.includes('held')) causes.push('failing');
    if (isDying(account, nowMs)) causes.push('refresh-token-dying');
  }
  const attention = [...new Set(causes)].filter((cause) => !explained.includes(cause));
  const lastReset = Math.max(0, ...feeds.map((feed) => feed.lastReset ?? 0));
  return {
    name,
    generation,
    state,
    reason,
    paused: shownPause(heldBy(account, 'operator', nowMs)),
    hold: shownHold(account),
    nextTrial: instant(nextTrialOf(account, feeds, nowMs)),
    lagSeconds,
    lastSuccess: instant(lastSuccess),
    tokenExpiresAt: instant(token?.expiresAt),
    refreshTokenExpiresAt: instant(token && token.usedAt + refreshTokenLifetimeMs),
    needsPerson: attention.some((cause) => cause !== tried),
    attention,
    cursorResets: feeds.reduce((sum, { resets }) => sum + resets, 0),
    lastCursorReset: instant(lastReset || undefined),
    books,
    failing,
    redelivered,
  };
}

/** A single poll has failed: the next one repairs most, at the longest `pollSeconds` a minute later. */
const tried = 'poll-failed';

/** 2: two or more in a row. */
function failedPolls({ problem, lastPolled = 0 }: FeedState): number {
  if (problem === undefined || lastPolled < problem.since) return 0;
  // That nothing was sent is no failure: the hold that kept it may be over.
  return lastPolled > problem.since && problem.kind !== 'paused' ? 2 : 1;
}

/** At the end of the account's hold, or of the wait of its feed. */
function nextTrialOf(
  account: PartnerAccount,
  feeds: readonly FeedState[],
  nowMs: number,
): number | undefined {
  const waits = feeds.flatMap(({ problem }) => waitOf(problem, nowMs)?.until ?? []);
  return blamingHold(account)?.until ?? (waits.length > 0 ? Math.min(...waits) : undefined);
}

const instant = (ms: number | undefined): string | null => (ms === undefined ? null : toInstant(ms));

type Situation = [state: 'polling' | 'paused' | 'stopped', reason: string | null, ...causes: string[]];

/** Nothing to handle for an account that was disconnected on purpose, or during a hold that ends at a trial. */
function situationOf(account: PartnerAccount, feeds: readonly FeedState[], nowMs: number): Situation {
  const hold = holdOf(undefined, account, nowMs);
  if (hold?.kind === 'operator') return ['paused', hold.reason ?? `paused by ${hold.who}`, 'operator-paused'];
  if (hold) {
    const { kind, fault, since, reason = kind } = hold;
    const state = kind === 'authorization' ? 'stopped' : 'paused';
    const isNone = reason === 'disconnected' || fault !== undefined;
    // One failed renewal is no finding.
    if (isNone || (reason === 'token-not-renewed' && nowMs - since < heldMs)) return [state, reason];
    return [state, isTokenHold(hold) ? (account.renewal?.reason ?? reason) : reason, reason];
  }
  const problems = feeds.flatMap(({ problem }) => problem ?? []);
  const stuck = problems.find((problem) => waitOf(problem, nowMs)?.why === 'stuck');
  if (stuck) return ['paused', stuck.reason, 'feed-stuck'];
  const needing = problems.flatMap(({ needsAttention, kind }) => (needsAttention ? [kind] : []));
  return ['polling', problems[0]?.reason ?? null, ...needing];
}

export function shownPause(pause: Hold | undefined): PrintedPause | null {
  if (pause === undefined) return null;
  const { who = 'unknown', since, until, reason = null } = pause;
  return { who, since: toInstant(since), until: instant(until), reason };
}

export function shownHold(holder: Holder): PrintedHold | null {
  const hold = blamingHold(holder);
  if (!hold) return null;
  const { kind, since, until, fault = kind } = hold;
  return { kind, since: toInstant(since), until: instant(until), fault };
}
