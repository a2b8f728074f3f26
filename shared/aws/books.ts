import { feedNames } from '../contract/feeds.ts';
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
  add(partnerAccount: string, generation: number, entry: Entry): Promise<void>;
}

/** Key of the item that counts what became of a generation's listed IDs. */
export const booksItemKey = (partnerAccount: string, generation: number): Item => ({
  [feedStateTable.partitionKey]: { S: 'books' },
  [feedStateTable.sortKey]: { S: `${partnerAccount}/${generation}` },
});

/** Counts the outcomes of a partner account's generation on the feed-state table: one write for each call. */
export function createBooksWriter(table: Table): BooksWriter {
  return {
    async add(partnerAccount, generation, entry) {
      const add = Object.fromEntries(Object.entries(entry).filter(([, count]) => count));
      if (Object.keys(add).length > 0)
        await updateItem(table, booksItemKey(partnerAccount, generation), { add });
    },
  };
}

/**
 * The books as DynamoDB has them: `listed` beside each feed's cursor, the outcomes in an item of their own. What is in
 * flight is the difference. An outcome that was counted although its message came back is counted twice; `redelivered`
 * says how many outcomes may be such.
 */
export async function readBooks(table: Table, partnerAccount: string, generation: number): Promise<Books> {
  // Each kind of item by itself: the grants of a function are by kind, and a call over two would be refused.
  const [outcomes, ...found] = await Promise.all([
    readItem(table, booksItemKey(partnerAccount, generation)),
    ...feedNames.map((feed) => readItem(table, feedItemKey({ partnerAccount, feed }))),
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

/** The books, and what the queues hold; parked messages are waiting, too. */
export function createBookKeeper(options: {
  readonly table: Table;
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
}): BookKeeper {
  const { table, queue, deadLetterQueue } = options;
  return {
    read: (partnerAccount, generation) => readBooks(table, partnerAccount, generation),

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
