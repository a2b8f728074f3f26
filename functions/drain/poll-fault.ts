import type { Clock } from '../../shared/domain/clock.ts';
import { BridgeFault, isDeferred } from '../../shared/domain/faults.ts';
import { isOfService } from '../../shared/partner-api/transport.ts';
import { needsAttention, type Observer } from '../../shared/ports/observer.ts';
import type { FeedProblem, FeedState } from '../../shared/state/feed-states.ts';
import type { PageIds, PageRead } from './read-page.ts';

const stuckWait = { forMs: 5 * 60_000, why: 'stuck' } as const;
/** The longest wait: within it after the end of an outage, every feed is read again. */
const longestWaitMs = 5 * 60_000;

type Wait = NonNullable<FeedProblem['wait']>;

/**
 * How long a feed is left alone after a poll that the service did not answer well: twice as long each time, or as long
 * as a 503 asked for. Nobody else waits for it.
 *
 * @param pollMs the time between two polls; undefined: the wait does not grow
 */
function waitAfter(
  fault: BridgeFault,
  before: FeedProblem | undefined,
  pollMs: number | undefined,
): Omit<Wait, 'until'> | undefined {
  if (!isOfService(fault)) return undefined;
  const { retryAfterMs: askedMs = 0 } = fault;
  // The rounds begin on time, and a poll ends a little later: the wait is over half of a period before the round that it is for.
  const marginMs = (pollMs ?? 0) / 2;
  const failsAgain = pollMs !== undefined && before && !isDeferred(before.kind);
  // Rule: failing-feed-waits
  const lastMs = before?.wait?.why === 'failing' ? before.wait.forMs + marginMs : pollMs;
  const growingMs = failsAgain ? 2 * (lastMs ?? 0) : 0;
  const ownMs = Math.min(growingMs, longestWaitMs) - marginMs;
  // Rule: feed-keeps-retry-after
  const forMs = Math.max(askedMs, ownMs);
  return forMs > 0 ? { forMs, why: askedMs >= ownMs ? 'asked' : 'failing' } : undefined;
}

/**
 * Reports the fault in the log and the metrics.
 *
 * @param before the feed's state when the poll began, with the problem of the poll before it
 * @param pollMs the time between two polls, if a wait is to grow
 * @returns what is to be stored of it
 */
export function feedProblemOf(
  { observer, clock }: { readonly observer: Observer; readonly clock: Clock },
  fault: BridgeFault,
  { before, pollMs }: { readonly before: FeedState; readonly pollMs: number | undefined },
): FeedProblem {
  const { code, status, message: reason, cause: error } = fault;
  // The same request was refused as wrong twice: it would have the same answer for ever.
  const isRefusedAgain = code === 'invalid-request' && before.problem?.kind === code;
  const isStuck = fault instanceof StuckFeedError || isRefusedAgain;
  const isForPerson = fault.policy.needsAttention || isStuck;
  const nowMs = clock.now();
  const { partnerAccount, feed, problem, lastPolled = nowMs } = before;
  const fields = { partnerAccount, feed, fault: code, status, reason, error };
  if (code === 'operator-paused') {
    observer.info('the feed was not polled, because an operator has paused it', fields);
  } else if (isForPerson) {
    needsAttention(observer, 'the feed cannot be read until somebody acts', fields);
  } else {
    observer.warn('the feed could not be read: the next poll goes on from the stored cursor', fields);
  }
  const wait = isStuck ? stuckWait : waitAfter(fault, problem, pollMs);
  return {
    kind: code,
    reason,
    since: problem?.since ?? lastPolled,
    ...(isForPerson && { needsAttention: true }),
    ...(wait && { wait: { ...wait, until: nowMs + wait.forMs } }),
  };
}

/** After so many rejected cursors, or pages without an ID among their entries, in a row the feed is stuck. */
const maxSetbacks = 3;
/**
 * After so many pages in a row without an ID, although the feed says that it has more, it is stuck. A service that filters
 * its pages may have some of them; a feed of nothing else would use the rate of all others.
 */
const maxEmptyInARow = 30;

/** The feed makes no progress. It is not polled for a while: an immediate retry would only load the service. */
export class StuckFeedError extends BridgeFault {
  constructor(message: string) {
    super('contract-broken', message);
  }
}

/** Whether a page shows that something is wrong with the feed: it rejected a cursor, or lists no ID among its entries. */
export const isSetback = ({ startedOver }: PageRead, { ids, malformed }: PageIds): boolean =>
  startedOver || (ids.length === 0 && malformed > 0);

/**
 * Follows the pages that a round reads of a feed, to see whether it makes no progress: setbacks, cursors or empty pages
 * that come again and again.
 */
export function createStandstillDetector() {
  const cursors = new Set<string>();
  let emptyInARow = 0;

  return (before: FeedState, read: PageRead, found: PageIds): StuckFeedError | undefined => {
    const { page, startedOver } = read;
    const setbacks = before.resetsInARow + 1;
    if (isSetback(read, found) && setbacks >= maxSetbacks) {
      const what = startedOver ? 'rejected cursors' : 'listed entries without an ID';
      return new StuckFeedError(`the service has ${what}, ${setbacks} times in a row`);
    }
    if (!startedOver && before.cursor !== undefined) cursors.add(before.cursor);
    const isKnown = cursors.has(page.nextCursor);
    cursors.add(page.nextCursor);
    const hasIds = found.ids.length > 0;
    emptyInARow = hasIds ? 0 : emptyInARow + 1;
    if (isKnown && (page.hasMore || hasIds))
      return new StuckFeedError('the feed gives the same cursor again although it has more changes');
    if (!page.hasMore || emptyInARow < maxEmptyInARow) return undefined;
    return new StuckFeedError(
      `the feed gave ${maxEmptyInARow} pages without an ID, and says that it has more`,
    );
  };
}
export type StandstillDetector = ReturnType<typeof createStandstillDetector>;
