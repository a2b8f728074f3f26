import { PartnerError } from '../../shared/domain/faults.ts';
import type { FeedState } from '../../shared/ports/feed-states.ts';
import type { PageRead } from './read-page.ts';

/** After this many rejected cursors without an accepted page in between, the feed is paused. */
const maxResetsInARow = 3;

/** The feed cannot make progress. It is paused for a while, because an immediate retry would only load the service. */
export class StuckFeedError extends PartnerError {
  constructor(message: string) {
    super('contract-broken', message);
  }
}

/**
 * Detects a feed that makes no progress: too many cursors rejected in a row, or a cursor that does not move although
 * there are more changes, so that the drain would read the same page for ever.
 */
export function standstillAfter(
  before: FeedState,
  { page, startedOver }: PageRead,
  resetsInARow: number,
): StuckFeedError | undefined {
  if (resetsInARow >= maxResetsInARow) {
    return new StuckFeedError(`the service has rejected ${resetsInARow} cursors in a row`);
  }
  if (startedOver || page.nextCursor !== before.cursor) return undefined;
  if (!page.hasMore && page.data.length === 0) return undefined;
  return new StuckFeedError('the feed gives the same cursor again although it has more changes');
}
