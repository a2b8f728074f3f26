/** The drain reads the change feed of every partner account and puts the listed adverts into the queue. */
import type { PollAnswer } from '../../shared/contract/invocations.ts';
import { metrics } from '../../shared/contract/names.ts';
import { type Deadline, toInstant } from '../../shared/domain/clock.ts';
import { limitedTo } from '../../shared/domain/concurrency.ts';
import { heldFault, holdOf } from '../../shared/domain/holds.ts';
import type { DeadLetters } from '../../shared/state/dead-letters.ts';
import type { FeedKey } from '../../shared/state/feed-states.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';
import type { BackfillKey } from '../../shared/state/progress.ts';
import type { PollDeps } from './accept-page.ts';
import { type DueFeed, lagStartOf, type SortedFeeds, sortFeeds } from './due-feeds.ts';
import { createStandstillDetector } from './poll-fault.ts';
import { isOfBridge, type PollOptions, type PollReport, pollFeed, readAheadOf } from './poll-feed.ts';
import { createRelease, type ReleaseDeps } from './release.ts';

export interface DrainDeps extends PollDeps, Pick<ReleaseDeps, 'aside' | 'budgetStore'> {
  readonly queue: PollDeps['queue'] & ReleaseDeps['queue'];
  readonly partnerAccounts: Pick<PartnerAccounts, 'list' | 'read'>;
  readonly deadLetters: Pick<DeadLetters, 'count' | 'sendMalformed'>;
  readonly settings: PollDeps['settings'] & {
    readonly pollSeconds: number;
    /** How many feeds are read concurrently. Default 10, as many as there are connections. */
    readonly feedsAtOnce?: number;
  };
  /** Called after an adverts feed was read to its end. Default: there is no daily audit. */
  readonly sendAuditShare?: (key: BackfillKey) => Promise<void>;
}

/** Result of one round. `paused` feeds were not polled in it. */
export interface DrainReport extends Pick<SortedFeeds, 'stopped' | 'paused'> {
  readonly polls: readonly ({ readonly partnerAccount: string; readonly feed: string } & PollReport)[];
  /** Seconds since the feed that waited longest was read to its end; stopped, paused and unconnected feeds do not count. */
  readonly lagSeconds: number;
}

export interface RoundOptions extends Deadline {
  /** Until this moment, a feed that has more than the queue takes is read on as the queue empties. Default: it waits. */
  readonly nextRoundMs?: number;
  readonly signal?: AbortSignal;
  /** Polls only this partner account. Default: all. */
  readonly only?: string;
  /** Polls feeds that failed as often as the others, unless the service asked for a wait. Default: less and less often. */
  readonly insists?: boolean;
}

export interface RunOptions extends RoundOptions {
  /** Approximate start of the next run; until then this run polls the feeds every `pollSeconds`. */
  readonly nextRunMs: number;
}

/** The wait before the next look at a feed with a backlog: the time to fetch a third of what is read ahead. */
const lookMsOf = (settings: DrainDeps['settings']): number =>
  Math.max(1_000, (1_000 * readAheadOf(settings)) / settings.maxRequestsPerSecond / 3);
/** A thousand dead letters cost about 100 read units. */
const maxCounted = 1_000;

/**
 * Polls the feeds: `round` polls every feed once; `run` starts a round every `pollSeconds` until the next run. A round
 * does not wait for the previous one to end: a feed that hangs there is still leased, and all other feeds are polled on
 * time.
 */
export function createDrain(deps: DrainDeps) {
  const { clock, settings } = deps;
  const backlogLookMs = lookMsOf(settings);
  const release = createRelease(deps);

  /** Feeds that have more than the queue takes now. */
  const behind = new Set<string>();
  const nameOf = ({ partnerAccount, feed }: FeedKey): string => `${partnerAccount}/${feed}`;

  /** Costs less than to take a lease in vain, and tells when the pause ends also a process that has not met it. */
  async function pauseOfBridge(): Promise<PollReport | undefined> {
    const bridge = await deps.budgetStore.read().catch(() => undefined);
    const hold = holdOf(bridge, undefined, clock.now());
    return hold && { pages: 0, listed: 0, end: 'fault', fault: heldFault(hold, undefined, clock.now()) };
  }

  /** Polls a feed in turns with others, until it is at its end or the next round takes over. */
  async function pollInTurns(
    { feed, state }: DueFeed,
    inTurn: ReturnType<typeof limitedTo>,
    options: RoundOptions,
  ) {
    const { partnerAccount } = state;
    const { nextRoundMs = 0, signal } = options;
    const name = nameOf(state);
    const standstillAfter = createStandstillDetector();
    let report: PollReport | undefined;
    let waitMs = 0;
    let listed: Pick<PollOptions, 'listed'> = { listed: state };
    do {
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      const before = report;
      const readAhead = readAheadOf(settings) / Math.max(1, behind.size);
      report = await inTurn(async () => {
        const pollMs = options.insists ? {} : { pollMs: settings.pollSeconds * 1000 };
        const turn = { ...options, ...listed, ...pollMs, standstillAfter, readAhead };
        const pause = before?.end === 'fault' ? await pauseOfBridge() : undefined;
        const next = pause ?? (await pollFeed(deps, feed, partnerAccount, turn));
        // At this moment, few changes are on their way that the audit could take for a difference.
        if (next.end === 'up-to-date' && feed.name === 'adverts') await deps.sendAuditShare?.(state);
        const { pages = 0, listed: listedBefore = 0 } = before ?? {};
        return { ...next, pages: next.pages + pages, listed: next.listed + listedBefore };
      });
      if (report.end === 'backlog') behind.add(name);
      else behind.delete(name);
      // Its row is the one that was listed only until this run has polled the feed.
      if (report.end === 'held') listed = { listed: state };
      else if (report.end !== 'fault' || report.pages > 0) listed = {};
      waitMs = report.end === 'turn-over' ? 0 : untilNextLook(report, backlogLookMs);
    } while (report.end === 'turn-over' || clock.now() + waitMs < nextRoundMs);
    return { partnerAccount, feed: feed.name, ...report };
  }

  async function round(options: RoundOptions): Promise<DrainReport> {
    const { due, stopped, paused } = await sortFeeds(deps, options);
    const began = clock.now();
    const names = new Set(due.map(({ state }) => nameOf(state)));
    // Whoever is not polled has no share of what is read ahead.
    if (options.only === undefined) for (const name of behind) if (!names.has(name)) behind.delete(name);
    const inTurn = limitedTo(settings.feedsAtOnce ?? 10);
    const lags = paused.flatMap(({ lagsSince = [] }) => lagsSince);
    const polls = await Promise.all(
      due.map(async (one) => {
        const poll = await pollInTurns(one, inTurn, options);
        const isUpToDate = poll.end === 'up-to-date';
        const isPaused = poll.end === 'fault' && poll.fault.code === 'operator-paused';
        const from = isUpToDate ? clock.now() : lagStartOf(one, began);
        if (!isPaused) lags.push(from);
        return poll;
      }),
    );
    const ended = clock.now();
    const lagSeconds = Math.max(0, ...lags.map((from) => ended - from)) / 1000;
    const report = { polls, stopped, paused, lagSeconds };
    if (options.only !== undefined) return report;
    deps.observer.count(metrics.feedLagSeconds, lagSeconds);
    deps.observer.count(metrics.stoppedPartnerAccounts, stopped.length);
    return report;
  }

  async function run({ deadlineMs, nextRunMs }: RunOptions): Promise<DrainReport> {
    const rounds = [];
    // Concurrently, so that due feeds do not wait while many messages are put back.
    const released = release(Math.min(deadlineMs, nextRunMs));
    for (let due = clock.now(); ; ) {
      due += settings.pollSeconds * 1000;
      const outcome = round({ deadlineMs, nextRoundMs: Math.min(due, nextRunMs) });
      // A failed round does not stop later rounds; its error is reported at the end.
      outcome.catch(() => undefined);
      rounds.push(outcome);
      if (due >= nextRunMs || due >= deadlineMs) break;
      await clock.sleep(due - clock.now());
    }
    // Counted once a run, because an alarm looks once a minute.
    deps.observer.count(metrics.deadLetters, await deps.deadLetters.count(maxCounted).catch(() => 0));
    await Promise.allSettled([...rounds, released]);
    return (await Promise.all(rounds)).at(-1) as DrainReport;
  }

  return { round, run, release };
}

/** After a fault that names no time: the bridge's row tells how long the pause is. */
const pausedLookMs = 1_000;
/**
 * There may be more to read: the queue is full, the run before has the feed and ends soon, or the whole bridge is paused:
 * a service with a limit a minute may pause it whenever a round begins.
 */
function untilNextLook(report: PollReport, backlogLookMs: number): number {
  if (report.end === 'backlog' || report.end === 'held') return backlogLookMs;
  if (report.end !== 'fault' || !isOfBridge(report.fault)) return Number.POSITIVE_INFINITY;
  return report.fault.retryAfterMs ?? pausedLookMs;
}

export type Drain = ReturnType<typeof createDrain>;

/** The result of a round of polls, in the form returned to the caller. */
export const pollAnswerOf = ({ polls, stopped, paused }: DrainReport): PollAnswer => ({
  polls: polls.map((poll) => {
    const { partnerAccount, feed, end, pages, listed } = poll;
    return {
      partnerAccount,
      feed,
      end,
      pages,
      listed,
      ...(poll.end === 'held' && { by: poll.by }),
      ...(poll.end === 'fault' && { fault: poll.fault.code, reason: poll.fault.message }),
    };
  }),
  notPolled: [
    ...stopped.map((partnerAccount) => ({
      partnerAccount,
      reason: 'stopped: its user has to authorize again',
    })),
    ...paused.map(({ partnerAccount, reason, untilMs }) => ({
      partnerAccount,
      reason,
      ...(Number.isFinite(untilMs) && { until: toInstant(untilMs) }),
    })),
  ],
});
