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

export interface LetterQuery {
  readonly partnerAccount?: string;
  /** Default 100. */
  readonly limit?: number;
}

export type EmbeddedDeadLetters = ReturnType<typeof createDeadLetters>;

/** Dead letters in the state file, with the entry of the books that each is counted in. */
export function createDeadLetters(store: Store, books: EmbeddedBooks, clock: { now(): number }) {
  const messages = createMessages(store);
  const insert = store.prepare(
    'INSERT INTO dead_letters (partner_account, generation, letter) VALUES (?, ?, ?)',
  );
  const selectSome = store.prepare('SELECT id, letter FROM dead_letters ORDER BY id LIMIT ?');
  const selectOfAccount = store.prepare(
    'SELECT id, letter FROM dead_letters WHERE partner_account = ? ORDER BY id LIMIT ?',
  );
  const selectCount = store.prepare('SELECT count(*) AS letters FROM dead_letters');
  const select = store.prepare('SELECT * FROM dead_letters WHERE id = ?');
  const remove = store.prepare('DELETE FROM dead_letters WHERE id = ?');
  const selectGeneration = store.prepare(
    'SELECT max(generation) AS generation FROM feeds WHERE partner_account = ?',
  );

  const rowOf = (id: string) => select.get(Number(id)) as Row | undefined;
  const letterOf = ({ letter }: Pick<Row, 'letter'>): DeadLetter => JSON.parse(letter) as DeadLetter;

  /** To be called within a write of the store. */
  function add(letter: DeadLetter, partnerAccount: string, generation: number): void {
    insert.run(partnerAccount, generation, JSON.stringify(letter));
  }

  // A letter names only the partner account: it counts for the generation that is being polled.
  function addMalformed(letter: DeadLetter): void {
    const partnerAccount = letter.partnerAccount ?? '';
    const row = selectGeneration.get(partnerAccount) as { generation: number | null };
    add(letter, partnerAccount, row.generation ?? 0);
    const { count = 1 } = letter;
    books.add(partnerAccount, row.generation ?? 0, { listed: count, deadLettered: count });
  }

  function redriveNow(id: string): 'redriven' | 'unknown' | 'nothing-to-send' {
    const row = rowOf(id);
    if (!row) return 'unknown';
    const { message } = letterOf(row);
    if (!message) return 'nothing-to-send';
    remove.run(row.id);
    messages.add(message, clock.now());
    books.add(row.partner_account, row.generation, { deadLettered: -1, inFlight: 1 });
    return 'redriven';
  }

  return {
    add,
    sendMalformed: (letters: readonly DeadLetter[]): Promise<void> =>
      store.write(() => {
        for (const letter of letters) addMalformed(letter);
      }),

    /** Oldest first. */
    async list({
      partnerAccount,
      limit = 100,
    }: LetterQuery = {}): Promise<{ id: string; letter: DeadLetter }[]> {
      const rows = store.read(() =>
        partnerAccount === undefined ? selectSome.all(limit) : selectOfAccount.all(partnerAccount, limit),
      ) as unknown as Row[];
      return rows.map((row) => ({ id: String(row.id), letter: letterOf(row) }));
    },

    count: async (): Promise<number> => store.read(() => (selectCount.get() as { letters: number }).letters),

    /** Takes the letter out for good; the books go on counting it as dead-lettered. */
    take: (id: string): Promise<DeadLetter | undefined> =>
      store.write(() => {
        const row = rowOf(id);
        if (row) remove.run(row.id);
        return row && letterOf(row);
      }),

    /** Puts its message at the end of its group and out of the books' dead-lettered, in one transaction. */
    redrive: (id: string) => store.write(() => redriveNow(id)),
  };
}
