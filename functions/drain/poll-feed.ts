import { type Feed, pageLimit } from '../../shared/contract/messages.ts';
import type { Deadline } from '../../shared/domain/clock.ts';
import { asBridgeFault, type BridgeFault } from '../../shared/domain/faults.ts';
import type { FeedState, NoLease, PollEnd } from '../../shared/state/feed-states.ts';
import { acceptPage, feedLeaseMs, type PollDeps } from './accept-page.ts';
import { createStandstillDetector, feedProblemOf, type StandstillDetector } from './poll-fault.ts';
import { readPageOrStartOver } from './read-page.ts';

export type PollReport = { readonly pages: number; readonly listed: number } & (
  | {
      readonly end:
        | 'up-to-date'
        | 'out-of-time'
        /** Too many messages of the partner account wait in the queue. */
        | 'backlog'
        | 'lease-lost'
        /** There are more pages, but the other feeds come first. */
        | 'turn-over';
    }
  /** Another run holds the lease, or has polled the feed after this run listed it. */
  | NoLease
  /** Also because of a hold of the account or the bridge. */
  | { readonly end: 'fault'; readonly fault: BridgeFault }
);

export interface PollOptions extends Deadline {
  /** Ends the poll after the current page. */
  readonly signal?: AbortSignal;
  /** The feed's state when this run listed it. If another run has polled the feed after that, this poll is skipped. */
  readonly listed?: Pick<FeedState, 'lastPolled'>;
  /** How many messages of the account may wait in the queue; the other changes wait in the feed. Default: `readAheadOf`. */
  readonly readAhead?: number;
  /** The time between two polls: after each poll that fails again, the feed waits longer. Default: only if asked to */
  readonly pollMs?: number;
  /** The detector of the round, whose earlier turns have read the feed too. Default: a new one. */
  readonly standstillAfter?: StandstillDetector;
}

/** Limited, so that an account with many pages does not delay the others. */
const maxPagesPerTurn = 10;
/** Time limit for one page, to which the time for `slotsBefore` requests in the rate budget is added. */
const pageMs = 20_000;
const slotsBefore = 30;
/** The deadline of a request lies so long before the end of the lease that no answer arrives after it. */
const leaseMarginMs = 10_000;

/**
 * The feed is the best buffer: what was read ahead of it waits in front of the changes of other accounts. Three times
 * the interval at which the drain looks whether the queue has room again, so that it does not run empty.
 */
// Rule: read-ahead-by-30-s
const readAheadSeconds = 30;

/** Number of messages of an account that may wait in the queue before the others wait in the feed. */
export const readAheadOf = ({ maxWaiting, maxRequestsPerSecond }: PollDeps['settings']): number =>
  Math.min(maxWaiting, readAheadSeconds * maxRequestsPerSecond);

/**
 * Number of entries to ask for, 0 while too many wait. Messages that wait for a retry must not stop their account's
 * feed, so the first page of a round is read however many wait.
 */
function pageSize(readAhead: number, waiting: number, isFirst: boolean): number {
  const least = Math.ceil(readAhead / 6);
  const room = Math.floor(readAhead - waiting);
  if (room < least && !isFirst) return 0;
  return Math.min(pageLimit, Math.max(room, least));
}

/** Whether the whole bridge has to wait: this feed has no part in it. */
export const isOfBridge = ({ code }: BridgeFault): boolean => code === 'paused' || code === 'rate-limited';

/**
 * Reads one feed of one partner account to its end, page by page: first the queue accepts the IDs of a page, then the
 * cursor is stored. If anything fails in between, the next poll reads the same page again.
 */
export async function pollFeed(
  deps: PollDeps,
  feed: Feed,
  partnerAccount: string,
  options: PollOptions,
): Promise<PollReport> {
  const { feedStates, reader, queue, clock, holder, settings } = deps;
  const { listed, standstillAfter = createStandstillDetector(), readAhead = readAheadOf(settings) } = options;
  const overlapMs = settings.overlapSeconds * 1000;
  const slotsMs = (slotsBefore * 1000) / settings.maxRequestsPerSecond;
  const report = { pages: 0, listed: 0 };
  const isOutOfTime = () => clock.now() >= options.deadlineMs || options.signal?.aborted === true;
  // Checked before taking the lease: the lease would count as the feed's turn, and the feed would wait for another
  // round without having been polled.
  if (isOutOfTime()) return { ...report, end: 'out-of-time' };
  const acquired = await feedStates.acquire(
    { partnerAccount, feed: feed.name },
    { holder, nowMs: clock.now(), leaseMs: settings.leaseMs ?? feedLeaseMs, listed },
  );
  if ('end' in acquired) return { ...report, ...acquired };

  let lease = acquired;
  let pollEnd: PollEnd = {};
  try {
    for (;;) {
      if (isOutOfTime()) return { ...report, end: 'out-of-time' };
      if (report.pages >= maxPagesPerTurn) return { ...report, end: 'turn-over' };
      const waiting = await queue.depth(partnerAccount);
      const isFirst = report.pages === 0 && listed !== undefined;
      const limit = waiting > settings.maxWaiting ? 0 : pageSize(readAhead, waiting, isFirst);
      if (limit === 0) return { ...report, end: 'backlog' };
      const nowMs = clock.now();
      const { state } = lease;
      const leasedUntil = state.lease?.until ?? 0;
      const read = await readPageOrStartOver(reader, feed, state, {
        deadlineMs: Math.min(options.deadlineMs, leasedUntil - leaseMarginMs, nowMs + pageMs + slotsMs),
        generation: state.generation,
        overlapMs,
        nowMs,
        limit,
      });
      const accepted = await acceptPage(deps, { feed, lease, standstillAfter }, read);
      if (!accepted) return { ...report, end: 'lease-lost' };
      lease = accepted.lease;
      report.pages += 1;
      report.listed += read.page.data.length;
      if (accepted.standstill) throw accepted.standstill;
      if (!read.page.hasMore) return { ...report, end: 'up-to-date' };
    }
  } catch (error) {
    const fault = asBridgeFault(error);
    pollEnd = { problem: feedProblemOf(deps, fault, { before: lease.state, pollMs: options.pollMs }) };
    // The bridge is paused, or the budget had no slot in time: the feed keeps its place in the order.
    if ((isOfBridge(fault) || fault.code === 'operator-paused') && report.pages === 0 && listed)
      pollEnd = { ...pollEnd, lastPolled: listed.lastPolled };
    return { ...report, end: 'fault', fault };
  } finally {
    // If the release fails, the lease expires anyway. The result of the poll matters more than this error.
    await feedStates.release(lease, pollEnd, clock.now()).catch(() => undefined);
  }
}
