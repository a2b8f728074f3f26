import { firstNumberOf } from '../../shared/domain/partner-account.ts';
import type { FeedKey, FeedState, FeedStates } from '../../shared/ports/feed-states.ts';
import { createInMemoryBooks, type InMemoryBooks } from './books.ts';

interface Row {
  state: FeedState;
  fence: number;
  lease?: { readonly holder: string; readonly untilMs: number };
}

/**
 * Feed states in memory.
 *
 * @param books the queue's books, so that repeated and malformed IDs of a page are counted together with the cursor
 */
export function createInMemoryFeedStates(books: InMemoryBooks = createInMemoryBooks()): FeedStates {
  const rows = new Map<string, Row>();

  function leased(key: FeedKey, fence: number, nowMs: number): Row | undefined {
    const row = rows.get(keyOf(key));
    // Planted fault: lost-lease-writes
    return row?.lease && row.fence === fence && row.lease.untilMs > nowMs ? row : undefined;
  }

  return {
    list: async () => [...rows.values()].map(({ state }) => state).sort(byWaiting),

    async register(state) {
      const row = rows.get(keyOf(state));
      if (row && row.state.generation >= state.generation) return;
      // Planted fault: cursor-kept-for-new-user
      rows.set(keyOf(state), { state, fence: firstNumberOf(state.generation) });
    },

    async acquire(key, holder, nowMs, leaseMs, listed) {
      const row = rows.get(keyOf(key));
      if (!row) return undefined;
      if (row.lease && row.lease.untilMs > nowMs)
        return { heldBy: row.lease.holder, untilMs: row.lease.untilMs };
      const { lastPolled } = row.state;
      if (listed && lastPolled !== undefined && lastPolled !== listed.lastPolled)
        return { polledAt: lastPolled };
      row.fence += 1;
      row.lease = { holder, untilMs: nowMs + leaseMs };
      row.state = { ...row.state, lastPolled: nowMs };
      return { fence: row.fence, state: row.state };
    },

    async advance(key, fence, { counts: { repeated, malformed }, lastSuccess, ...progress }, nowMs, leaseMs) {
      const row = leased(key, fence, nowMs);
      // Planted fault: lost-lease-writes
      if (!row?.lease) return false;
      const { resyncing: _over, ...state } = wellOf(row.state);
      row.state = {
        ...state,
        ...progress,
        ...(lastSuccess === undefined ? {} : { lastSuccess }),
      };
      if (leaseMs === 'ended') delete row.lease;
      else row.lease = { holder: row.lease.holder, untilMs: nowMs + leaseMs };
      const counts = books.of(key.partnerAccount, row.state.generation);
      counts.listed += repeated + malformed;
      counts.coalesced += repeated;
      counts.deadLettered += malformed;
      return true;
    },

    async release(key, fence, { unasked, ...end }, nowMs) {
      const row = leased(key, fence, nowMs);
      if (!row) return;
      row.state = { ...wellOf(row.state), ...unasked, ...end };
      delete row.lease;
    },

    async remove(partnerAccount) {
      for (const [key, { state }] of rows) if (state.partnerAccount === partnerAccount) rows.delete(key);
    },
  };
}

/** The state without the feed's fault. */
function wellOf({
  fault: _fault,
  faultKind: _kind,
  needsPerson: _person,
  pausedUntil: _until,
  ...state
}: FeedState): FeedState {
  return state;
}

const keyOf = ({ partnerAccount, feed }: FeedKey): string => `${partnerAccount}/${feed}`;

const byWaiting = (a: FeedState, b: FeedState): number =>
  (a.lastPolled ?? -1) - (b.lastPolled ?? -1) || (keyOf(a) < keyOf(b) ? -1 : 1);
