import type { Books } from '../domain/books.ts';
import { feeds } from '../domain/feed.ts';
import { booksItemKey } from './books.ts';
import { readItem, type Table } from './dynamodb/conditional-write.ts';
import { numberIn } from './dynamodb/values.ts';
import { feedItemKey } from './feed-states.ts';

/**
 * The books as DynamoDB has them: `listed` beside each feed's cursor, the outcomes in an item of their own. What is in
 * flight is the difference. An outcome that was counted although its message came back is counted twice; `redelivered`
 * says how many outcomes may be such.
 */
export async function readBooks(table: Table, partnerAccount: string, generation: number): Promise<Books> {
  // Each kind of item by itself: functions are let at the table by kind, and a call over two would be refused.
  const [outcomes, ...found] = await Promise.all([
    readItem(table, booksItemKey(partnerAccount, generation)),
    ...feeds.map(({ name: feed }) => readItem(table, feedItemKey({ partnerAccount, feed }))),
  ]);
  const own = found.filter((item) => numberIn(item, 'generation') === generation);
  const sum = (name: string) => own.reduce((total, item) => total + numberIn(item, name), 0);

  // A backfill counts beside the outcomes: it has no cursor to count beside.
  const listed = sum('listed') + numberIn(outcomes, 'listed');
  const counted = {
    events: numberIn(outcomes, 'events'),
    unchanged: numberIn(outcomes, 'unchanged'),
    // IDs that a page repeated are coalesced before they ever reach the queue.
    coalesced: numberIn(outcomes, 'coalesced') + sum('repeated'),
    unavailable: numberIn(outcomes, 'unavailable'),
    // Malformed IDs never reach the queue either.
    deadLettered: numberIn(outcomes, 'deadLettered') + sum('malformed'),
  };
  const settled = Object.values(counted).reduce((total, count) => total + count, 0);
  return {
    listed,
    ...counted,
    inFlight: Math.max(0, listed - settled),
    redelivered: numberIn(outcomes, 'redelivered'),
  };
}
