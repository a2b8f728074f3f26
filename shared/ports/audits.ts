import type { BackfillKey, Versioned } from './backfills.ts';

/** An advert whose latest event differs from the service's status. */
export interface Difference {
  readonly advertId: string;
  /** Status of its latest event; null: it was published as unavailable. */
  readonly published: string | null;
  /** Status at the service; null: the service does not know the advert. */
  readonly actual: string | null;
  /** The stored event is right, but the bus may not have accepted it. */
  readonly owed?: true;
}

/** One look at an advert: its last published status, and its status at the service. */
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

/** Adverts that differ, while a recent change may still explain the difference. */
export interface OpenLooks {
  /** The latest look at each. */
  readonly looks: readonly Look[];
  /** End of the latest of these looks, ms since 1970. */
  readonly lookedAt: number;
  /** Start of the unread part of the feed before the first of these looks. */
  readonly since: string;
  /** Number of repeated looks. */
  readonly rounds: number;
}

/** Progress of an audit. The latest audit of each partner account and generation is kept. */
export interface AuditProgress {
  /** New for each audit, kept when an audit is continued; it also determines the random sample. */
  readonly id: string;
  readonly state: 'running' | 'done';
  /** Name of the source of its adverts; an audit is continued only with the same source. */
  readonly source: string;
  /** Position up to which all adverts were looked at, in the source's own format. Absent at the beginning. */
  readonly position?: string;
  /** Set when every advert of the source was looked at. */
  readonly isThrough?: true;
  /** Number of adverts that were looked at. */
  readonly checked: number;
  readonly equal: number;
  readonly differing: readonly Difference[];
  /** Adverts in the service's list that have no event. */
  readonly neverPublished: readonly string[];
  /**
   * Adverts that differ, although waiting changes may explain it, and adverts for which the service's answer could not
   * be read.
   */
  readonly undecided: readonly string[];
  /** Not decided yet; absent: none. */
  readonly open?: OpenLooks;
  /** Number of adverts put into the queue for repair. */
  readonly repaired: number;
  /** Total number of published adverts, if known. */
  readonly population?: number;
  readonly startedAt: string;
  readonly updatedAt: string;
}

/** Audits by a person and scheduled audits are stored separately, so that neither ends the other. */
export type AuditKind = 'audit' | 'daily-audit';

export interface Audits {
  /** Strongly consistent. */
  read(key: BackfillKey): Promise<Versioned<AuditProgress> | undefined>;
  /**
   * @param expected the version read; 0 where there was none
   * @param listed number of adverts put into the queue, for the books. Ignored by adapters whose queue counts the
   * messages that it accepts
   * @returns false when another process wrote first; then nothing is written
   */
  write(key: BackfillKey, progress: AuditProgress, expected: number, listed: number): Promise<boolean>;
}
