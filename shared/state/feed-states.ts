import * as v from 'valibot';
import {
  checked,
  form,
  kept,
  moment,
  type OnUnreadable,
  partnerAccountName,
  readRows,
  someText,
  wholeNumber,
} from '../contract/checks.ts';
import { generation } from '../contract/events.ts';
import { isLasting } from '../domain/clock.ts';
import { type Etag, type Key, type Row, removeRows, type Store, sumOf, update } from '../ports/store.ts';

const pageCounts = v.object({
  /** All IDs of the page, including `malformed` and `repeated` ones. */
  listed: wholeNumber(0),
  /** Malformed entries, which are dead-lettered. */
  malformed: wholeNumber(0),
  /** Repeated IDs on the page; they count as coalesced. */
  repeated: wholeNumber(0),
});
type PageCounts = Readonly<v.InferOutput<typeof pageCounts>>;

/** What was wrong with the last poll. */
const feedProblem = kept({
  /** Kind of the fault (shared/domain/faults.ts). An open string, because a newer bridge may have more kinds. */
  kind: v.string(),
  reason: v.string(),
  /** When the first of the failed polls in a row began. */
  since: moment,
  needsAttention: v.exactOptional(v.boolean()),
  /**
   * When the feed is polled again at the earliest, and why: `stuck`: it makes no progress; `asked`: by the service
   * (`Retry-After`); `failing`: longer after each failed poll.
   */
  wait: v.exactOptional(
    v.object({ until: moment, forMs: v.number(), why: v.picklist(['stuck', 'asked', 'failing']) }),
  ),
});
export type FeedProblem = Readonly<v.InferOutput<typeof feedProblem>>;

/** How far one feed of one partner account has been read. */
const storedFeed = kept({
  form,
  partnerAccount: partnerAccountName,
  feed: someText,
  generation,
  /** The exact string to send as `since` with every request that carries this cursor. */
  since: someText,
  /** Sent back unchanged, byte for byte; absent before the first page. */
  cursor: v.exactOptional(v.string()),
  /** Set during a resync. `since` is the resync's start, and changes after it are unread even if `lastSuccess` is later. */
  resyncing: v.exactOptional(v.literal(true)),
  /** Time of the last up-to-date page (see `serviceTime`). */
  lastSuccess: v.exactOptional(moment),
  /** When the feed was last polled, by the bridge's clock. The feed with the earliest time is polled first. */
  lastPolled: v.exactOptional(moment),
  resets: wholeNumber(0),
  lastReset: v.exactOptional(moment),
  /** Number of pages in a row after a rejected cursor, or with entries of which none is an ID. */
  resetsInARow: wholeNumber(0),
  /** Absent if the last poll succeeded. */
  problem: v.exactOptional(feedProblem),
  /** Sums over all pages; absent before the first one. */
  counts: v.exactOptional(pageCounts),
  lease: v.exactOptional(v.object({ holder: v.string(), until: moment, forMs: v.number() })),
  /** Release 0.3.0 stored the problem in these fields. */
  fault: v.exactOptional(v.string()),
  faultKind: v.exactOptional(v.string()),
  needsPerson: v.exactOptional(v.boolean()),
  pausedUntil: v.exactOptional(moment),
});
type StoredFeed = Readonly<v.InferOutput<typeof storedFeed>>;
export type FeedState = Omit<StoredFeed, 'fault' | 'faultKind' | 'needsPerson' | 'pausedUntil'>;
export type FeedKey = Pick<FeedState, 'partnerAccount' | 'feed'>;

/** The changes that one accepted page makes to the state, in one write. `resyncing`: if absent, a running resync has ended. */
export type Progress = Pick<
  FeedState,
  'since' | 'resets' | 'lastReset' | 'resetsInARow' | 'resyncing' | 'lastSuccess'
> & {
  readonly cursor: string;
  readonly counts: PageCounts;
};

/** The state as its poller has stored it last. The etag is the fence: a write over any other row is refused. */
export interface Lease {
  readonly state: FeedState;
  readonly etag: Etag;
}

export interface LeaseRequest {
  readonly holder: string;
  readonly nowMs: number;
  readonly leaseMs: number;
  /** The feed as it was listed: no lease if it has been read to its end since then, or failed. Default: no such check */
  readonly listed?: Pick<FeedState, 'lastPolled'> | undefined;
}

/** Why there is no lease, as a poll reports it. */
export type NoLease =
  | { readonly end: 'held'; readonly by: string }
  | { readonly end: 'just-polled' | 'unknown-feed' };

/** The end of a poll, as stored in the feed's row. */
export type PollEnd = Pick<FeedState, 'problem'> & { readonly lastPolled?: number | undefined };

export type FeedStates = ReturnType<typeof createFeedStates>;

export function createFeedStates(store: Store) {
  return {
    /** The least recently polled feed first, otherwise by name. @throws {ShapeError} for an unreadable row, unless `onUnreadable` is given */
    list: async (onUnreadable?: OnUnreadable): Promise<FeedState[]> =>
      readRows(await store.list('feed'), feedStateOf, onUnreadable).sort(
        (a, b) => (a.lastPolled ?? -1) - (b.lastPolled ?? -1),
      ),

    /** The feeds of one account, of any generation. @throws {ShapeError} */
    ofAccount: async (partnerAccount: string): Promise<FeedState[]> =>
      readRows(await store.list('feed', { prefix: `${partnerAccount}/` }), feedStateOf),

    /** Creates the feed's state; keeps an existing state of the same generation. */
    async register(state: FeedState): Promise<void> {
      // Rule: cursor-kept-for-new-user
      await update(store, feedRowKey(state), (row) =>
        row && feedStateOf(row).generation >= state.generation ? undefined : state,
      );
    },

    /**
     * Has the feed read again, without its cursor, from the time that `from` returns. Whoever reads it now loses the lease.
     *
     * @returns undefined for an unknown feed
     */
    async readAgain(key: FeedKey, from: (state: FeedState) => string): Promise<FeedState | undefined> {
      const row = await update(store, feedRowKey(key), (current) => {
        if (!current) return undefined;
        const { cursor: _cursor, lease: _lease, ...state } = feedStateOf(current);
        return { ...state, since: from(state), resyncing: true };
      });
      return row && feedStateOf(row);
    },

    /** Takes the lease, unless it is held. */
    async acquire(key: FeedKey, { holder, nowMs, leaseMs, listed }: LeaseRequest): Promise<Lease | NoLease> {
      let noLease: NoLease | undefined;
      const row = await update(store, feedRowKey(key), (current) => {
        if (!current) return undefined;
        const state = feedStateOf(current);
        noLease = whyNoLease(state, nowMs, listed);
        return noLease ? undefined : { ...state, lastPolled: nowMs, lease: leaseOf(holder, nowMs, leaseMs) };
      });
      if (!row) return { end: 'unknown-feed' };
      return noLease ?? { state: feedStateOf(row), etag: row.etag };
    },

    /**
     * Stores a page's progress, clears the feed's problem, and renews the lease for `leaseMs` or ends it. Writes nothing and
     * returns undefined if the lease was lost or has expired.
     */
    async advance(
      { state, etag }: Lease,
      { counts, ...progress }: Progress,
      { nowMs, leaseMs }: { readonly nowMs: number; readonly leaseMs: number | 'ended' },
    ): Promise<Lease | undefined> {
      // Rule: lost-lease-writes
      if (!isLeased(state, nowMs)) return undefined;
      const { lease, resyncing: _over, problem: _solved, ...before } = state;
      const next: FeedState = {
        ...before,
        ...progress,
        counts: sumOf(before.counts, counts) as PageCounts,
        ...(leaseMs !== 'ended' && { lease: leaseOf(lease?.holder ?? '', nowMs, leaseMs) }),
      };
      const put = await store.put(feedRowKey(state), next, etag);
      return 'etag' in put ? { state: next, etag: put.etag } : undefined;
    },

    /** Releases the lease and stores the end of the poll; does nothing if the lease was lost, has expired or has ended. */
    async release({ state, etag }: Lease, end: PollEnd, nowMs: number): Promise<void> {
      if (!isLeased(state, nowMs)) return;
      const { lease: _ended, problem: _before, ...before } = state;
      await store.put(feedRowKey(state), { ...before, ...end }, etag);
    },

    remove: (partnerAccount: string): Promise<void> =>
      removeRows(store, { kind: 'feed', prefix: `${partnerAccount}/` }),
  };
}

const feedRowKey = ({ partnerAccount, feed }: FeedKey): Key => ({
  kind: 'feed',
  name: `${partnerAccount}/${feed}`,
});

/** @throws {ShapeError} */
export function feedStateOf({ name, value }: Row): FeedState {
  const [partnerAccount = '', feed] = name.split('/');
  return withProblem(
    checked(storedFeed, { ...(value as object), partnerAccount, feed }, `state of feed ${name}`),
  );
}

/** If a row has both forms, release 0.3.0 has polled last, after a downgrade. */
function withProblem({ fault, faultKind, needsPerson, pausedUntil, ...state }: StoredFeed): FeedState {
  if (fault === undefined) return state;
  const { lastPolled = 0 } = state;
  const problem: FeedProblem = {
    kind: faultKind ?? 'unknown',
    reason: fault,
    since: lastPolled,
    ...(needsPerson && { needsAttention: true }),
    ...(pausedUntil !== undefined && {
      wait: { until: pausedUntil, forMs: pausedUntil - lastPolled, why: 'stuck' },
    }),
  };
  return { ...state, problem };
}

const leaseOf = (holder: string, nowMs: number, forMs: number) => ({ holder, until: nowMs + forMs, forMs });

/** The wait in force: without it, the feed is polled. */
export const waitOf = (problem: FeedProblem | undefined, nowMs: number): FeedProblem['wait'] =>
  problem?.wait && isLasting(problem.wait.until, problem.wait.forMs, nowMs) ? problem.wait : undefined;

/** A `Date` header has whole seconds. */
const roundingMs = 1_000;

const isLeased = ({ lease }: FeedState, nowMs: number): boolean => lease !== undefined && lease.until > nowMs;

function whyNoLease(
  { lease, lastPolled, lastSuccess = 0, problem }: FeedState,
  nowMs: number,
  listed: LeaseRequest['listed'],
): NoLease | undefined {
  if (lease && isLasting(lease.until, lease.forMs, nowMs)) return { end: 'held', by: lease.holder };
  if (!listed || lastPolled === undefined || lastPolled === listed.lastPolled) return undefined;
  const isLeft = problem === undefined && lastSuccess + roundingMs < lastPolled;
  return isLeft ? undefined : { end: 'just-polled' };
}
