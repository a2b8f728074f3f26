import type { ChangedAdvert } from '../../contract/messages.ts';
import type { Store } from '../file/store.ts';

export interface MessageRow {
  readonly sequence_number: number;
  readonly partner_account: string;
  readonly generation: number;
  readonly body: string;
  readonly sent_at: number;
  readonly receives: number;
  /** When a delayed message may be delivered again, ms since 1970; null for all others. */
  readonly visible_at: number | null;
}

/**
 * The rows of the queue. The cost of each function does not depend on the length of the queue. Call the functions
 * within a read or write of the store.
 */
export function createMessages(store: Store) {
  const insert = store.prepare(
    'INSERT INTO messages (partner_account, generation, body, sent_at, receives) VALUES (?, ?, ?, ?, 0)',
  );
  const selectAfter = store.prepare(
    'SELECT * FROM messages WHERE sequence_number > ? ORDER BY sequence_number LIMIT ?',
  );
  const setReceives = store.prepare(
    'UPDATE messages SET receives = ?, visible_at = NULL WHERE sequence_number = ?',
  );
  const setVisibleAt = store.prepare('UPDATE messages SET visible_at = ? WHERE sequence_number = ?');
  const remove = store.prepare('DELETE FROM messages WHERE sequence_number = ?');

  return {
    add(message: ChangedAdvert, sentAt: number): void {
      insert.run(message.partnerAccount, message.generation, JSON.stringify(message), sentAt);
    },

    /** The next messages, in the order of sending. */
    after: (sequenceNumber: number, limit: number) =>
      selectAfter.all(sequenceNumber, limit) as unknown as MessageRow[],

    handedOut(sequenceNumber: number, receives: number): void {
      setReceives.run(receives, sequenceNumber);
    },

    /** @returns whether the message still exists */
    putOff: (sequenceNumber: number, visibleAt: number): boolean =>
      setVisibleAt.run(visibleAt, sequenceNumber).changes === 1,

    /** @returns whether the message still existed */
    remove: (sequenceNumber: number): boolean => remove.run(sequenceNumber).changes === 1,
  };
}
