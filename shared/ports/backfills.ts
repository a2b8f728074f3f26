export interface Versioned<T> {
  readonly value: T;
  /** Increased by every write. */
  readonly version: number;
}

export interface BackfillKey {
  readonly partnerAccount: string;
  readonly generation: number;
}

/** Progress of a backfill. The latest backfill of each partner account and generation is kept. */
export interface BackfillProgress {
  /** New for each backfill, kept when a backfill is continued. */
  readonly id: string;
  readonly state: 'running' | 'paused' | 'done';
  /** Name of the source of its IDs; a backfill is continued only with the same source. */
  readonly source: string;
  /** Position of the next page, in the source's own unit. */
  readonly position: number;
  /** Number of adverts put into the queue. */
  readonly listed: number;
  /** Number of malformed IDs in the source. */
  readonly malformed: number;
  readonly startedAt: string;
}

export interface Backfills {
  /** Strongly consistent. */
  read(key: BackfillKey): Promise<Versioned<BackfillProgress> | undefined>;
  /**
   * @param expected the version read; 0 where there was none
   * @param listed number of IDs of the page, for the books; counted in the same write as the progress. Ignored by
   * adapters whose queue counts the messages that it accepts
   * @returns false when another process wrote first: nothing is written then
   */
  write(key: BackfillKey, progress: BackfillProgress, expected: number, listed: number): Promise<boolean>;
}

export interface SourcePage {
  /** The IDs as received: not validated, and possibly repeated. */
  readonly data: readonly unknown[];
  /** Position of the next page. */
  readonly next: number;
}

/** A source of advert IDs for a backfill. */
export interface AdvertSource {
  /** Identifies the source, such as `list` or `file sha256:…`. */
  readonly name: string;
  /** @returns undefined after the last page */
  page(position: number): Promise<SourcePage | undefined>;
}
