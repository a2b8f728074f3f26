import type { BookKeeper } from '../domain/ports.ts';
import type { Table } from './conditional-write.ts';
import { countMessages } from './queue-counts.ts';
import { readBooks } from './read-books.ts';
import type { Queue } from './send-batches.ts';

export interface BookKeeperOptions {
  readonly table: Table;
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
}

/** The books on the feed-state table (read-books.ts), and what the queues hold. */
export function createBookKeeper({ table, queue, deadLetterQueue }: BookKeeperOptions): BookKeeper {
  return {
    read: (partnerAccount, generation) => readBooks(table, partnerAccount, generation),

    async queue() {
      const [waiting, deadLetters] = await Promise.all([
        countMessages(queue),
        countMessages(deadLetterQueue),
      ]);
      return { waiting, deadLetters };
    },
  };
}
