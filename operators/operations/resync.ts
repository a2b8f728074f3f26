/** Reads a feed again from a given time, in the same way as the drain. */
import type { PollDeps } from '../../functions/drain/accept-page.ts';
import { pollFeed } from '../../functions/drain/poll-feed.ts';
import { restartOf } from '../../functions/drain/read-page.ts';
import { advertsFeed } from '../../shared/contract/messages.ts';
import { earlierOf } from '../../shared/domain/clock.ts';
import type { FeedState } from '../../shared/state/feed-states.ts';
import { type Bridge, silentObserver } from './bridge.ts';
import { failed } from './errors.ts';
import type { Resynced } from './printed.ts';

export interface ResyncOptions {
  readonly signal: AbortSignal;
  /** Called at each step. @param waitsFor what delays the next page */
  readonly onProgress: (listed: number, waitsFor: 'feed' | 'queue' | undefined) => void;
}

/** The bridge may be reading right now: its turn ends soon, and a dead process's lease after a minute and a half. */
const heldLookMs = 500;
const backlogLookMs = 2_000;
const pollMs = 10 * 60_000;

/**
 * Reads the feed of a partner account again from `requested` (ISO 8601 with time zone), or from the start of its unread
 * part if that is earlier: otherwise changes that were still unread before `requested` would be lost.
 *
 * @throws {BridgeFault} the service's answer; nothing has changed if it refuses the time
 * @throws {CommandError} when the feed is unknown
 */
export async function resync(
  bridge: Bridge,
  partnerAccount: string,
  requested: string,
  { signal, onProgress }: ResyncOptions,
): Promise<Resynced> {
  const { clock, feedStates } = bridge;
  const poll = await pollDepsOf(bridge, 'resync');
  const overlapMs = poll.settings.overlapSeconds * 1000;
  const beginOf = (state: FeedState) => earlierOf(restartOf(state, overlapMs, clock.now()), requested);
  async function read(): Promise<FeedState> {
    const state = (await feedStates.ofAccount(partnerAccount)).find(({ feed }) => feed === advertsFeed.name);
    if (state) return state;
    throw failed('no-feed', { name: partnerAccount });
  }
  const before = await read();
  const { generation } = before;
  const query = { feed: advertsFeed, since: beginOf(before), limit: 1 };
  await poll.reader.readPage(partnerAccount, query, { generation, deadlineMs: clock.now() + pollMs });
  const { since, counts } = (await feedStates.readAgain(before, beginOf)) ?? before;
  for (;;) {
    const state = await read();
    const listed = (state.counts?.listed ?? 0) - (counts?.listed ?? 0);
    // Whoever has read it: a concurrent run of the drain reads on, too.
    if (!state.resyncing || signal.aborted) return { since, listed, finished: !state.resyncing };
    const deadlineMs = clock.now() + pollMs;
    const report = await pollFeed(poll, advertsFeed, partnerAccount, { deadlineMs, signal });
    if (report.end === 'fault') throw report.fault;
    const isHeld = report.end === 'held' || report.end === 'lease-lost';
    onProgress(listed + report.listed, isHeld ? 'feed' : report.end === 'backlog' ? 'queue' : undefined);
    if (isHeld) await clock.sleep(heldLookMs, signal);
    if (report.end === 'backlog') await clock.sleep(backlogLookMs, signal);
  }
}

/** For reading a feed as the drain does. @param command begins the name of the lease's holder */
export async function pollDepsOf(bridge: Bridge, command: string) {
  const { overlapSeconds, maxRequestsPerSecond } = await bridge.settings();
  return {
    ...bridge,
    reader: await bridge.service(),
    observer: silentObserver,
    holder: `${command} ${bridge.newId()}`,
    settings: { overlapSeconds, maxRequestsPerSecond, maxWaiting: 10_000 },
  } satisfies PollDeps;
}
