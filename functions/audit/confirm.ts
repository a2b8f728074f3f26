/**
 * Separates real differences from those that a recent change explains. docs/decisions/0021-audit.md shows why this is
 * exact.
 */
import { advertsFeed } from '../../shared/contract/feeds.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import { forEachConcurrent } from '../../shared/domain/for-each-concurrent.ts';
import type { Look, OpenLooks } from '../../shared/ports/audits.ts';
import type { BackfillKey } from '../../shared/ports/backfills.ts';
import type { WaitingMessages } from '../../shared/ports/parked-messages.ts';
import { idsOf } from '../drain/page-ids.ts';
import type { PollDeps } from '../drain/poll-feed.ts';
import { readPageOrStartOver } from '../drain/read-page.ts';
import { type UnreadDeps, unreadSince } from '../drain/unread-since.ts';
import { isEqual, isUnchanged, type LookDeps, lookAt } from './looks.ts';
import { sleepFor } from './paced-requests.ts';

export interface ConfirmDeps extends LookDeps {
  readonly poll: UnreadDeps & Pick<PollDeps, 'reader'>;
  readonly isSettled: IsSettled;
  /** Whether waiting for messages makes sense: a consumer is taking them from the queue, and there is time. */
  readonly isDelivering: () => boolean;
  readonly signal: AbortSignal;
}

/**
 * Whether no message of the advert waits, in the queue or parked. If the queue cannot be inspected (SQS), this is true
 * only for an empty queue.
 */
export type IsSettled = (partnerAccount: string, advertId: string) => Promise<boolean>;

/** For bridges whose queue can be inspected. */
export const settledBy =
  (messages: Pick<WaitingMessages, 'ofAdvert'>): IsSettled =>
  async (partnerAccount, advertId) =>
    (await messages.ofAdvert(partnerAccount, advertId)).length === 0;

export interface Confirmed {
  readonly equal: number;
  /** Differences that no recent change explains. */
  readonly standing: readonly Look[];
  /** Differences that may come from changes whose messages are still unsettled, although the audit waited. */
  readonly undecided: readonly Look[];
  /** Adverts to look at once more. */
  readonly open?: OpenLooks;
}

export const looksAtOnce = 10;
/** After this many rounds an advert that differs each time is undecided: it changes all the time. */
const maxRounds = 4;
/** Longer than the delay of a retried message, which is up to five minutes. */
const settledMs = 10 * 60_000;
const settledLookMs = 2_000;

/** The moment from which the feed lists every change that the looks may have seen, ms since 1970. */
// Planted fault: audit-does-not-wait
export const dueAt = ({ lookedAt }: OpenLooks, { overlapSeconds }: UnreadDeps['settings']): number =>
  lookedAt + overlapSeconds * 1000;

/**
 * Looks again at adverts that differ. Call it no earlier than {@link dueAt}.
 *
 * @throws {PartnerError} a fault of the service
 */
export async function confirm(deps: ConfirmDeps, key: BackfillKey, before: OpenLooks): Promise<Confirmed> {
  // Planted fault: audit-before-settled
  const waiting = await untilSettled(deps, key.partnerAccount, before.looks);
  // Planted fault: audit-without-feed
  const changed = await changedSince(deps, key, before.since);
  const since = await unreadSince(deps.poll, key.partnerAccount);
  let equal = 0;
  const standing: Look[] = [];
  const looks: Look[] = [];
  await forEachConcurrent(before.looks, looksAtOnce, async (look) => {
    deps.signal.throwIfAborted();
    const now = await lookAt(deps, key, look.advertId, look.actual !== undefined);
    if (now && isEqual(now)) equal += 1;
    else if (now && isUnchanged(look, now) && !changed.has(now.advertId) && !waiting.has(now.advertId))
      standing.push(now);
    else looks.push(now ?? look);
  });
  const rounds = before.rounds + 1;
  // If the drain has not read the feed since, another round would have the same result.
  if (since === undefined || since === before.since || rounds === maxRounds)
    return { equal, standing, undecided: looks };
  const lookedAt = deps.poll.clock.now();
  return {
    ...{ equal, standing, undecided: [] },
    ...(looks.length > 0 && { open: { looks, lookedAt, since, rounds } }),
  };
}

/** @returns the adverts whose messages still wait at the end */
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

/** Reads the feed independently of the drain, with its own cursor. @returns the listed adverts */
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
