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

/** What is added to the books (a redrive takes away). `redelivered`: of these outcomes, those of a delivery beyond its message's first. */
export type Entry = { -readonly [K in Exclude<keyof Books, 'listed' | 'inFlight'>]?: number };

export interface BooksWriter {
  /** @param feed default: adverts */
  add(partnerAccount: string, generation: number, entry: Entry, feed?: FeedName): Promise<void>;
}

/** Key of the item that counts what became of the IDs that a feed listed for a generation. */
export const booksItemKey = (
  partnerAccount: string,
  generation: number,
  feed: FeedName = 'adverts',
): Item => ({
  [feedStateTable.partitionKey]: { S: 'books' },
  // Adverts' books are as old as the bridge, and keep their key.
  [feedStateTable.sortKey]: { S: `${partnerAccount}/${generation}${feed === 'adverts' ? '' : `/${feed}`}` },
});

/** Counts the outcomes of a feed of a partner account's generation on the feed-state table: one write for each call. */
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
 * The books as DynamoDB has them: `listed` beside the feed's cursor, the outcomes in an item of their own. What is in
 * flight is the difference. An outcome that was counted although its message came back is counted twice; `redelivered`
 * says how many outcomes may be such.
 */
export async function readBooks(
  table: Table,
  partnerAccount: string,
  generation: number,
  feed: FeedName = 'adverts',
): Promise<Books> {
  // Each kind of item by itself: the grants of a function are by kind, and a call over two would be refused.
  const [outcomes, found] = await Promise.all([
    readItem(table, booksItemKey(partnerAccount, generation, feed)),
    readItem(table, feedItemKey({ partnerAccount, feed })),
  ]);
  const state = numberIn(found, 'generation') === generation ? found : undefined;

  // A backfill counts beside the outcomes: it has no cursor to count beside.
  const listed = numberIn(state, 'listed') + numberIn(outcomes, 'listed');
  const counted = {
    events: numberIn(outcomes, 'events'),
    unchanged: numberIn(outcomes, 'unchanged'),
    // IDs that a page repeated are coalesced before they ever reach the queue.
    coalesced: numberIn(outcomes, 'coalesced') + numberIn(state, 'repeated'),
    unavailable: numberIn(outcomes, 'unavailable'),
    // Malformed IDs never reach the queue either.
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

/** The books, and what the queues hold; parked messages are waiting, too. */
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
