import type { OnUnreadable } from '../contract/checks.ts';
import { feedPlace } from '../contract/rows.ts';

export interface FeedKey {
  readonly partnerAccount: string;
  /** Name of the feed. */
  readonly feed: string;
}

/** How far one feed of one partner account has been read. */
export interface FeedState extends FeedKey {
  readonly generation: number;
  /** The exact string sent as `since` with every request of the cursor's life. */
  readonly since: string;
  /** Sent back byte for byte; absent before the first page. */
  readonly cursor?: string;
  /**
   * A resync is under way: `since` is where it began, and changes after that are unread although `lastSuccess` is later.
   * Absent otherwise.
   */
  readonly resyncing?: true;
  /** When the last up-to-date page was given, ms since 1970: see `serviceTime`. */
  readonly lastSuccess?: number;
  /** When it was last polled, by the bridge's clock; the feed with the earliest is polled first. */
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
  /** Stored as given: when it is absent, a resync that was under way has come to its end. */
  readonly resyncing?: true;
  /** Only for an up-to-date page; otherwise the stored one stays. */
  readonly lastSuccess?: number;
  /** For the books. */
  readonly counts: PageCounts;
}

/**
 * An adapter whose queue counts what it accepts (in memory, SQLite) ignores `listed` and `malformed`: the books then
 * balance also when a page is read twice.
 */
export interface PageCounts {
  /** IDs of the page, `malformed` ones included. */
  readonly listed: number;
  /** Entries that are no IDs, and so are dead-lettered. */
  readonly malformed: number;
  /** IDs that the page had already named: listed and coalesced. */
  readonly repeated: number;
}

/** `fence` is greater than that of any lease before it. */
export type Lease =
  | { readonly fence: number; readonly state: FeedState }
  | { readonly heldBy: string; readonly untilMs: number }
  | { readonly polledAt: number };

/** How a poll ended, as the feed's row keeps it. */
export interface PollEnd extends Pick<FeedState, 'fault' | 'faultKind' | 'needsPerson' | 'pausedUntil'> {
  /** Nothing was asked of the service: the feed keeps the place in line that it was listed with. */
  readonly unasked?: Pick<FeedState, 'lastPolled'>;
}

/** The feed-state table. Every write but `register` and `acquire` is refused once the lease is lost or has run out. */
export interface FeedStates {
  /** The feed polled longest ago first. @throws {ShapeError} for a row that cannot be read, unless `onUnreadable` is given */
  list(onUnreadable?: OnUnreadable): Promise<FeedState[]>;
  /** Makes the feed known; keeps what is there when the generation is the same. */
  register(state: FeedState): Promise<void>;
  /**
   * Takes the lease (fence + 1) and reads the state, strongly consistent; undefined for an unknown feed.
   *
   * @param listed the feed as it was listed: the lease is not taken when the feed has been polled since. Default: it is
   * taken all the same
   */
  acquire(
    key: FeedKey,
    holder: string,
    nowMs: number,
    leaseMs: number,
    listed?: Pick<FeedState, 'lastPolled'>,
  ): Promise<Lease | undefined>;
  /**
   * Stores a page's progress, clears the feed's fault, and renews the lease for `leaseMs` or ends it.
   *
   * @returns false when the caller does not hold the lease any more
   */
  advance(
    key: FeedKey,
    fence: number,
    progress: Progress,
    nowMs: number,
    leaseMs: number | 'ended',
  ): Promise<boolean>;
  /** Gives the lease back, and stores how the poll ended; does nothing when the caller does not hold the lease any more. */
  release(key: FeedKey, fence: number, end: PollEnd, nowMs: number): Promise<void>;
  remove(partnerAccount: string): Promise<void>;
}

/**
 * The feeds of one partner account, of whichever generation. A row of another account that cannot be read hides nothing of them.
 *
 * @throws {ShapeError} for a row of its own
 */
export async function feedsOfAccount(
  feedStates: Pick<FeedStates, 'list'>,
  partnerAccount: string,
): Promise<FeedState[]> {
  const listed = await feedStates.list((error) => {
    if (error.place.startsWith(feedPlace(partnerAccount))) throw error;
  });
  return listed.filter((state) => state.partnerAccount === partnerAccount);
}
