import type { ChangedAdvert } from '../../contract/messages.ts';
import type { Store } from '../file/store.ts';

export interface MessageRow {
  readonly sequence_number: number;
  readonly partner_account: string;
  readonly generation: number;
  readonly body: string;
  readonly sent_at: number;
  readonly receives: number;
  /** When it can be had again, of one that a verdict has put off; null of all others. */
  readonly visible_at: number | null;
}

/**
 * The rows of the queue: what must be there again after a crash. Who has a message in hand is not: that ends with the
 * process. Each function costs the same however long the queue is, and is to be called within a read or write of the store.
 */
export function createMessages(store: Store) {
  const insert = store.prepare(
    'INSERT INTO messages (partner_account, generation, body, sent_at, receives) VALUES (?, ?, ?, ?, 0)',
  );
  const selectAfter = store.prepare(
    'SELECT * FROM messages WHERE sequence_number > ? ORDER BY sequence_number LIMIT ?',
  );
  const selectOne = store.prepare('SELECT * FROM messages WHERE sequence_number = ?');
  const noteReceives = store.prepare(
    'UPDATE messages SET receives = ?, visible_at = NULL WHERE sequence_number BETWEEN ? AND ?',
  );
  const putOff = store.prepare('UPDATE messages SET visible_at = ? WHERE sequence_number = ?');
  const remove = store.prepare('DELETE FROM messages WHERE sequence_number = ?');

  return {
    /** @returns its sequence number */
    add(message: ChangedAdvert, sentAt: number): number {
      const { partnerAccount, generation } = message;
      return Number(insert.run(partnerAccount, generation, JSON.stringify(message), sentAt).lastInsertRowid);
    },

    /** The next ones in the order in which they were sent. */
    after: (sequenceNumber: number, limit: number) =>
      selectAfter.all(sequenceNumber, limit) as unknown as MessageRow[],

    one: (sequenceNumber: number) => selectOne.get(sequenceNumber) as unknown as MessageRow | undefined,

    /** Every message from one to another, each for so many times now. */
    handedOut(from: number, to: number, receives: number): void {
      noteReceives.run(receives, from, to);
    },

    /** @returns whether it is still there */
    putOff: (sequenceNumber: number, visibleAt: number): boolean =>
      putOff.run(visibleAt, sequenceNumber).changes === 1,

    /** @returns whether it was still there */
    remove: (sequenceNumber: number): boolean => remove.run(sequenceNumber).changes === 1,
  };
}
