import { checked, type OnUnreadable, readRows } from '../contract/checks.ts';
import { feedPlace, feedState } from '../contract/rows.ts';
import { isLasting } from '../domain/clock.ts';
import { type Etag, type Key, type Row, removeRows, type Store, update } from '../ports/store.ts';

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
  /** Sums over all pages; absent before the first one. */
  readonly counts?: PageCounts;
  /** The process that polls the feed, until a moment in ms since 1970. */
  readonly lease?: { readonly holder: string; readonly until: number; readonly forMs: number };
}

/** Numbers of IDs, for the books. */
export interface PageCounts {
  /** All IDs of the page, including `malformed` and `repeated` ones. */
  readonly listed: number;
  /** Malformed entries, which are dead-lettered. */
  readonly malformed: number;
  /** Repeated IDs on the page; they count as coalesced. */
  readonly repeated: number;
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
  readonly counts: PageCounts;
}

/** The state as its poller has stored it last. The etag is the fence: a write over any other row is refused. */
export interface Lease {
  readonly state: FeedState;
  readonly etag: Etag;
}

export interface LeaseRequest {
  readonly holder: string;
  readonly nowMs: number;
  readonly leaseMs: number;
  /** The feed as it was listed: no lease if the feed has been polled since then. Default: no such check */
  readonly listed?: Pick<FeedState, 'lastPolled'> | undefined;
}

/** Why there is no lease. */
export type NoLease = { readonly heldBy: string; readonly untilMs: number } | { readonly polledAt: number };

/** The end of a poll, as stored in the feed's row. */
export interface PollEnd extends Pick<FeedState, 'fault' | 'faultKind' | 'needsPerson' | 'pausedUntil'> {
  /** No request was sent to the service: the feed keeps the place in the order with which it was listed. */
  readonly unasked?: Pick<FeedState, 'lastPolled'>;
}

export interface FeedStates {
  /** Lists the least recently polled feed first. @throws {ShapeError} for a row that cannot be read, unless `onUnreadable` is given */
  list(onUnreadable?: OnUnreadable): Promise<FeedState[]>;
  /** Creates the feed's state; keeps an existing state of the same generation. */
  register(state: FeedState): Promise<void>;
  /** Takes the lease, unless it is held; undefined for an unknown feed. */
  acquire(key: FeedKey, request: LeaseRequest): Promise<Lease | NoLease | undefined>;
  /**
   * Stores a page's progress, clears the feed's fault, and renews the lease for `leaseMs` or ends it.
   *
   * @returns undefined when the lease was lost, or has expired: nothing is written then
   */
  advance(
    lease: Lease,
    progress: Progress,
    renewal: { readonly nowMs: number; readonly leaseMs: number | 'ended' },
  ): Promise<Lease | undefined>;
  /** Releases the lease and stores the end of the poll; does nothing if the lease was lost, has expired or has ended. */
  release(lease: Lease, end: PollEnd, nowMs: number): Promise<void>;
  remove(partnerAccount: string): Promise<void>;
}

export interface FeedStateOptions {
  /** false where the queue counts the messages that it accepts: only the other IDs of a page are counted here. */
  readonly countsListed: boolean;
}

export function createFeedStates(store: Store, { countsListed }: FeedStateOptions): FeedStates {
  return {
    async list(onUnreadable) {
      return readRows(await store.list('feed'), feedStateOf, onUnreadable).sort(byWaiting);
    },

    async register(state) {
      // Rule: cursor-kept-for-new-user
      await update(store, keyOf(state), (row) =>
        row && feedStateOf(row).generation >= state.generation ? undefined : state,
      );
    },

    async acquire(key, { holder, nowMs, leaseMs, listed }) {
      let noLease: NoLease | undefined;
      const row = await update(store, keyOf(key), (current) => {
        if (!current) return undefined;
        const state = feedStateOf(current);
        noLease = whyNoLease(state, nowMs, listed);
        return noLease ? undefined : { ...state, lastPolled: nowMs, lease: leaseOf(holder, nowMs, leaseMs) };
      });
      return noLease ?? (row && { state: feedStateOf(row), etag: row.etag });
    },

    async advance({ state, etag }, { counts, ...progress }, { nowMs, leaseMs }) {
      // Rule: lost-lease-writes
      if (!isLeased(state, nowMs)) return undefined;
      const { lease, resyncing: _over, ...before } = withoutFault(state);
      const next: FeedState = {
        ...before,
        ...progress,
        counts: sumOf(before.counts, counts),
        ...(leaseMs !== 'ended' && { lease: leaseOf(lease?.holder ?? '', nowMs, leaseMs) }),
      };
      const put = await store.put(keyOf(state), next, etag);
      return 'etag' in put ? { state: next, etag: put.etag } : undefined;
    },

    async release({ state, etag }, { unasked, ...end }, nowMs) {
      if (!isLeased(state, nowMs)) return;
      const { lease: _ended, ...before } = withoutFault(state);
      await store.put(keyOf(state), { ...before, ...unasked, ...end }, etag);
    },

    remove: (partnerAccount) => removeRows(store, { kind: 'feed', prefix: `${partnerAccount}/` }),
  };

  function sumOf(sums: PageCounts = { listed: 0, malformed: 0, repeated: 0 }, page: PageCounts): PageCounts {
    return {
      listed: sums.listed + (countsListed ? page.listed : page.malformed + page.repeated),
      malformed: sums.malformed + page.malformed,
      repeated: sums.repeated + page.repeated,
    };
  }
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

const keyOf = ({ partnerAccount, feed }: FeedKey): Key => ({
  kind: 'feed',
  name: `${partnerAccount}/${feed}`,
});

/** @throws {ShapeError} */
export function feedStateOf({ name, value }: Row): FeedState {
  const [partnerAccount = '', feed] = name.split('/');
  const place = feedPlace(partnerAccount, feed);
  return checked(feedState, { ...(value as object), partnerAccount, feed }, place);
}

const leaseOf = (holder: string, nowMs: number, forMs: number) => ({ holder, until: nowMs + forMs, forMs });

const isLeased = ({ lease }: FeedState, nowMs: number): boolean => lease !== undefined && lease.until > nowMs;

function whyNoLease(
  { lease, lastPolled }: FeedState,
  nowMs: number,
  listed: LeaseRequest['listed'],
): NoLease | undefined {
  if (lease && isLasting(lease.until, lease.forMs, nowMs))
    return { heldBy: lease.holder, untilMs: lease.until };
  if (!listed || lastPolled === undefined || lastPolled === listed.lastPolled) return undefined;
  return { polledAt: lastPolled };
}

function withoutFault(state: FeedState): FeedState {
  const { fault: _fault, faultKind: _kind, needsPerson: _person, pausedUntil: _until, ...rest } = state;
  return rest;
}

const byWaiting = (a: FeedState, b: FeedState): number =>
  (a.lastPolled ?? -1) - (b.lastPolled ?? -1) ||
  (`${a.partnerAccount}/${a.feed}` < `${b.partnerAccount}/${b.feed}` ? -1 : 1);
