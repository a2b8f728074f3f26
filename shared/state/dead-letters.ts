/**
 * Dead letters: messages that were given up, each as a row. A person drops one, or redrives it: then its message waits like
 * those on hold (aside.ts).
 */
import { createHash } from 'node:crypto';
import { checked, type OnUnreadable, readRows } from '../contract/checks.ts';
import { type DeadLetter, deadLetter } from '../contract/messages.ts';
import { forEachConcurrent } from '../domain/concurrency.ts';
import type { MessageAside } from '../ports/queue.ts';
import { type Etag, type Key, pagesOf, type Row, removedAtOnce, type Store, update } from '../ports/store.ts';
import { type Counted, countInBooks } from './books.ts';

export interface StoredDeadLetter extends DeadLetter, Pick<MessageAside, 'key' | 'etag'> {
  /** `<partner account>/<hash>`. */
  readonly id: string;
}

/** In names of rows in place of an account's name, which begins with no hyphen. */
export const noAccount = '-';

export type Note = Readonly<Record<string, unknown>>;

export interface RowAside {
  readonly key: Key;
  readonly value: unknown;
}

/** The key of a message is the same for each of its dead letters. */
export function rowOfDeadLetter(value: DeadLetter): RowAside {
  const { partnerAccount, advertId, fault, reason, message } = value;
  const identity = message?.key ?? JSON.stringify([advertId, fault, reason]);
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 16);
  return { key: { kind: 'dead', name: `${partnerAccount ?? noAccount}/${hash}` }, value };
}

/** What a redrive counts. */
export const countOfRedriven = ({ message }: Pick<MessageAside, 'message'>): Counted => [
  message,
  { deadLettered: -1 },
];

/** Of what an operator sends again: it waits for the drain, after those on hold. A repeat has the same name. */
const keyOfRedriven = (partnerAccount: string, etag: Etag): Key => ({
  kind: 'aside',
  name: `${partnerAccount}/redriven:${etag}`,
});

/** The row in which the message of a dead letter waits for the drain. */
export const rowOfRedriven = ({
  etag,
  message: { failed: _, believed: __, ...message },
}: MessageAside): RowAside => ({
  key: keyOfRedriven(message.partnerAccount, etag),
  value: { message: { ...message, redriven: true } },
});

/** The row in which a message that failed waits for the drain, once the answer is to be believed. */
export const rowOfBelieved = ({ etag, message }: MessageAside): RowAside => ({
  key: keyOfRedriven(message.partnerAccount, etag),
  value: { message: { ...message, believed: true } },
});

export async function putRow(store: Store, { key, value }: RowAside): Promise<void> {
  const stored = await store.put(key, value, 'absent');
  // Somebody may have put the message of this dead letter aside, and is about to remove the row: the new etag keeps it.
  if ('conflict' in stored && key.kind === 'dead') await update(store, key, () => value);
}

/** Gives each message another row. */
export const moveRows = (
  store: Store,
  messages: readonly MessageAside[],
  rowOf: (message: MessageAside) => RowAside,
): Promise<void> =>
  forEachConcurrent(messages, removedAtOnce, async (one) => {
    // Rule: aside-before-removed
    await putRow(store, rowOf(one));
    await store.remove(one.key, one.etag);
  });

export const removeFrom =
  (store: Store) =>
  (rows: readonly Pick<MessageAside, 'key' | 'etag'>[]): Promise<void> =>
    forEachConcurrent(rows, removedAtOnce, async ({ key, etag }) => {
      await store.remove(key, etag);
    });

export type DeadLetters = ReturnType<typeof createDeadLetters>;

export function createDeadLetters(store: Store) {
  return {
    /** Stores a dead letter for malformed IDs, which were never messages. A repeat overwrites. */
    sendMalformed: (malformed: DeadLetter): Promise<void> => putRow(store, rowOfDeadLetter(malformed)),

    /**
     * @param of a partner account, or one ID. Default: all
     * @throws {ShapeError} for a row that cannot be read, unless `onUnreadable` is given
     */
    async list(of = '', onUnreadable?: OnUnreadable): Promise<readonly StoredDeadLetter[]> {
      const prefix = of === '' || of.includes('/') ? of : `${of}/`;
      const found: StoredDeadLetter[] = [];
      for await (const rows of pagesOf(store, 'dead', prefix))
        found.push(...readRows(rows, storedDeadLetter, onUnreadable));
      return found;
    },

    /** Number of dead letters, unreadable ones included. @param limit stops counting there, which limits the cost */
    count: (limit?: number): Promise<number> => store.count('dead', { limit }),

    /** Puts the messages of dead letters aside, from where the drain puts them back into the queue. */
    async redrive(deadLetters: readonly MessageAside[]): Promise<void> {
      await moveRows(store, deadLetters, rowOfRedriven);
      await countInBooks(store, deadLetters.map(countOfRedriven));
    },

    /** Has the drain log what an operator does to dead letters. */
    note: (id: string, note: Note): Promise<void> =>
      putRow(store, { key: { kind: 'aside', name: `${noAccount}/${id}` }, value: note }),

    /** Removes dead letters, unless they were stored again; the books go on counting them. */
    drop: removeFrom(store),
  };
}

/** @throws {ShapeError} */
const storedDeadLetter = ({ name, value, etag }: Row): StoredDeadLetter => ({
  id: name,
  key: { kind: 'dead', name },
  etag,
  ...checked(deadLetter, value, `dead letter ${name}`),
});
