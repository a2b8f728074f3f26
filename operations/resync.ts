/** Reads a feed again from a given time, in the same way as the drain. */
import type { PollDeps } from '../functions/drain/accept-page.ts';
import { pollFeed } from '../functions/drain/poll-feed.ts';
import { unreadSince } from '../functions/drain/read-page.ts';
import { advertsFeed } from '../shared/contract/messages.ts';
import { earlierOf } from '../shared/domain/clock.ts';
import { type Bridge, silentObserver } from './bridge.ts';
import { CommandError } from './errors.ts';

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
 * part if that is earlier.
 *
 * @returns where reading began, and whether it came to the feed's end
 * @throws {BridgeFault} the service's answer; nothing has changed unless a page was accepted before
 * @throws {CommandError} when the feed is unknown
 */
export async function resync(
  bridge: Bridge,
  partnerAccount: string,
  requested: string,
  { signal, onProgress }: ResyncOptions,
) {
  const { clock } = bridge;
  const unknownFeed = () => new CommandError(`the feed of ${partnerAccount} is not known: connect it again`);
  const poll = await pollDepsOf(bridge, 'resync');
  // The first page replaces the cursor: without this, changes that were still unread before `requested` would be
  // lost.
  const unread = await unreadSince(poll, partnerAccount);
  if (unread === undefined) throw unknownFeed();
  const since = earlierOf(unread, requested);
  let [listed, pages] = [0, 0];
  while (!signal.aborted) {
    // After its first page, a resync continues from that page's cursor.
    const report = await pollFeed(poll, advertsFeed, partnerAccount, {
      deadlineMs: clock.now() + pollMs,
      signal,
      resync: pages > 0 ? {} : { since },
    });
    listed += report.listed;
    pages += report.pages;
    if (report.end === 'up-to-date') return { since, listed, finished: true };
    if (report.end === 'fault') throw report.fault;
    if (report.end === 'unknown-feed') throw unknownFeed();
    const isHeld = report.end === 'held' || report.end === 'lease-lost';
    onProgress(listed, isHeld ? 'feed' : report.end === 'backlog' ? 'queue' : undefined);
    if (isHeld) await clock.sleep(heldLookMs, signal);
    if (report.end === 'backlog') await clock.sleep(backlogLookMs, signal);
  }
  return { since, listed, finished: false };
}

/** For reading a feed as the drain does. @param command begins the name of the lease's holder */
export async function pollDepsOf(bridge: Bridge, command: string) {
  const { overlapSeconds, maxRequestsPerSecond } = await bridge.settings();
  return {
    ...bridge,
    reader: await bridge.service(),
    observer: silentObserver,
    holder: `${command} ${bridge.newId()}`,
    settings: { overlapSeconds, maxRequestsPerSecond, leaseMs: 90_000, maxWaiting: 10_000 },
  } satisfies PollDeps;
}
