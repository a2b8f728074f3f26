import { checkedJson, readRows } from '../contract/checks.ts';
import { feedPlace, feedState } from '../contract/rows.ts';
import { firstNumberOf } from '../domain/partner-account.ts';
import type { FeedKey, FeedState, FeedStates } from '../ports/feed-states.ts';
import type { EmbeddedBooks } from './books.ts';
import type { Store } from './file/store.ts';

interface Row {
  readonly partner_account: string;
  readonly feed: string;
  readonly generation: number;
  readonly state: string;
  readonly fence: number;
  readonly holder: string | null;
  readonly leased_until: number | null;
}

/** Feed states in the state file. Repeated and malformed IDs of a page are counted in the transaction that stores its cursor. */
export function createFeedStates(store: Store, books: EmbeddedBooks): FeedStates {
  const selectAll = store.prepare('SELECT partner_account, feed, state FROM feeds');
  const select = store.prepare('SELECT * FROM feeds WHERE partner_account = ? AND feed = ?');
  const replace = store.prepare(
    `INSERT OR REPLACE INTO feeds (partner_account, feed, generation, state, fence, holder, leased_until)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  // Whether the caller's lease is still in force.
  const isHeld = 'partner_account = ? AND feed = ? AND fence = ? AND leased_until > ?';
  const renew = store.prepare(
    `UPDATE feeds SET state = json_patch(state, ?), leased_until = ? WHERE ${isHeld} RETURNING generation`,
  );
  const free = store.prepare(
    `UPDATE feeds SET state = json_patch(state, ?), holder = NULL, leased_until = NULL WHERE ${isHeld}`,
  );
  const removeAll = store.prepare('DELETE FROM feeds WHERE partner_account = ?');

  const rowOf = ({ partnerAccount, feed }: FeedKey) => select.get(partnerAccount, feed) as Row | undefined;

  function put(state: FeedState, fence: number, holder: string | null, leasedUntil: number | null): void {
    const { partnerAccount, feed, generation } = state;
    replace.run(partnerAccount, feed, generation, JSON.stringify(state), fence, holder, leasedUntil);
  }

  return {
    async list(onUnreadable) {
      const rows = store.read(() => selectAll.all()) as unknown as Row[];
      return readRows(rows, stateOf, onUnreadable).sort(byWaiting);
    },

    register: (state) =>
      store.write(() => {
        const row = rowOf(state);
        if (row && row.generation >= state.generation) return;
        put(state, firstNumberOf(state.generation), null, null);
      }),

    acquire: (key, holder, nowMs, leaseMs, listed) =>
      store.write(() => {
        const row = rowOf(key);
        if (!row) return undefined;
        if (isLeased(row, nowMs)) return { heldBy: row.holder ?? '', untilMs: row.leased_until ?? 0 };
        const state = stateOf(row);
        if (listed && state.lastPolled !== undefined && state.lastPolled !== listed.lastPolled) {
          return { polledAt: state.lastPolled };
        }
        const lease = { fence: row.fence + 1, state: { ...state, lastPolled: nowMs } };
        put(lease.state, lease.fence, holder, nowMs + leaseMs);
        return lease;
      }),

    advance: (key, fence, { counts, lastSuccess, ...progress }, nowMs, leaseMs) =>
      store.write(() => {
        // Without a `lastSuccess`, the stored value stays.
        const patch = JSON.stringify({ ...noFault, resyncing: null, ...progress, lastSuccess });
        const leasedUntil = leaseMs === 'ended' ? null : nowMs + leaseMs;
        const row = renew.get(patch, leasedUntil, key.partnerAccount, key.feed, fence, nowMs);
        if (!row) return false;
        const { repeated, malformed } = counts;
        if (repeated + malformed > 0) {
          const { generation } = row as Pick<Row, 'generation'>;
          const listed = repeated + malformed;
          books.add(key.partnerAccount, generation, { listed, coalesced: repeated, deadLettered: malformed });
        }
        return true;
      }),

    release: (key, fence, { unasked, ...end }, nowMs) =>
      store.write(() => {
        const lastPolled = unasked && { lastPolled: unasked.lastPolled ?? null };
        const patch = JSON.stringify({ ...noFault, ...lastPolled, ...end });
        free.run(patch, key.partnerAccount, key.feed, fence, nowMs);
      }),

    async remove(partnerAccount) {
      await store.write(() => removeAll.run(partnerAccount));
    },
  };
}

/** @throws {ShapeError} */
const stateOf = ({ partner_account, feed, state }: Row): FeedState =>
  checkedJson(feedState, state, feedPlace(partner_account, feed));

/** A JSON patch that removes a fault from the state. @see https://sqlite.org/json1.html#jpatch */
const noFault = { fault: null, faultKind: null, needsPerson: null, pausedUntil: null };

const isLeased = (row: Row, nowMs: number): boolean => row.leased_until !== null && row.leased_until > nowMs;

const byWaiting = (a: FeedState, b: FeedState): number =>
  (a.lastPolled ?? -1) - (b.lastPolled ?? -1) ||
  (`${a.partnerAccount}/${a.feed}` < `${b.partnerAccount}/${b.feed}` ? -1 : 1);
