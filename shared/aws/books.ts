import { feedNames } from '../contract/feeds.ts';
import { feedStateTable } from '../contract/tables.ts';
import type { Books } from '../domain/books.ts';
import type { BookKeeper } from '../ports/books.ts';
import type { Aside } from '../state/aside.ts';
import { readItem, type Table, updateItem } from './dynamodb/conditional-write.ts';
import { type Item, numberIn } from './dynamodb/values.ts';
import { feedItemKey } from './feed-states.ts';
import { countMessages } from './sqs/queue-counts.ts';
import type { Queue } from './sqs/send-batches.ts';

/**
 * Numbers to add to the books (negative for a redrive). `redelivered`: how many of these outcomes came from repeated
 * deliveries.
 */
export type Entry = { -readonly [K in Exclude<keyof Books, 'listed' | 'inFlight'>]?: number };

export interface BooksWriter {
  add(partnerAccount: string, generation: number, entry: Entry): Promise<void>;
}

/** Key of the item that counts the outcomes of listed IDs for a generation. */
export const booksItemKey = (partnerAccount: string, generation: number): Item => ({
  [feedStateTable.partitionKey]: { S: 'books' },
  [feedStateTable.sortKey]: { S: `${partnerAccount}/${generation}` },
});

/** Counts outcomes for a generation of a partner account in the feed-state table: one write per call. */
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
 * Reads the books from DynamoDB: `listed` is stored with each feed's cursor, the outcomes in a separate item, and the
 * number in flight is the difference. If an outcome was counted but its message came back, it is counted twice;
 * `redelivered` is the maximum number of such outcomes.
 */
export async function readBooks(table: Table, partnerAccount: string, generation: number): Promise<Books> {
  // One call per kind of item: a function's permissions are per kind, and a call over two kinds would be refused.
  const [outcomes, ...found] = await Promise.all([
    readItem(table, booksItemKey(partnerAccount, generation)),
    ...feedNames.map((feed) => readItem(table, feedItemKey({ partnerAccount, feed }))),
  ]);
  const states = found.filter((state) => numberIn(state, 'generation') === generation);
  const sumOf = (figure: string) => states.reduce((sum, state) => sum + numberIn(state, figure), 0);

  // A backfill has no cursor, so its count is stored with the outcomes.
  const listed = sumOf('listed') + numberIn(outcomes, 'listed');
  const counted = {
    events: numberIn(outcomes, 'events'),
    unchanged: numberIn(outcomes, 'unchanged'),
    // Repeated IDs of a page are coalesced before they reach the queue.
    coalesced: numberIn(outcomes, 'coalesced') + sumOf('repeated'),
    unavailable: numberIn(outcomes, 'unavailable'),
    // Malformed IDs never reach the queue.
    deadLettered: numberIn(outcomes, 'deadLettered') + sumOf('malformed'),
  };
  const settled = Object.values(counted).reduce((total, count) => total + count, 0);
  return {
    listed,
    ...counted,
    inFlight: Math.max(0, listed - settled),
    redelivered: numberIn(outcomes, 'redelivered'),
  };
}

/** Reads the books and the contents of the queues; messages aside count as waiting. */
export function createBookKeeper(options: {
  readonly table: Table;
  readonly aside: Pick<Aside, 'figures'>;
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
}): BookKeeper {
  const { table, aside, queue, deadLetterQueue } = options;
  return {
    read: (partnerAccount, generation) => readBooks(table, partnerAccount, generation),

    async queue() {
      const [inQueue, held, deadLetters] = await Promise.all([
        countMessages(queue),
        aside.figures(),
        countMessages(deadLetterQueue),
      ]);
      return { ...held, waiting: inQueue + held.waiting, deadLetters };
    },
  };
}
