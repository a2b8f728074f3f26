/**
 * Tells differences that stand from those that a live change explains. Why this is exact: docs/decisions/0021-audit.md.
 */
import { idsOf } from '../../functions/drain/page-ids.ts';
import type { PollDeps } from '../../functions/drain/poll-feed.ts';
import { readPageOrStartOver } from '../../functions/drain/read-page.ts';
import { advertsFeed } from '../../shared/contract/feeds.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import { forEachConcurrent } from '../../shared/domain/for-each-concurrent.ts';
import type { BackfillKey } from '../../shared/ports/backfills.ts';
import { unreadSince } from '../unread.ts';
import { isEqual, isUnchanged, type Look, type LookDeps, lookAt } from './looks.ts';
import { sleepFor } from './paced-requests.ts';

export interface ConfirmDeps extends LookDeps {
  readonly poll: Pick<PollDeps, 'feedStates' | 'reader' | 'clock' | 'settings'>;
  readonly isSettled: IsSettled;
  /** Whether something takes messages from the queue now. */
  readonly isDelivering: () => boolean;
  readonly signal: AbortSignal;
  /** Told how long the feed needs to list every change that a look may have seen. */
  readonly onWaiting?: (leftMs: number) => void;
}

/**
 * Whether no message of the advert waits, neither in the queue nor parked. Where the queue cannot be looked at (SQS), only
 * an empty one says so.
 */
export type IsSettled = (partnerAccount: string, advertId: string) => Promise<boolean>;

export interface Confirmed {
  readonly equal: number;
  /** Differences that no change explains. */
  readonly standing: readonly Look[];
  /** Differences that changes may explain which are not settled yet. */
  readonly undecided: readonly Look[];
}

export const looksAtOnce = 10;
/** An advert that has changed before each of so many looks changes all the time. */
const maxRounds = 4;
/** Messages that are tried again wait for up to five minutes. */
const settledMs = 10 * 60_000;
const settledLookMs = 2_000;

/**
 * @param candidates looks that found a difference
 * @param since where the unread part of the feed began before the first of these looks
 * @throws {PartnerError} what the service answered
 */
export async function confirm(
  deps: ConfirmDeps,
  key: BackfillKey,
  candidates: readonly Look[],
  since: string,
): Promise<Confirmed> {
  const { clock, settings } = deps.poll;
  let equal = 0;
  const standing: Look[] = [];
  let open = candidates;
  let from = since;
  for (let round = 1; open.length > 0; round += 1) {
    // By then the feed lists every change that a look may have seen.
    // Planted fault: audit-does-not-wait
    await sleepFor(clock, settings.overlapSeconds * 1000, deps.signal, deps.onWaiting);
    // Planted fault: audit-before-settled
    const waiting = await untilSettled(deps, key.partnerAccount, open);
    // Planted fault: audit-without-feed
    const changed = await changedSince(deps, key, from);
    const unread = await unreadSince(deps.poll, key.partnerAccount);
    const again: Look[] = [];
    await forEachConcurrent(open, looksAtOnce, async (before) => {
      deps.signal.throwIfAborted();
      const now = await lookAt(deps, key, before.advertId, before.actual !== undefined);
      if (now && isEqual(now)) equal += 1;
      else if (now && isUnchanged(before, now) && !changed.has(now.advertId) && !waiting.has(now.advertId))
        standing.push(now);
      else again.push(now ?? before);
    });
    // Where the feed was not read since, another round would find the same.
    if (unread === from || round === maxRounds) return { equal, standing, undecided: again };
    open = again;
    from = unread;
  }
  return { equal, standing, undecided: [] };
}

/** @returns the adverts of which messages wait to the end */
async function untilSettled(
  { poll, isSettled, isDelivering, signal }: ConfirmDeps,
  partnerAccount: string,
  looks: readonly Look[],
): Promise<ReadonlySet<string>> {
  const waiting = new Set(looks.map(({ advertId }) => advertId));
  const untilMs = poll.clock.now() + settledMs;
  for (;;) {
    for (const advertId of waiting) {
      signal.throwIfAborted();
      if (await isSettled(partnerAccount, advertId)) waiting.delete(advertId);
    }
    if (waiting.size === 0 || !isDelivering() || poll.clock.now() >= untilMs) return waiting;
    await sleepFor(poll.clock, settledLookMs, signal);
  }
}

/** Reads the feed beside the bridge, with a cursor of its own. @returns the adverts that it lists */
async function changedSince(
  { poll, requests }: ConfirmDeps,
  { partnerAccount, generation }: BackfillKey,
  since: string,
): Promise<ReadonlySet<string>> {
  const changed = new Set<string>();
  const own = { partnerAccount, generation, feed: advertsFeed.name, since, resets: 0, resetsInARow: 0 };
  for (let cursor: string | undefined; ; ) {
    const state = cursor === undefined ? own : { ...own, cursor };
    const { page } = await requests((deadlineMs) =>
      readPageOrStartOver(poll.reader, advertsFeed, state, {
        ...{ deadlineMs, generation, overlapMs: 0, nowMs: poll.clock.now() },
      }),
    );
    for (const id of idsOf(page.data).ids) changed.add(id);
    if (!page.hasMore) return changed;
    if (page.nextCursor === cursor)
      throw new PartnerError('contract-broken', 'the feed has more, and gave the same cursor again');
    cursor = page.nextCursor;
  }
}
