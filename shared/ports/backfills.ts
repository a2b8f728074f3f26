import type { Versioned } from './partner-accounts.ts';

export interface BackfillKey {
  readonly partnerAccount: string;
  readonly generation: number;
}

/** How far a backfill has come; the latest one of each partner account and generation is kept. */
export interface BackfillProgress {
  /** Fresh for each backfill that is begun; one that goes on keeps it. */
  readonly id: string;
  readonly state: 'running' | 'paused' | 'done';
  /** Where its IDs come from: it goes on only with the same. */
  readonly source: string;
  /** Where the next page begins; what it counts is the source's. */
  readonly position: number;
  /** Adverts that were put into the queue. */
  readonly listed: number;
  /** What stood among them and is no ID. */
  readonly malformed: number;
  readonly startedAt: string;
}

export interface Backfills {
  /** Strongly consistent. */
  read(key: BackfillKey): Promise<Versioned<BackfillProgress> | undefined>;
  /**
   * @param expected the version read; 0 where there was none
   * @param listed IDs of the page, for the books: counted with the progress, or not at all. Ignored by adapters whose
   *   queue counts what it accepts
   * @returns false when another process wrote first: nothing is written then
   */
  write(key: BackfillKey, progress: BackfillProgress, expected: number, listed: number): Promise<boolean>;
}

export interface SourcePage {
  /** As received: not checked, perhaps repeated. */
  readonly data: readonly unknown[];
  /** Where the next page begins. */
  readonly next: number;
}

/** Where the advert IDs of a backfill come from. */
export interface AdvertSource {
  /** Identifies the source, such as `list` or `file sha256:…`. */
  readonly name: string;
  /** @returns undefined after the last page */
  page(position: number): Promise<SourcePage | undefined>;
}
