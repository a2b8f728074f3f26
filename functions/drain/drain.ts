/**
 * The drain: asks every partner account's feed for changes and puts the adverts named into the queue.
 *
 * A page goes `pollFeed` (poll-feed.ts) → queue → cursor. See docs/contribute/architecture.md.
 */
import type { ShapeError } from '../../shared/contract/checks.ts';
import { metrics } from '../../shared/contract/names.ts';
import { type Feed, feeds } from '../../shared/domain/feed.ts';
import { forEachConcurrent } from '../../shared/domain/for-each-concurrent.ts';
import { knownSuccess } from '../../shared/domain/last-success.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { pauseOf, stopOf } from '../../shared/domain/partner-account.ts';
import type { FeedState } from '../../shared/ports/feed-states.ts';
import { type PollDeps, type PollReport, pollFeed } from './poll-feed.ts';
import { type ReleaseDeps, releaseParked } from './release.ts';

export interface DrainDeps extends PollDeps, Omit<ReleaseDeps, 'settings'> {
  readonly settings: PollDeps['settings'] & {
    /** Seconds between two polls of a feed. */
    readonly pollSeconds: number;
    /** How many feeds are read side by side. */
    readonly feedsAtOnce: number;
  };
}

export interface DrainReport {
  readonly polls: readonly ({ readonly partnerAccount: string; readonly feed: string } & PollReport)[];
  /** Partner accounts that wait for a person. */
  readonly stopped: readonly string[];
  /** Feeds that wait a while, with the reason: not polled in this round. */
  readonly paused: readonly PausedFeed[];
  /** Seconds since the feed that waited longest was read to its end; stopped and unconnected ones apart. */
  readonly lagSeconds: number;
}

export interface PausedFeed {
  readonly partnerAccount: string;
  /** What rests: all of the partner account, or this feed of it. */
  readonly kind: 'partner-account' | 'feed';
  readonly reason: string;
  readonly untilMs: number;
}

export interface RoundOptions {
  /** Ms since 1970: no page is asked for after it. */
  readonly deadlineMs: number;
  /** Ends the round after the page in hand. */
  readonly signal?: AbortSignal;
}

export interface RunOptions extends RoundOptions {
  /** The next run begins at about this moment: until then the feeds are polled every `pollSeconds`. */
  readonly nextRunMs: number;
}

/**
 * How the bridge polls: `round` asks every feed once, `run` as often as is due until the next run. A round of a run does
 * not wait for the one before: a feed that hangs is still leased by that one, and all others are polled when they are due.
 */
export function createDrain(deps: DrainDeps) {
  const { clock, settings } = deps;

  async function round(options: RoundOptions): Promise<DrainReport> {
    // Side by side: a feed that is due does not wait for a backlog that comes back.
    const [report] = await Promise.all([pollAll(options), releaseParked(deps, options.deadlineMs)]);
    return report;
  }

  async function pollAll(options: RoundOptions): Promise<DrainReport> {
    const { due, stopped, paused } = await sortFeeds(deps);
    const polls = new Map<FeedState, DrainReport['polls'][number]>();
    const now = clock.now();
    const lastSuccess = new Map(
      due.map(({ state, connectedAt }) => [state, knownSuccess(state.lastSuccess, now) ?? connectedAt]),
    );
    const turns = [...due];
    await forEachConcurrent(turns, settings.feedsAtOnce, async (turn) => {
      const { state } = turn;
      const feed = feedNamed(state.feed);
      if (!feed) return;
      const { partnerAccount } = state;
      const before = polls.get(state);
      const report = await pollFeed(deps, feed, partnerAccount, {
        ...options,
        ...(before ? {} : { listed: state }),
      });
      if (report.end === 'up-to-date') lastSuccess.set(state, clock.now());
      polls.set(state, { partnerAccount, feed: feed.name, ...added(report, before) });
      // At the end of the line; who takes what is in it looks again.
      if (report.end === 'turn-over') turns.push(turn);
    });
    const ended = clock.now();
    const lagSeconds = Math.max(0, ...[...lastSuccess.values()].map((at) => ended - at)) / 1000;
    const report = { polls: [...polls.values()], stopped, paused, lagSeconds };
    deps.observer.count(metrics.feedLagSeconds, report.lagSeconds);
    deps.observer.count(metrics.stoppedPartnerAccounts, stopped.length);
    return report;
  }

  async function run({ deadlineMs, nextRunMs }: RunOptions): Promise<DrainReport> {
    const rounds = [];
    for (let due = clock.now(); ; ) {
      const outcome = round({ deadlineMs });
      // Kept for the end: a round that cannot begin keeps no later one from its turn.
      outcome.catch(() => undefined);
      rounds.push(outcome);
      due += settings.pollSeconds * 1000;
      if (due >= nextRunMs || due >= deadlineMs) break;
      await clock.sleep(due - clock.now());
    }
    await Promise.allSettled(rounds);
    return (await Promise.all(rounds)).at(-1) as DrainReport;
  }

  return { round, run, release: (deadlineMs: number) => releaseParked(deps, deadlineMs) };
}

/** The turns of a feed in one round as one report. */
const added = (report: PollReport, before: PollReport | undefined): PollReport => ({
  ...report,
  pages: report.pages + (before?.pages ?? 0),
  listed: report.listed + (before?.listed ?? 0),
});

export type Drain = ReturnType<typeof createDrain>;

interface DueFeed {
  readonly state: FeedState;
  /** Where its waiting began when it was never read to its end. */
  readonly connectedAt: number;
}

/** The feeds that may be polled now, the one waiting longest first, and the accounts that wait for a person. */
async function sortFeeds({ feedStates, accounts, clock, observer }: DrainDeps): Promise<SortedFeeds> {
  const onUnreadable = (error: ShapeError) => {
    observer.count(metrics.needsAttention, 1);
    observer.error('a stored row cannot be read: what it is about is not polled', { reason: error.message });
  };
  const [states, known] = await Promise.all([feedStates.list(onUnreadable), accounts.list(onUnreadable)]);
  const now = clock.now();
  const byName = new Map(known.map((account) => [account.name, account]));
  const due: DueFeed[] = [];
  const paused: PausedFeed[] = [];
  for (const state of states) {
    const { partnerAccount, pausedUntil = 0, fault = 'the feed rests' } = state;
    const account = byName.get(partnerAccount);
    if (account?.generation !== state.generation || stopOf(account)) continue;
    const pause = pauseOf(account, now);
    if (pause)
      paused.push({ partnerAccount, kind: 'partner-account', reason: pause.reason, untilMs: pause.until });
    else if (pausedUntil > now)
      paused.push({ partnerAccount, kind: 'feed', reason: fault, untilMs: pausedUntil });
    else due.push({ state, connectedAt: Date.parse(account.connectedAt) });
  }
  for (const account of withoutFeed(known, states, now)) {
    observer.count(metrics.needsAttention, 1);
    observer.error('a partner account has no feed of its generation, and is not polled: connect it again', {
      partnerAccount: account.name,
      generation: account.generation,
    });
  }
  const stopped = known.filter(waitsForPerson).map(({ name }) => name);
  return { due, stopped, paused };
}

/** Longer than the two lists, of feeds and of accounts, may be apart: so it is no `connect` in between. */
const feedMissingMs = 60_000;

/** Accounts that should be polled, and of whose generation there is no feed. */
function withoutFeed(
  accounts: readonly PartnerAccount[],
  states: readonly FeedState[],
  nowMs: number,
): PartnerAccount[] {
  const registered = new Set(
    states.map(({ partnerAccount, generation }) => `${partnerAccount}/${generation}`),
  );
  return accounts.filter(
    (account) =>
      !stopOf(account) &&
      !registered.has(`${account.name}/${account.generation}`) &&
      nowMs - Date.parse(account.connectedAt) >= feedMissingMs,
  );
}

interface SortedFeeds {
  readonly due: readonly DueFeed[];
  readonly stopped: readonly string[];
  readonly paused: readonly PausedFeed[];
}

/** Disconnected is as somebody wanted it. */
function waitsForPerson(account: PartnerAccount): boolean {
  const stop = stopOf(account);
  return stop !== undefined && stop.reason !== 'disconnected';
}

const feedNamed = (name: string): Feed | undefined => feeds.find((feed) => feed.name === name);
