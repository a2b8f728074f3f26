import type { FeedName } from '../contract/feeds.ts';
import { feedStateTable } from '../contract/tables.ts';
import type { Books } from '../domain/books.ts';
import type { BookKeeper } from '../ports/books.ts';
import { readItem, type Table, updateItem } from './dynamodb/conditional-write.ts';
import { type Item, numberIn } from './dynamodb/values.ts';
import { feedItemKey } from './feed-states.ts';
import { createParkingLot } from './parking/parking-lot.ts';
import { countMessages } from './sqs/queue-counts.ts';
import type { Queue } from './sqs/send-batches.ts';

/**
 * Numbers to add to the books (negative for a redrive). `redelivered`: how many of these outcomes came from repeated
 * deliveries.
 */
export type Entry = { -readonly [K in Exclude<keyof Books, 'listed' | 'inFlight'>]?: number };

export interface BooksWriter {
  /** @param feed default: adverts */
  add(partnerAccount: string, generation: number, entry: Entry, feed?: FeedName): Promise<void>;
}

/** Key of the item that counts the outcomes of a feed's listed IDs for a generation. */
export const booksItemKey = (
  partnerAccount: string,
  generation: number,
  feed: FeedName = 'adverts',
): Item => ({
  [feedStateTable.partitionKey]: { S: 'books' },
  // The adverts' books existed before other feeds, and keep their key without a feed name.
  [feedStateTable.sortKey]: { S: `${partnerAccount}/${generation}${feed === 'adverts' ? '' : `/${feed}`}` },
});

/** Counts outcomes for a feed and generation of a partner account in the feed-state table: one write per call. */
export function createBooksWriter(table: Table): BooksWriter {
  return {
    async add(partnerAccount, generation, entry, feed) {
      const add = Object.fromEntries(Object.entries(entry).filter(([, count]) => count));
      if (Object.keys(add).length > 0)
        await updateItem(table, booksItemKey(partnerAccount, generation, feed), { add });
    },
  };
}

/**
 * Reads the books from DynamoDB: `listed` is stored with the feed's cursor, the outcomes in a separate item, and the
 * number in flight is the difference. If an outcome was counted but its message came back, it is counted twice;
 * `redelivered` is the maximum number of such outcomes.
 */
export async function readBooks(
  table: Table,
  partnerAccount: string,
  generation: number,
  feed: FeedName = 'adverts',
): Promise<Books> {
  // One call per kind of item: a function's permissions are per kind, and a call over two kinds would be refused.
  const [outcomes, found] = await Promise.all([
    readItem(table, booksItemKey(partnerAccount, generation, feed)),
    readItem(table, feedItemKey({ partnerAccount, feed })),
  ]);
  const state = numberIn(found, 'generation') === generation ? found : undefined;

  // A backfill has no cursor, so its count is stored with the outcomes.
  const listed = numberIn(state, 'listed') + numberIn(outcomes, 'listed');
  const counted = {
    events: numberIn(outcomes, 'events'),
    unchanged: numberIn(outcomes, 'unchanged'),
    // Repeated IDs of a page are coalesced before they reach the queue.
    coalesced: numberIn(outcomes, 'coalesced') + numberIn(state, 'repeated'),
    unavailable: numberIn(outcomes, 'unavailable'),
    // Malformed IDs never reach the queue.
    deadLettered: numberIn(outcomes, 'deadLettered') + numberIn(state, 'malformed'),
  };
  const settled = Object.values(counted).reduce((total, count) => total + count, 0);
  return {
    listed,
    ...counted,
    inFlight: Math.max(0, listed - settled),
    redelivered: numberIn(outcomes, 'redelivered'),
  };
}

/** Reads the books and the contents of the queues; parked messages count as waiting. */
export function createBookKeeper(options: {
  readonly table: Table;
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
}): BookKeeper {
  const { table, queue, deadLetterQueue } = options;
  return {
    read: (partnerAccount, generation, feed) => readBooks(table, partnerAccount, generation, feed),

    async queue() {
      const [inQueue, parked, deadLetters] = await Promise.all([
        countMessages(queue),
        createParkingLot(table).figures(),
        countMessages(deadLetterQueue),
      ]);
      return { ...parked, waiting: inQueue + parked.waiting, deadLetters };
    },
  };
}
