import { PartnerError } from '../../shared/domain/faults.ts';
import type { FeedState } from '../../shared/ports/feed-states.ts';
import type { PageRead } from './read-page.ts';

/** Cursors rejected without an accepted page in between, after which the feed is left alone a while. */
const maxResetsInARow = 3;

/** The feed cannot be read on as it is; asking again at once would only hammer the service. */
export class StuckFeedError extends PartnerError {
  constructor(message: string) {
    super('contract-broken', message);
  }
}

/** A cursor that stays where it is although there is more would be read for ever. */
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
