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

/** One look at an advert: what was published last, and what the service says. */
export interface Look {
  readonly advertId: string;
  /** Number of the latest event; 0: there is none. */
  readonly sequence: number;
  readonly published: string | null;
  /** The bus may not have accepted the latest event. */
  readonly owed: boolean;
  /** null: the service does not know the advert. Absent: the service was not asked. */
  readonly actual?: string | null;
}

/** Adverts that differ, as long as a change may explain it. */
export interface OpenLooks {
  /** The latest look at each. */
  readonly looks: readonly Look[];
  /** When the latest of these looks was over, ms since 1970. */
  readonly lookedAt: number;
  /** Where the unread part of the feed began before the first of these looks. */
  readonly since: string;
  /** How often they were looked at again. */
  readonly rounds: number;
}

/** How far an audit has come; the latest one of each partner account and generation is kept. */
export interface AuditProgress {
  /** Fresh for each audit that is begun, and what its sample is drawn with; one that goes on keeps it. */
  readonly id: string;
  readonly state: 'running' | 'done';
  /** Where its adverts come from: it goes on only with the same. */
  readonly source: string;
  /** Up to where each advert was looked at; what it says is the source's. Absent at the beginning. */
  readonly position?: string;
  /** Every advert of the source was looked at. */
  readonly isThrough?: true;
  /** Adverts that were looked at. */
  readonly checked: number;
  readonly equal: number;
  readonly differing: readonly Difference[];
  /** In the service's list, and without an event. */
  readonly neverPublished: readonly string[];
  /** Different, but changes that still wait may explain it; or the service gave no answer that can be read. */
  readonly undecided: readonly string[];
  /** Not decided yet; absent: none. */
  readonly open?: OpenLooks;
  /** Sent through the queue, to be mended. */
  readonly repaired: number;
  /** How many adverts were published in all, where that is known. */
  readonly population?: number;
  readonly startedAt: string;
  readonly updatedAt: string;
}

/** Audits that a person starts and those of the schedule are kept apart: neither ends the other. */
export type AuditKind = 'audit' | 'daily-audit';

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
