import type { Books } from '../domain/books.ts';
import { emptyBooks } from '../domain/books.ts';
import type { BookKeeper } from '../ports/books.ts';
import type { Store } from './file/store.ts';

export type Counts = Partial<Record<keyof Omit<Books, 'redelivered'>, number>>;

interface Row {
  readonly listed: number;
  readonly events: number;
  readonly unchanged: number;
  readonly coalesced: number;
  readonly unavailable: number;
  readonly dead_lettered: number;
  readonly in_flight: number;
}

const columns = [
  'listed',
  'events',
  'unchanged',
  'coalesced',
  'unavailable',
  'dead_lettered',
  'in_flight',
] as const;

export type EmbeddedBooks = ReturnType<typeof createBooks>;

/** The books in the state file: counted in the transaction that does what is counted. */
export function createBooks(store: Store) {
  const select = store.prepare(`SELECT ${columns} FROM books WHERE partner_account = ? AND generation = ?`);
  const selectDepth = store.prepare('SELECT sum(in_flight) AS depth FROM books WHERE partner_account = ?');
  const selectWaiting = store.prepare('SELECT sum(in_flight) AS depth FROM books');
  const selectLetters = store.prepare('SELECT count(*) AS letters FROM dead_letters');
  const upsert = store.prepare(
    `INSERT INTO books (${columns}, partner_account, generation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET ${columns.map((column) => `${column} = ${column} + excluded.${column}`)}`,
  );

  /** Adds to the entry. To be called within a write of the store. */
  function add(partnerAccount: string, generation: number, counts: Counts): void {
    const { listed = 0, events = 0, unchanged = 0, coalesced = 0, unavailable = 0 } = counts;
    const { deadLettered = 0, inFlight = 0 } = counts;
    upsert.run(
      listed,
      events,
      unchanged,
      coalesced,
      unavailable,
      deadLettered,
      inFlight,
      partnerAccount,
      generation,
    );
  }

  const keeper: BookKeeper = {
    async read(partnerAccount, generation) {
      const row = store.read(() => select.get(partnerAccount, generation)) as Row | undefined;
      if (!row) return emptyBooks;
      const { dead_lettered: deadLettered, in_flight: inFlight, ...rest } = row;
      return { ...rest, deadLettered, inFlight };
    },
    queue: async () =>
      store.read(() => ({
        waiting: depthOf(selectWaiting.get()),
        deadLetters: (selectLetters.get() as { letters: number }).letters,
      })),
  };

  return {
    add,
    keeper,
    /** Messages of the partner account in the queue, of all its generations. */
    depth: (partnerAccount: string): number => store.read(() => depthOf(selectDepth.get(partnerAccount))),
  };
}

const depthOf = (row: unknown): number => (row as { depth: number | null }).depth ?? 0;
