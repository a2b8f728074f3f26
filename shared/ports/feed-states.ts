import type { OnUnreadable } from '../contract/checks.ts';

export interface FeedKey {
  readonly partnerAccount: string;
  /** Name of the feed. */
  readonly feed: string;
}

/** Where reading one feed of one partner account has come to. */
export interface FeedState extends FeedKey {
  readonly generation: number;
  /** The exact string sent as `since` with every request of the cursor's life. */
  readonly since: string;
  /** Sent back byte for byte; absent before the first page. */
  readonly cursor?: string;
  /**
   * A resync has not come to its end: `since` is where it began, and changes after it are unread although `lastSuccess`
   * is later. Absent otherwise.
   */
  readonly resyncing?: true;
  /** When the last up-to-date page was given, ms since 1970: see `serviceTime`. */
  readonly lastSuccess?: number;
  /** When it was last polled, by the bridge's clock; decides who has waited longest. */
  readonly lastPolled?: number;
  /** Cursors rejected so far, and how many of them without an accepted page in between. */
  readonly resets: number;
  readonly resetsInARow: number;
  /** Not polled before this moment (ms since 1970), for `fault`. */
  readonly pausedUntil?: number;
  /** What is wrong with the feed, in words; absent when its last poll was fine. */
  readonly fault?: string;
  /** Which kind of fault it is: one of shared/domain/faults.ts. Open, for a newer bridge may know more of them. */
  readonly faultKind?: string;
  /** The fault does not end by itself. */
  readonly needsPerson?: boolean;
}

/** What one accepted page changes, in one write. */
export interface Progress {
  readonly since: string;
  readonly cursor: string;
  readonly resets: number;
  readonly resetsInARow: number;
  /** Stored as given: absent, a resync that was under way is over. */
  readonly resyncing?: true;
  /** Only for an up-to-date page; else the stored one stays. */
  readonly lastSuccess?: number;
  /**
   * IDs of the page, for the books, and those of them that are dead-lettered as malformed. Adapters whose queue counts
   * what it accepts (in memory, SQLite) leave both alone: only so do the books balance when a page is read twice.
   */
  readonly listed: number;
  readonly malformed: number;
  /** IDs of the page that it had already named; they are listed and coalesced in one write. */
  readonly repeated: number;
}

export type Lease =
  | { readonly fence: number; readonly state: FeedState }
  | { readonly heldBy: string; readonly untilMs: number }
  | { readonly polledAt: number };

/** The feed-state table. Every write but the first is refused once the lease is lost or has run out. */
export interface FeedStates {
  /** The one polled longest ago first. @throws {ShapeError} for a row that cannot be read, unless `onUnreadable` is told */
  list(onUnreadable?: OnUnreadable): Promise<FeedState[]>;
  /** Makes the feed known; keeps what is there when the generation is the same. */
  register(state: FeedState): Promise<void>;
  /**
   * Takes the lease (fence + 1) and reads the state, strongly consistent; undefined for an unknown feed.
   *
   * @param listed the feed as it was listed: where somebody has polled it since, the lease is not taken. Default: taken
   * all the same
   */
  acquire(
    key: FeedKey,
    holder: string,
    nowMs: number,
    leaseMs: number,
    listed?: Pick<FeedState, 'lastPolled'>,
  ): Promise<Lease | undefined>;
  /**
   * Stores a page's progress, ends what was wrong with the feed, and renews the lease.
   *
   * @param leaseMs 0: the lease ends here, as by `release`
   * @returns false when the lease is not ours any more
   */
  advance(key: FeedKey, fence: number, progress: Progress, nowMs: number, leaseMs: number): Promise<boolean>;
  /** Gives the lease back, and says how the poll ended; nothing happens when it is not ours any more. */
  release(key: FeedKey, fence: number, end: PollEnd, nowMs: number): Promise<void>;
  remove(partnerAccount: string): Promise<void>;
}

export interface PollEnd {
  /** Nothing was asked of the service: the feed waits on as it was listed, and has not had its turn. */
  readonly unasked?: Pick<FeedState, 'lastPolled'>;
  readonly fault?: string;
  readonly faultKind?: string;
  readonly needsPerson?: boolean;
  readonly pausedUntil?: number;
}

/** The part of the feed-state table that `connect` and `disconnect` need. */
export interface FeedRegister {
  /** Makes the feed known; keeps what is there when the generation is the same. */
  register(feed: NewFeed): Promise<void>;
  remove(partnerAccount: string): Promise<void>;
  list(): Promise<readonly KnownFeed[]>;
}

export interface KnownFeed {
  readonly partnerAccount: string;
  readonly feed: string;
  readonly generation: number;
  readonly since: string;
  /** When the last up-to-date page was asked for, by the service's clock, ms since 1970. */
  readonly lastSuccess?: number;
}

export interface NewFeed {
  readonly partnerAccount: string;
  readonly feed: string;
  readonly generation: number;
  readonly since: string;
  readonly resets: 0;
  readonly resetsInARow: 0;
}
