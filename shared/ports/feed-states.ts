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
  /** The exact string to send as `since` with every request that carries this cursor. */
  readonly since: string;
  /** Sent back unchanged, byte for byte; absent before the first page. */
  readonly cursor?: string;
  /**
   * Set during a resync. `since` is the resync's start, and changes after it are unread even if `lastSuccess` is later.
   */
  readonly resyncing?: true;
  /** Time of the last up-to-date page, ms since 1970 (see `serviceTime`). */
  readonly lastSuccess?: number;
  /** When the feed was last polled, by the bridge's clock. The feed with the earliest time is polled first. */
  readonly lastPolled?: number;
  /** Number of rejected cursors. */
  readonly resets: number;
  /** When the last of them was rejected, ms since 1970. */
  readonly lastReset?: number;
  /** Number of pages in a row after a rejected cursor, or with entries of which none is an ID. */
  readonly resetsInARow: number;
  /** The feed is not polled before this moment (ms since 1970), because of `fault`. */
  readonly pausedUntil?: number;
  /** Description of the fault of the last poll; absent if it succeeded. */
  readonly fault?: string;
  /** Kind of this fault (shared/domain/faults.ts). An open string, because a newer bridge may have more kinds. */
  readonly faultKind?: string;
  /** Whether the fault needs manual action. */
  readonly needsPerson?: boolean;
}

/** The changes that one accepted page makes to the state, in one write. */
export interface Progress {
  readonly since: string;
  readonly cursor: string;
  readonly resets: number;
  /** If absent, the stored one stays. */
  readonly lastReset?: number;
  readonly resetsInARow: number;
  /** Stored as given: if absent, a running resync has ended. */
  readonly resyncing?: true;
  /** Only for an up-to-date page; otherwise the stored one stays. */
  readonly lastSuccess?: number;
  /** Counts for the books. */
  readonly counts: PageCounts;
}

/**
 * Adapters whose queue counts the messages that it accepts (in memory, SQLite) leave out the other `listed` IDs; then the
 * books balance even if a page is read twice.
 */
export interface PageCounts {
  /** Number of IDs of the page, including `malformed` ones. */
  readonly listed: number;
  /** Number of malformed entries, which are dead-lettered. */
  readonly malformed: number;
  /** Number of repeated IDs on the page; they count as listed and coalesced. */
  readonly repeated: number;
}

/** `fence` is greater than that of any lease before it. */
export type Lease =
  | { readonly fence: number; readonly state: FeedState }
  | { readonly heldBy: string; readonly untilMs: number }
  | { readonly polledAt: number };

/** The end of a poll, as stored in the feed's row. */
export interface PollEnd extends Pick<FeedState, 'fault' | 'faultKind' | 'needsPerson' | 'pausedUntil'> {
  /** No request was sent to the service: the feed keeps the place in the order with which it was listed. */
  readonly unasked?: Pick<FeedState, 'lastPolled'>;
}

/** The feed-state table. Every write except `register` and `acquire` is refused when the lease was lost or has expired. */
export interface FeedStates {
  /** Lists the least recently polled feed first. @throws {ShapeError} for a row that cannot be read, unless `onUnreadable` is given */
  list(onUnreadable?: OnUnreadable): Promise<FeedState[]>;
  /** Creates the feed's state; keeps an existing state of the same generation. */
  register(state: FeedState): Promise<void>;
  /**
   * Takes the lease (fence + 1) and reads the state, strongly consistent; undefined for an unknown feed.
   *
   * @param listed the feed as it was listed: the lease is not taken if the feed has been polled since then. Default: no
   * such check
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
   * @returns false when the caller no longer holds the lease
   */
  advance(
    key: FeedKey,
    fence: number,
    progress: Progress,
    nowMs: number,
    leaseMs: number | 'ended',
  ): Promise<boolean>;
  /** Releases the lease and stores the end of the poll; does nothing if the caller no longer holds the lease. */
  release(key: FeedKey, fence: number, end: PollEnd, nowMs: number): Promise<void>;
  remove(partnerAccount: string): Promise<void>;
}

/**
 * The feeds of one partner account, of any generation. An unreadable row of another account does not matter.
 *
 * @throws {ShapeError} for an unreadable row of this account
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
