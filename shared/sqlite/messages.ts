import { type ChangedAdvert, type MessageRead, messageIn } from '../contract/messages.ts';
import { messageGroupOf, positionOf, type Queued } from '../domain/queue/message-groups.ts';
import type { Delivery, WaitingMessages } from '../ports/queue.ts';
import { type Aside, waitingAside } from '../state/aside.ts';
import type { Connection } from './file/connection.ts';

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
 * within a read or write of the connection.
 */
export function createMessages(connection: Connection) {
  const insert = connection.prepare(
    'INSERT INTO messages (partner_account, generation, body, sent_at, receives) VALUES (?, ?, ?, ?, 0)',
  );
  const selectAfter = connection.prepare(
    'SELECT * FROM messages WHERE sequence_number > ? ORDER BY sequence_number LIMIT ?',
  );
  const setReceives = connection.prepare(
    'UPDATE messages SET receives = ?, visible_at = NULL WHERE sequence_number = ?',
  );
  const setVisibleAt = connection.prepare('UPDATE messages SET visible_at = ? WHERE sequence_number = ?');
  const remove = connection.prepare('DELETE FROM messages WHERE sequence_number = ?');

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

/** A message of the queue, as held in memory. */
export interface QueuedRow extends Queued {
  readonly group: string;
  readonly partnerAccount: string;
  readonly generation: number;
  readonly sentAt: number;
  readonly read: MessageRead;
}

export function queuedOf(row: MessageRow): QueuedRow {
  const read = messageIn(row.body);
  return {
    // An invalid body gets its own group.
    group: 'message' in read ? messageGroupOf(read.message) : `#${row.sequence_number}`,
    partnerAccount: row.partner_account,
    generation: row.generation,
    sequenceNumber: row.sequence_number,
    sentAt: row.sent_at,
    receives: row.receives,
    read,
    ...(row.visible_at === null ? {} : { visibleAt: row.visible_at }),
  };
}

/** The receipt of the latest delivery of a message; receipts of earlier deliveries are invalid. */
export const receiptOf = ({ sequenceNumber, receives }: QueuedRow): string => `${sequenceNumber}:${receives}`;

export const deliveryOf = (queued: QueuedRow): Delivery => ({
  id: receiptOf(queued),
  ...queued.read,
  position: positionOf(String(queued.sequenceNumber), queued.receives),
  receives: queued.receives,
  sentAt: queued.sentAt,
});

interface Row {
  readonly body: string;
  readonly receives: number;
  readonly visible_at: number | null;
}

/**
 * Reads the messages of an advert from the state file, even while a bridge runs; messages that its workers are handling
 * are included.
 */
export function createWaitingMessages(connection: Connection, aside: Pick<Aside, 'list'>): WaitingMessages {
  // A body that is not JSON belongs to no advert.
  const select = connection.prepare(
    `SELECT body, receives, visible_at FROM messages
     WHERE partner_account = ?1 AND iif(json_valid(body), body ->> '$.advertId', NULL) = ?2 ORDER BY sequence_number`,
  );
  return {
    async ofAdvert(partnerAccount, advertId) {
      const rows = connection.read(() => select.all(partnerAccount, advertId)) as unknown as Row[];
      const queued = rows.flatMap(({ body, receives, visible_at: until }) => {
        const read = messageIn(body);
        if (!('message' in read)) return [];
        const place = 'queue' as const;
        return [{ message: read.message, place, receives, ...(until === null ? {} : { until }) }];
      });
      return [...(await waitingAside(aside).ofAdvert(partnerAccount, advertId)), ...queued];
    },
  };
}
