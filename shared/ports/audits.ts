import type { BackfillKey } from './backfills.ts';
import type { Versioned } from './partner-accounts.ts';

/** An advert whose latest event does not say what the service says. */
export interface Difference {
  readonly advertId: string;
  /** Status of its latest event; null: it was published as unavailable. */
  readonly published: string | null;
  /** What the service says; null: it does not know the advert. */
  readonly actual: string | null;
  /** The event itself is right, but the bus may not have accepted it. */
  readonly owed?: true;
}

/** How far an audit has come; the latest one of each partner account and generation is kept. */
export interface AuditProgress {
  /** Fresh for each audit that is begun, and what its sample is drawn with; one that goes on keeps it. */
  readonly id: string;
  readonly state: 'running' | 'done';
  /** Where its adverts come from: it goes on only with the same. */
  readonly source: string;
  /** Up to where each advert is decided; what it says is the source's. Absent at the beginning. */
  readonly position?: string;
  /** Adverts that were decided. */
  readonly checked: number;
  readonly equal: number;
  readonly differing: readonly Difference[];
  /** In the service's list, and without an event. */
  readonly neverPublished: readonly string[];
  /** Different, but changes that still wait may explain it; or the service gave no answer that can be read. */
  readonly undecided: readonly string[];
  /** Sent through the queue, to be mended. */
  readonly repaired: number;
  /** How many adverts were published in all, where that is known. */
  readonly population?: number;
  readonly startedAt: string;
  readonly updatedAt: string;
}

export interface Audits {
  /** Strongly consistent. */
  read(key: BackfillKey): Promise<Versioned<AuditProgress> | undefined>;
  /**
   * @param expected the version read; 0 where there was none
   * @param listed adverts sent through the queue, for the books. Ignored by adapters whose queue counts what it accepts
   * @returns false when another process wrote first: nothing is written then
   */
  write(key: BackfillKey, progress: AuditProgress, expected: number, listed: number): Promise<boolean>;
}
