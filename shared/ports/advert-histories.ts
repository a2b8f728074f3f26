import type { HistoryOwner } from '../domain/history-key.ts';

/** The history of one advert: its latest event, and whether the bus has accepted it. */
export interface AdvertRow {
  /** Number of the latest event; 0 when there is none yet. */
  readonly sequence: number;
  /** Status of the latest event; null if the advert was unavailable or has no event yet. */
  readonly status: string | null;
  /** The latest event as a complete envelope, so that it can be published again with the same ID and content. */
  readonly envelope?: string;
  /** The bus may not have accepted the latest event: the next worker publishes it before anything else. */
  readonly pending: boolean;
  /** Key of the message for which the row was last written. */
  readonly by?: string;
  /** Number of advert-specific faults since the last successful answer; too many make the message a dead letter. */
  readonly tries?: number;
  /** When the service first answered that it does not know the advert; removed when that is confirmed or refuted. */
  readonly missingSince?: number;
  /** Increased by every write. */
  readonly version: number;
}

/**
 * The advert-status table. Each write names the version that it replaces, so that one of two concurrent workers gets a
 * conflict.
 */
export interface AdvertHistories {
  /** Strongly consistent. */
  read(key: HistoryOwner): Promise<AdvertRow | undefined>;
  /**
   * Writes `row` if the stored version is `row.version - 1` (no row: 0).
   *
   * @returns whether it was written
   */
  write(key: HistoryOwner, row: AdvertRow): Promise<boolean>;
  /** Removes every row of the partner account, for all generations up to `generation`. */
  remove(partnerAccount: string, generation: number): Promise<void>;
}

export interface PublishedPage {
  readonly advertIds: readonly string[];
  /** Where the next page begins; absent after the last one. */
  readonly next?: string;
}

/** Lists the adverts that have at least one event; objects of other feeds are left out. */
export interface PublishedAdverts {
  /**
   * Returns a page of a generation's adverts, in a stable order; a page may be empty although more pages follow.
   * Adverts that get their first event during the listing may be left out.
   *
   * @param from `next` of the page before. Default: the first page
   * @param most size of the page; at most, and by default, a thousand
   */
  page(
    history: Pick<HistoryOwner, 'partnerAccount' | 'generation'>,
    from?: string,
    most?: number,
  ): Promise<PublishedPage>;
}
