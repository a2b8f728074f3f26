import type { BookKeeper } from '../ports/books.ts';
import type { Table } from './dynamodb/conditional-write.ts';
import { createParkingLot } from './parking/parking-lot.ts';
import { readBooks } from './read-books.ts';
import { countMessages } from './sqs/queue-counts.ts';
import type { Queue } from './sqs/send-batches.ts';

export interface BookKeeperOptions {
  readonly table: Table;
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
}

/** The books on the feed-state table (read-books.ts), and what the queues hold; parked messages are waiting, too. */
export function createBookKeeper({ table, queue, deadLetterQueue }: BookKeeperOptions): BookKeeper {
  return {
    read: (partnerAccount, generation) => readBooks(table, partnerAccount, generation),

    async queue() {
      const [inQueue, parked, deadLetters] = await Promise.all([
        countMessages(queue),
        createParkingLot(table).count(),
        countMessages(deadLetterQueue),
      ]);
      return { waiting: inQueue + parked, deadLetters };
    },
  };
}
