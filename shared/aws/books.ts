import { feedNames } from '../contract/feeds.ts';
import type { Books } from '../domain/books.ts';
import type { BookKeeper } from '../ports/books.ts';
import type { Counters, Key, Store } from '../ports/store.ts';
import type { Aside, DeadLetters } from '../state/aside.ts';
import { listedByOperations } from '../state/progress.ts';
import { readItem, type Table } from './dynamodb/conditional-write.ts';
import { numberIn } from './dynamodb/values.ts';
import { feedItemKey } from './feed-states.ts';
import { countMessages } from './sqs/queue-counts.ts';
import type { Queue } from './sqs/send-batches.ts';
import { createStore } from './store.ts';

/**
 * Numbers to add to the books (negative for a redrive). `redelivered`: how many of these outcomes came from repeated
 * deliveries.
 */
export type Entry = { -readonly [K in Exclude<keyof Books, 'listed' | 'inFlight'>]?: number };

export interface BooksWriter {
  add(partnerAccount: string, generation: number, entry: Entry): Promise<void>;
}

/** Key of the sums of outcomes of listed IDs for a generation. */
const booksKey = (partnerAccount: string, generation: number): Key => ({
  kind: 'books',
  name: `${partnerAccount}/${generation}`,
});

/** Counts outcomes for a generation of a partner account: one write per call. */
export function createBooksWriter(store: Pick<Store, 'add'>): BooksWriter {
  return {
    async add(partnerAccount, generation, entry) {
      const counters = Object.fromEntries(Object.entries(entry).filter(([, count]) => count));
      if (Object.keys(counters).length > 0) await store.add(booksKey(partnerAccount, generation), counters);
    },
  };
}

/**
 * Reads the books from DynamoDB: `listed` is stored with each feed's cursor, the outcomes in a separate item, and the
 * number in flight is the difference. If an outcome was counted but its message came back, it is counted twice;
 * `redelivered` is the maximum number of such outcomes.
 */
export async function readBooks(table: Table, partnerAccount: string, generation: number): Promise<Books> {
  const store = createStore({ feedState: table });
  const [row, listedBeside, ...found] = await Promise.all([
    store.get(booksKey(partnerAccount, generation)),
    listedByOperations(store, { partnerAccount, generation }),
    ...feedNames.map((feed) => readItem(table, feedItemKey({ partnerAccount, feed }))),
  ]);
  const outcomes = (row?.value ?? {}) as Counters;
  const outcome = (figure: string) => outcomes[figure] ?? 0;
  const states = found.filter((state) => numberIn(state, 'generation') === generation);
  const sumOf = (figure: string) => states.reduce((sum, state) => sum + numberIn(state, figure), 0);

  // A backfill and an audit have no cursor: their counts are stored with their progress.
  const listed = sumOf('listed') + listedBeside;
  const counted = {
    events: outcome('events'),
    unchanged: outcome('unchanged'),
    // Repeated IDs of a page are coalesced before they reach the queue.
    coalesced: outcome('coalesced') + sumOf('repeated'),
    unavailable: outcome('unavailable'),
    // Malformed IDs never reach the queue.
    deadLettered: outcome('deadLettered') + sumOf('malformed'),
  };
  const settled = Object.values(counted).reduce((total, count) => total + count, 0);
  return {
    listed,
    ...counted,
    inFlight: Math.max(0, listed - settled),
    redelivered: outcome('redelivered'),
  };
}

/** Reads the books, and counts the messages in the queue and aside. */
export function createBookKeeper(options: {
  readonly table: Table;
  readonly aside: Pick<Aside, 'figures'>;
  readonly queue: Queue;
  readonly deadLetters: Pick<DeadLetters, 'count'>;
}): BookKeeper {
  const { table, aside, deadLetters, queue } = options;
  return {
    read: (partnerAccount, generation) => readBooks(table, partnerAccount, generation),

    async queue() {
      const [inQueue, held, dead] = await Promise.all([
        countMessages(queue),
        aside.figures(),
        deadLetters.count(),
      ]);
      return { ...held, waiting: inQueue + held.waiting, deadLetters: dead };
    },
  };
}
