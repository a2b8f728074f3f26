import { checked, readRows } from '../contract/checks.ts';
import * as rows from '../contract/rows.ts';
import { feedStateTable } from '../contract/tables.ts';
import { firstNumberOf } from '../domain/partner-account.ts';
import type { FeedKey, FeedState, FeedStates, Lease } from '../ports/feed-states.ts';
import { putItem, type Table, updateItem } from './dynamodb/conditional-write.ts';
import { deleteAll, queryAll } from './dynamodb/query.ts';
import { fromItem, type Item, numberIn } from './dynamodb/values.ts';

const { partitionKey: pk, sortKey: sk } = feedStateTable;

/** Key of the item with a feed's cursor, lease and number of listed IDs. */
export const feedItemKey = ({ partnerAccount, feed }: FeedKey): Item => ({
  [pk]: { S: 'feed' },
  [sk]: { S: `${partnerAccount}/${feed}` },
});

/** Condition: `lastPolled` still has this value, so the feed has not been polled since it was listed. */
const unpolled = ({ lastPolled }: Pick<FeedState, 'lastPolled'>): string =>
  ` AND (attribute_not_exists(#lastPolled)${lastPolled === undefined ? '' : ' OR #lastPolled = :listed'})`;

/** Condition: we still hold the lease. */
const ours = '#fence = :fence AND #leaseUntil > :now';

/**
 * Feed states in the feed-state table. A new generation is one conditional `PutItem`; every other change is one
 * conditional `UpdateItem` of named attributes. The call that takes the lease also returns the state.
 */
export function createFeedStates(table: Table): FeedStates {
  return {
    async list(onUnreadable) {
      const states = readRows(await queryAll(table, 'feed'), stateOf, onUnreadable);
      return states.sort((a, b) => (a.lastPolled ?? -1) - (b.lastPolled ?? -1));
    },

    async register({ partnerAccount, feed, ...state }) {
      const { generation } = state;
      const counts = { listed: 0, repeated: 0, malformed: 0 };
      const item = { ...state, ...counts, fence: firstNumberOf(generation) };
      const condition = `attribute_not_exists(#${pk}) OR #generation < :generation`;
      const isNew = { condition, values: { generation } };
      await putItem(table, feedItemKey({ partnerAccount, feed }), item, isNew);
    },

    async acquire(key, holder, nowMs, leaseMs, listed): Promise<Lease | undefined> {
      const result = await updateItem(table, feedItemKey(key), {
        set: { holder, leaseUntil: nowMs + leaseMs, lastPolled: nowMs },
        add: { fence: 1 },
        condition: `attribute_exists(#${pk}) AND (attribute_not_exists(#leaseUntil) OR #leaseUntil <= :now)${listed ? unpolled(listed) : ''}`,
        values: { now: nowMs, ...(listed?.lastPolled === undefined ? {} : { listed: listed.lastPolled }) },
      });
      if (result.written) {
        const item = result.item ?? {};
        return { fence: numberIn(item, 'fence'), state: stateOf(item) };
      }
      if (!result.found) return undefined;
      const untilMs = numberIn(result.found, 'leaseUntil');
      if (untilMs > nowMs) return { heldBy: result.found.holder?.S ?? '', untilMs };
      return { polledAt: numberIn(result.found, 'lastPolled') };
    },

    async advance(key, fence, { counts, lastSuccess, ...progress }, nowMs, leaseMs) {
      const { listed, malformed, repeated } = counts;
      const noLease = { holder: undefined, leaseUntil: undefined };
      const { written } = await updateItem(table, feedItemKey(key), {
        set: {
          resyncing: undefined,
          ...progress,
          ...(lastSuccess === undefined ? {} : { lastSuccess }),
          fault: undefined,
          faultKind: undefined,
          needsPerson: undefined,
          pausedUntil: undefined,
          ...(leaseMs === 'ended' ? noLease : { leaseUntil: nowMs + leaseMs }),
        },
        add: { listed: listed + repeated, malformed, repeated },
        condition: ours,
        values: { fence, now: nowMs },
      });
      return written;
    },

    async release(key, fence, { unasked, fault, faultKind, needsPerson, pausedUntil }, nowMs) {
      await updateItem(table, feedItemKey(key), {
        set: {
          ...{ fault, faultKind, needsPerson, pausedUntil, ...unasked },
          ...{ holder: undefined, leaseUntil: undefined },
        },
        condition: ours,
        values: { fence, now: nowMs },
      });
    },

    async remove(partnerAccount) {
      // The books of all generations, and the progress of operations, are removed with the feeds. Each kind of item is removed in a separate call,
      // because the functions' permissions are per kind.
      for (const kind of ['feed', 'books', 'progress']) {
        const items = await queryAll(table, kind, `${partnerAccount}/`);
        await deleteAll(
          table,
          items.map((item) => ({ [pk]: item[pk], [sk]: item[sk] }) as Item),
        );
      }
    },
  };
}

/** Attributes of a feed's item that are not part of its state: keys, lease and counters. */
const besideState = new Set([
  ...[pk, sk, 'writeMark', 'fence', 'holder', 'leaseUntil'],
  ...['listed', 'malformed', 'repeated'],
]);

/** @throws {ShapeError} */
function stateOf(item: Item): FeedState {
  const [partnerAccount = '', feed] = (item[sk]?.S ?? '').split('/');
  const place = rows.feedPlace(partnerAccount, feed);
  const fields = Object.entries(fromItem(item, place)).filter(([field]) => !besideState.has(field));
  return checked(rows.feedState, { ...Object.fromEntries(fields), partnerAccount, feed }, place);
}
