/** The status of one partner account, from its row and its feeds' rows. */
import { feedMissingMs } from '../functions/drain/due-feeds.ts';
import { maxLagSeconds } from '../shared/contract/names.ts';
import { knownSuccess, toInstant } from '../shared/domain/clock.ts';
import type { FaultKind } from '../shared/domain/faults.ts';
import {
  type Hold,
  type Holder,
  type HoldKind,
  heldBy,
  holdOf,
  withoutHolds,
} from '../shared/domain/holds.ts';
import {
  isDying,
  type PartnerAccount,
  refreshTokenLifetimeMs,
  stopOf,
} from '../shared/domain/partner-account.ts';
import type { Books } from '../shared/state/books.ts';
import type { FeedState } from '../shared/state/feed-states.ts';

/** A hold that the service's answers made is no finding before it has lasted for so long: most end at the first trial. */
export const heldMs = 30_000;

/** @param explained causes that something of the whole bridge explains already */
export function accountStatus(
  account: PartnerAccount,
  listed: readonly FeedState[],
  nowMs: number,
  explained: readonly string[] = [],
): Omit<AccountStatus, 'books' | 'redelivered'> {
  const { name, generation, token } = account;
  const noFault = { fault: undefined, faultKind: undefined, needsPerson: undefined };
  const feeds = listed.map((feed) => (isOutdated(feed, account) ? { ...feed, ...noFault } : feed));
  const whereabouts = stateOf(account, feeds, nowMs);
  const successes = feeds.map((feed) => knownSuccess(feed.lastSuccess, nowMs));
  const oldest = Math.min(...successes.map((success) => success ?? Number.NaN));
  const lastSuccess = Number.isFinite(oldest) ? oldest : undefined;
  // Not negative: the clock of the machine that connected the account may be ahead of this one.
  const behindMs = Math.max(0, nowMs - (lastSuccess ?? Date.parse(account.connectedAt)));
  const lagSeconds = feeds.length === 0 ? null : behindMs / 1000;
  const causes = attentionOf(account, { ...whereabouts, lagSeconds }, feeds, nowMs);
  const attention = causes.filter((cause) => !explained.includes(cause));
  const lastReset = Math.max(0, ...feeds.map((feed) => feed.lastReset ?? 0));
  return {
    name,
    generation,
    ...whereabouts,
    paused: shownPause(heldBy(account, 'operator', nowMs)),
    hold: shownHold(account),
    lagSeconds,
    lastSuccess: instant(lastSuccess),
    tokenExpiresAt: instant(token?.expiresAt),
    refreshTokenExpiresAt: instant(token && token.usedAt + refreshTokenLifetimeMs),
    needsPerson: attention.length > 0,
    attention,
    cursorResets: feeds.reduce((sum, { resets }) => sum + resets, 0),
    lastCursorReset: instant(lastReset || undefined),
  };
}

const instant = (ms: number | undefined): string | null => (ms === undefined ? null : toInstant(ms));

function stateOf(
  account: PartnerAccount,
  feeds: readonly FeedState[],
  nowMs: number,
): Pick<AccountStatus, 'state' | 'reason'> {
  const stop = stopOf(account);
  if (stop) return { state: 'stopped', reason: stop.reason };
  const wanted = heldBy(account, 'operator', nowMs);
  if (wanted) return { state: 'paused', reason: wanted.reason ?? `paused by ${wanted.who}` };
  const hold = holdOf(undefined, account, nowMs);
  if (hold) return { state: 'paused', reason: hold.reason ?? hold.kind };
  const stuck = feeds.find(({ pausedUntil = 0 }) => pausedUntil > nowMs);
  if (stuck) return { state: 'paused', reason: stuck.fault ?? null };
  return { state: 'polling', reason: feeds.find(({ fault }) => fault !== undefined)?.fault ?? null };
}

export function shownPause(pause: Hold | undefined): ShownPause | null {
  if (pause === undefined) return null;
  const { who = 'unknown', since, until, reason = null } = pause;
  return { who, since: toInstant(since), until: instant(until), reason };
}

/** The hold that the service's answers made: in force, or over while no request has succeeded since. */
export function shownHold({ holds = [] }: Holder): AccountStatus['hold'] {
  const hold = holds.find(({ fault }) => fault !== undefined);
  if (!hold) return null;
  const { kind, since, until, fault = kind } = hold;
  return { kind, since: toInstant(since), until: instant(until), fault };
}

/** Faults that end when the token is replaced. */
const tokenFaults: readonly string[] = [
  'account-stopped',
  'account-paused',
  'scope-insufficient',
  'grant-rejected',
  'token-rejected',
] satisfies FaultKind[];

/** Whether the fault concerns a token that has been replaced since, as between `connect` and the next poll. */
const isOutdated = ({ faultKind, lastPolled = 0 }: FeedState, account: PartnerAccount): boolean =>
  // An operator's pause is shown separately while it lasts.
  faultKind === 'operator-paused' ||
  (!stopOf(account) &&
    account.token !== undefined &&
    tokenFaults.includes(faultKind ?? '') &&
    account.token.usedAt >= lastPolled);

/** What a person has to handle, the most urgent first; nothing for an account that was disconnected on purpose. */
function attentionOf(
  account: PartnerAccount,
  { state, lagSeconds }: Pick<AccountStatus, 'state' | 'lagSeconds'>,
  feeds: readonly FeedState[],
  nowMs: number,
): string[] {
  const stop = stopOf(account);
  if (stop) return stop.reason === 'disconnected' ? [] : [stop.reason];
  const hold = holdOf(
    undefined,
    withoutHolds(account, ({ kind }) => kind === 'operator'),
    nowMs,
  );
  const causes: string[] = heldBy(account, 'operator', nowMs) ? ['operator-paused'] : [];
  // A hold because of the service's answers ends by itself, most at the first trial.
  if (hold && hold.fault === undefined) causes.push(hold.reason ?? hold.kind);
  if (!hold && causes.length === 0 && state === 'paused') causes.push('feed-stuck');
  if (feeds.length === 0 && nowMs - Date.parse(account.connectedAt) >= feedMissingMs)
    causes.push('feed-missing');
  if (state === 'polling') {
    for (const { needsPerson, faultKind = 'unknown' } of feeds) if (needsPerson) causes.push(faultKind);
  }
  const isHeld = nowMs - Date.parse(shownHold(account)?.since ?? '') >= heldMs;
  if (causes.length === 0 && isHeld) causes.push('held');
  // Any other known problem already explains the lag.
  if (state === 'polling' && causes.length === 0 && (lagSeconds ?? 0) > maxLagSeconds) causes.push('lagging');
  if (isDying(account, nowMs)) causes.push('refresh-token-dying');
  return [...new Set(causes)];
}

/** An operator's pause; without an end it lasts until `resume`. */
export interface ShownPause {
  readonly who: string;
  readonly since: string;
  readonly until: string | null;
  readonly reason: string | null;
}

export interface AccountStatus {
  readonly name: string;
  readonly generation: number;
  readonly state: 'polling' | 'paused' | 'stopped';
  /** Why it is paused or stopped, or what went wrong with the last poll; null if there is no problem. */
  readonly reason: string | null;
  readonly paused: ShownPause | null;
  /** The service's answers made it, and no request has succeeded since; a trial ends it. */
  readonly hold: {
    readonly kind: HoldKind;
    readonly since: string;
    readonly until: string | null;
    readonly fault: string;
  } | null;
  /** Seconds since the feed was last read to its end, or since `connect`; null without a feed. */
  readonly lagSeconds: number | null;
  readonly lastSuccess: string | null;
  readonly tokenExpiresAt: string | null;
  /** When the refresh token expires unless it is used earlier; each use adds a month. */
  readonly refreshTokenExpiresAt: string | null;
  /** A person has to act for a reason other than dead letters: {@link attention} has an entry. */
  readonly needsPerson: boolean;
  /**
   * What a person has to handle, each a finding (findings.ts): a stop's reason, a kind of fault, or one of `feed-stuck`
   * (its cursor), `feed-missing` (there is no feed of its generation), `held` (the service answers nothing well),
   * `lagging` (as the alarm NoSuccessfulDrain) and `refresh-token-dying`. A new cause is not a breaking change.
   */
  readonly attention: readonly string[];
  readonly cursorResets: number;
  readonly lastCursorReset: string | null;
  readonly books: Omit<Books, 'redelivered'>;
  /** Number of repeated deliveries; only for a stack, which counts outcomes per delivery. */
  readonly redelivered?: number;
}
