import type { DeadLetter } from '../contract/messages.ts';
import type { EmbeddedBooks } from './books.ts';
import type { Store } from './file/store.ts';
import { createMessages } from './queue/messages.ts';

interface Row {
  readonly id: number;
  readonly partner_account: string;
  readonly generation: number;
  readonly letter: string;
}

export type EmbeddedDeadLetters = ReturnType<typeof createDeadLetters>;

/** Dead letters in the state file, each with the generation in whose books it counts. */
export function createDeadLetters(store: Store, books: EmbeddedBooks, clock: { now(): number }) {
  const messages = createMessages(store);
  const insert = store.prepare(
    'INSERT INTO dead_letters (partner_account, generation, letter) VALUES (?, ?, ?)',
  );
  const selectSome = store.prepare(
    'SELECT id, letter FROM dead_letters WHERE ?1 IS NULL OR partner_account = ?1 ORDER BY id',
  );
  const select = store.prepare('SELECT * FROM dead_letters WHERE id = ?');
  const remove = store.prepare('DELETE FROM dead_letters WHERE id = ?');
  const selectGeneration = store.prepare(
    'SELECT ifnull(max(generation), 0) AS generation FROM feeds WHERE partner_account = ?',
  );

  const rowOf = (id: string) => select.get(Number(id)) as Row | undefined;
  const letterOf = ({ letter }: Pick<Row, 'letter'>): DeadLetter => JSON.parse(letter) as DeadLetter;

  /** Call it within a write of the store that also counts the dead letter. */
  function add(letter: DeadLetter, partnerAccount: string, generation: number): void {
    insert.run(partnerAccount, generation, JSON.stringify(letter));
  }

  // This dead letter names only the partner account, so it counts for the generation that is polled.
  function addMalformed(letter: DeadLetter): void {
    const { partnerAccount, count = 1 } = letter;
    const account = partnerAccount ?? '';
    const { generation } = selectGeneration.get(account) as { generation: number };
    add(letter, account, generation);
    books.add(account, generation, { listed: count, deadLettered: count });
  }

  function redriveNow(id: string): 'redriven' | 'unknown' | 'nothing-to-send' {
    const row = rowOf(id);
    if (!row) return 'unknown';
    const { message } = letterOf(row);
    if (!message) return 'nothing-to-send';
    remove.run(row.id);
    messages.add(message, clock.now());
    const { partner_account: name, generation } = row;
    books.add(name, generation, { deadLettered: -1, inFlight: 1 });
    return 'redriven';
  }

  return {
    add,
    sendMalformed: (letters: readonly DeadLetter[]): Promise<void> =>
      store.write(() => letters.forEach(addMalformed)),

    /** Oldest first. @param partnerAccount default: all partner accounts */
    async list(partnerAccount?: string): Promise<{ id: string; letter: DeadLetter }[]> {
      const rows = store.read(() => selectSome.all(partnerAccount ?? null)) as unknown as Row[];
      return rows.map((row) => ({ id: String(row.id), letter: letterOf(row) }));
    },

    /** Deletes the dead letter; the books still count it as dead-lettered. @returns undefined if it is unknown */
    take: (id: string): Promise<DeadLetter | undefined> =>
      store.write(() => {
        const row = rowOf(id);
        if (row) remove.run(row.id);
        return row && letterOf(row);
      }),

    /**
     * Sends the message of the dead letter again, at the end of the queue; it then counts as in flight instead of
     * dead-lettered.
     */
    redrive: (id: string) => store.write(() => redriveNow(id)),
  };
}
