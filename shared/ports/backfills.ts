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
  /** Number of adverts of the source, if it is known. */
  readonly total?: number;
}

/** An advert whose latest event differed from the service; `null`: unavailable. */
export interface Difference {
  readonly advertId: string;
  readonly published: string | null;
  readonly actual: string | null;
}

/** Progress of an audit. */
export interface AuditProgress extends BackfillProgress {
  /** Number of adverts that were published right, or that got an event for another reason meanwhile. */
  readonly equal: number;
  readonly differing: readonly Difference[];
  /** Adverts that had no event. */
  readonly neverPublished: readonly string[];
  /** Keys of the messages whose result is not known yet, with the etag of the advert's row when they were sent. */
  readonly waiting: readonly { readonly message: string; readonly etag: string }[];
  /** Adverts that fan-out gave up, or that waited for too long. */
  readonly unsettled: readonly string[];
}

/** The part of the daily audit that the drain has sent. */
export interface AuditShare {
  /** When the day of this share began. */
  readonly startedAt: string;
  /** Number of adverts sent since then. */
  readonly sent: number;
  /** Where the listing of published adverts goes on, also on the next day; absent: at its beginning. */
  readonly from?: string;
}

export interface SourcePage {
  /** The IDs as received: not validated, and possibly repeated. */
  readonly data: readonly unknown[];
  /** Position of the next page. */
  readonly next: number;
}

/** A source of advert IDs for a backfill or an audit. */
export interface AdvertSource {
  /** Identifies the source, such as `list` or `file sha256:…`. */
  readonly name: string;
  /** Number of its adverts, if it can be known. */
  readonly total?: () => Promise<number>;
  /** @returns undefined after the last page */
  page(position: number): Promise<SourcePage | undefined>;
}
