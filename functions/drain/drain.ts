/**
 * The drain: asks every partner account's feed for changes and puts the adverts named into the queue.
 *
 * A page goes `pollFeed` (poll-feed.ts) → queue → cursor. See docs/contribute/architecture.md.
 */

import { defaultFeeds, type Feed, type FeedName, feeds } from '../../shared/contract/feeds.ts';
import { metrics } from '../../shared/contract/names.ts';
import { forEachConcurrent } from '../../shared/domain/for-each-concurrent.ts';
import { knownSuccess } from '../../shared/domain/last-success.ts';
import type { FeedState } from '../../shared/ports/feed-states.ts';
import { type DueFeed, type SortedFeeds, sortFeeds } from './due-feeds.ts';
import { type PollDeps, type PollReport, pollFeed } from './poll-feed.ts';
import { type ReleaseDeps, releaseParked } from './release.ts';

export interface DrainDeps extends PollDeps, Omit<ReleaseDeps, 'settings'> {
  readonly settings: PollDeps['settings'] & {
    /** Seconds between two polls of a feed. */
    readonly pollSeconds: number;
    /** Which feeds are polled. Default: adverts. */
    readonly feeds?: readonly FeedName[] | undefined;
    /** How many partner accounts' adverts are read side by side; of another feed half as many. */
    readonly feedsAtOnce: number;
  };
}

/** `paused` feeds were not polled in this round. */
export interface DrainReport extends Pick<SortedFeeds, 'stopped' | 'paused'> {
  readonly polls: readonly ({ readonly partnerAccount: string; readonly feed: string } & PollReport)[];
  /** Seconds since the feed that waited longest was read to its end; stopped, paused and unconnected ones apart. */
  readonly lagSeconds: number;
}

export interface RoundOptions {
  /** Ms since 1970: no page is asked for after it. */
  readonly deadlineMs: number;
  /** Ends the round after the page in hand. */
  readonly signal?: AbortSignal;
  /** Polls this partner account alone. Default: all. */
  readonly only?: string;
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
    const { due, stopped, paused } = await sortFeeds(deps, options.only);
    const polls = new Map<FeedState, DrainReport['polls'][number]>();
    const now = clock.now();
    const lastSuccess = new Map(
      due.map(({ state, begunAt }) => [state, knownSuccess(state.lastSuccess, now) ?? begunAt]),
    );
    const pollInTurn = (feed: Feed, turns: DueFeed[]) => async (turn: DueFeed) => {
      const { state } = turn;
      const { partnerAccount } = state;
      const before = polls.get(state);
      const report = await pollFeed(deps, feed, partnerAccount, {
        ...options,
        ...(before ? {} : { listed: state }),
      });
      if (report.end === 'up-to-date') lastSuccess.set(state, clock.now());
      if (report.end === 'fault' && report.fault.code === 'operator-paused') lastSuccess.delete(state);
      polls.set(state, { partnerAccount, feed: feed.name, ...added(report, before) });
      // To the end of the line, from where it is taken in its turn.
      if (report.end === 'turn-over') turns.push(turn);
    };
    const polled = settings.feeds ?? defaultFeeds;
    // Each feed has its own places, so that none waits for another one's answers. Half as many for an optional one: the adverts
    // find a connection free even while all of its requests hang.
    await Promise.all(
      polled.map((name) => {
        const turns = due.filter(({ state }) => state.feed === name);
        const atOnce = settings.feedsAtOnce / (feeds[name].isOptional ? 2 : 1);
        return forEachConcurrent(turns, Math.ceil(atOnce), pollInTurn(feeds[name], turns));
      }),
    );
    const ended = clock.now();
    const lags = polled.map((name) => {
      const own = [...lastSuccess].filter(([{ feed }]) => feed === name);
      return [name, Math.max(0, ...own.map(([, at]) => ended - at)) / 1000] as const;
    });
    const lagSeconds = Math.max(...lags.map(([, seconds]) => seconds));
    const report = { polls: [...polls.values()], stopped, paused, lagSeconds };
    if (options.only !== undefined) return report;
    for (const [name, seconds] of lags) deps.observer.count(metrics.feedLagSeconds, seconds, name);
    deps.observer.count(metrics.stoppedPartnerAccounts, stopped.length);
    return report;
  }

  async function run({ deadlineMs, nextRunMs }: RunOptions): Promise<DrainReport> {
    const rounds = [];
    for (let due = clock.now(); ; ) {
      const outcome = round({ deadlineMs });
      // Reported at the end: a round that fails does not keep later ones from beginning.
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
