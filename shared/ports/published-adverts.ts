import type { BackfillKey } from './backfills.ts';

export interface PublishedPage {
  readonly advertIds: readonly string[];
  /** Where the next page begins; absent after the last one. */
  readonly next?: string;
}

/** The adverts that have an event, whichever it was; objects of other feeds are left out. */
export interface PublishedAdverts {
  /**
   * Some of a generation's adverts, in an order that stays the same; there may be none on a page that is not the last.
   * Adverts that get their first event meanwhile may be left out.
   *
   * @param from `next` of the page before. Default: the first page
   */
  page(history: BackfillKey, from?: string): Promise<PublishedPage>;
}
