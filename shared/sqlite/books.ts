import { type Books, emptyBooks } from '../domain/books.ts';
import type { BookKeeper, QueueFigures } from '../ports/books.ts';
import type { Store } from './file/store.ts';

export type Counts = Partial<Omit<Books, 'redelivered'>>;

/** Columns of the table `books`, by figure. */
const columns = {
  listed: 'listed',
  events: 'events',
  unchanged: 'unchanged',
  coalesced: 'coalesced',
  unavailable: 'unavailable',
  deadLettered: 'dead_lettered',
  inFlight: 'in_flight',
} as const satisfies Record<keyof Counts, string>;
const figures = Object.keys(columns) as (keyof Counts)[];
const columnNames = Object.values(columns);

export type EmbeddedBooks = ReturnType<typeof createBooks>;

/** The books in the state file. Each count is part of the transaction in which the counted change happens. */
export function createBooks(store: Store) {
  const select = store.prepare(
    `SELECT ${figures.map((figure) => `${columns[figure]} AS ${figure}`)} FROM books
     WHERE partner_account = ? AND generation = ?`,
  );
  const selectDepth = store.prepare(
    'SELECT ifnull(sum(in_flight), 0) AS depth FROM books WHERE partner_account = ?',
  );
  const selectQueue = store.prepare(
    `SELECT (SELECT ifnull(sum(in_flight), 0) FROM books) AS waiting,
       (SELECT count(*) FROM rows WHERE kind = 'dead') AS deadLetters`,
  );
  const oldestIn = [
    `SELECT json_extract(body, '$.listedAt') AS listedAt FROM messages WHERE sequence_number > 0
     ORDER BY sequence_number LIMIT 1`,
    `SELECT min(json_extract(value, '$.message.listedAt')) AS listedAt FROM rows WHERE kind = 'aside'`,
  ].map((query) => store.prepare(query));
  const upsert = store.prepare(
    `INSERT INTO books (partner_account, generation, ${columnNames}) VALUES (?, ?, ${columnNames.map(() => '?')})
     ON CONFLICT DO UPDATE SET ${columnNames.map((column) => `${column} = ${column} + excluded.${column}`)}`,
  );

  const keeper: BookKeeper = {
    async read(partnerAccount, generation) {
      const row = store.read(() => select.get(partnerAccount, generation)) as Books | undefined;
      return row ? { ...row } : emptyBooks;
    },
    queue: async () =>
      store.read(() => {
        const figures = selectQueue.get() as unknown as QueueFigures;
        const [first] = oldestIn
          .flatMap((select) => (select.get() as { listedAt: string | null } | undefined)?.listedAt ?? [])
          .sort();
        return first === undefined ? { ...figures } : { ...figures, oldestListedAt: first };
      }),
  };

  return {
    keeper,
    /** Adds to the figures of a generation. Call it within a write of the store. */
    add(partnerAccount: string, generation: number, counts: Counts): void {
      upsert.run(partnerAccount, generation, ...figures.map((figure) => counts[figure] ?? 0));
    },
    /** Number of messages of the partner account, in the queue or aside, in all its generations. */
    depth: (partnerAccount: string): number =>
      (store.read(() => selectDepth.get(partnerAccount)) as { depth: number }).depth,
  };
}
