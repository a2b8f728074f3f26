import type { HistoryOwner } from '../domain/history-key.ts';
import type { Position } from '../domain/queue/position.ts';

/** Whose history it is: an advert's, or that of another feed's object. */
export type AdvertKey = HistoryOwner;

/** The history of one advert: its latest event, and the message that it was written for. */
export interface AdvertRow {
  /** Number of the latest event; 0 when there is none yet. */
  readonly sequence: number;
  /** Its status; null when the advert was unavailable, or there is no event yet. */
  readonly status: string | null;
  /** The latest event, stored whole: published again with the same ID and content. */
  readonly envelope?: string;
  /** Key of the message whose fetch wrote it. */
  readonly by?: string;
  /** Highest delivery position that wrote. */
  readonly position: Position;
  /** The latest event may not have been accepted by the bus: the next worker publishes it first. */
  readonly owed: boolean;
  /** Faults of the advert's own since its last good answer; too many dead-letter the message. */
  readonly tries?: number;
  /** When the service first said that it does not know the advert, until that is confirmed or denied. */
  readonly missingSince?: number;
  /** Raised by every write. */
  readonly version: number;
}

/** The advert-status table. A write states the version that it replaces, so that of two workers one conflicts. */
export interface AdvertHistories {
  /** Strongly consistent. */
  read(key: AdvertKey): Promise<AdvertRow | undefined>;
  /**
   * Writes `row` if the stored version is `row.version - 1` (no row: 0).
   *
   * @returns whether it was written
   */
  write(key: AdvertKey, row: AdvertRow): Promise<boolean>;
  /** Forgets every row of the partner account, of all generations up to `generation`. */
  remove(partnerAccount: string, generation: number): Promise<void>;
}

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
  page(history: Pick<AdvertKey, 'partnerAccount' | 'generation'>, from?: string): Promise<PublishedPage>;
}
