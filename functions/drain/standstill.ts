import { PartnerError } from '../../shared/domain/faults.ts';
import type { FeedState } from '../../shared/state/feed-states.ts';
import type { PageIds } from './page-ids.ts';
import type { PageRead } from './read-page.ts';

/**
 * After so many setbacks in a row the feed is held: rejected cursors, and pages of entries of which none is an ID. One
 * alone is no evidence that the next page is no better.
 */
const maxSetbacks = 3;
/**
 * After so many pages in a row without an ID, although the feed says that it has more, it is held. A service that filters
 * its pages may have some of them; a feed of nothing else would use the rate of all others.
 */
const maxEmptyInARow = 30;

/** What a round has read of a feed. */
export interface Trail {
  readonly cursors: Set<string>;
  emptyInARow: number;
}

export const newTrail = (): Trail => ({ cursors: new Set(), emptyInARow: 0 });

/** The feed makes no progress. It is held for a while, because an immediate retry would only load the service. */
export class StuckFeedError extends PartnerError {
  constructor(message: string) {
    super('contract-broken', message);
  }
}

/** Whether a page shows that something is wrong with the feed: it rejected a cursor, or lists no ID among its entries. */
export const isSetback = ({ startedOver }: PageRead, { ids, malformed }: PageIds): boolean =>
  startedOver || (ids.length === 0 && malformed > 0);

/**
 * Detects a feed that makes no progress: too many setbacks in a row, or more pages without an end: a cursor that the feed
 * gave before, or one empty page after the other.
 */
export function standstillAfter(
  before: FeedState,
  read: PageRead,
  found: PageIds,
  trail: Trail,
): StuckFeedError | undefined {
  const { page, startedOver } = read;
  const setbacks = before.resetsInARow + 1;
  if (isSetback(read, found) && setbacks >= maxSetbacks) {
    const what = startedOver ? 'rejected cursors' : 'listed entries without an ID';
    return new StuckFeedError(`the service has ${what}, ${setbacks} times in a row`);
  }
  if (!startedOver && before.cursor !== undefined) trail.cursors.add(before.cursor);
  const isKnown = trail.cursors.has(page.nextCursor);
  trail.cursors.add(page.nextCursor);
  const hasIds = found.ids.length > 0;
  trail.emptyInARow = hasIds ? 0 : trail.emptyInARow + 1;
  if (isKnown && (page.hasMore || hasIds)) {
    return new StuckFeedError('the feed gives the same cursor again although it has more changes');
  }
  if (!page.hasMore || trail.emptyInARow < maxEmptyInARow) return undefined;
  return new StuckFeedError(
    `the feed gave ${trail.emptyInARow} pages without an ID, and says that it has more`,
  );
}
