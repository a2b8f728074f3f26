import type { SQLInputValue } from 'node:sqlite';
import { type ChangedAdvert, type MessageRead, messageIn } from '../../shared/contract/messages.ts';
import { deliveryPosition, messageGroupOf } from '../../shared/ports/message-groups.ts';
import type {
  ChangedAdvertsQueue,
  Delivery,
  Inbox,
  MessageAside,
  ReceiveOptions,
  Settlement,
} from '../../shared/ports/queue.ts';
import { type Counters, sumOf } from '../../shared/ports/store.ts';
import { type Aside, createAside, rowAside } from '../../shared/state/aside.ts';
import {
  type BookKeeper,
  type Counted,
  type Counts,
  inFlightIn,
  sumsByGeneration,
} from '../../shared/state/books.ts';
import {
  countOfRedriven,
  type DeadLetters,
  type RowAside,
  rowOfBelieved,
  rowOfRedriven,
} from '../../shared/state/dead-letters.ts';
import { createGroups, type Queued } from './delivery-groups.ts';
import type { Connection } from './file/connection.ts';
import type { RowStore } from './store.ts';

/**
 * Number of messages in memory, about 30 MB; more are read only while none of these may be delivered. Messages of one
 * advert in memory are delivered together, so that its status is fetched once for all of them.
 */
const maxKnown = 10_000;
const readAtOnce = 250;

export interface MessageRow extends Omit<Queued, 'visibleAt' | 'group'> {
  readonly generation: number;
  readonly body: string;
  readonly sentAt: number;
  /** When a delayed message may be delivered again, ms since 1970; null for all others. */
  readonly visibleAt: number | null;
}

interface QueuedRow extends Queued, Pick<MessageRow, 'generation' | 'sentAt'> {
  readonly read: MessageRead;
}

export type MessageTable = ReturnType<typeof createMessageTable>;

/** The stored messages; all functions are for use within a read or write of the connection. */
export function createMessageTable(connection: Pick<Connection, 'prepare'>) {
  /** @returns whether there is such a message */
  function change<V extends SQLInputValue[]>(sql: string) {
    const statement = connection.prepare(sql);
    return (...values: V): boolean => statement.run(...values).changes === 1;
  }
  function select<V extends SQLInputValue[]>(condition: string) {
    const statement = connection.prepare(
      `SELECT sequence_number AS sequenceNumber, partner_account AS partnerAccount, generation, body,
         sent_at AS sentAt, receives, visible_at AS visibleAt FROM messages WHERE ${condition}`,
    );
    return (...values: V) => statement.all(...values) as unknown as MessageRow[];
  }
  const selectOldest = connection.prepare(
    `SELECT body ->> '$.listedAt' AS listedAt FROM messages
     WHERE sequence_number > 0 AND iif(json_valid(body), body ->> '$.redriven', 1) IS NULL
       AND body ->> '$.failed' IS NULL
     ORDER BY sequence_number LIMIT 1`,
  );
  return {
    insert: change<[partnerAccount: string, generation: number, body: string, sentAt: number]>(
      'INSERT INTO messages (partner_account, generation, body, sent_at, receives) VALUES (?, ?, ?, ?, 0)',
    ),
    after: select<[sequenceNumber: number, limit: number]>(
      'sequence_number > ? ORDER BY sequence_number LIMIT ?',
    ),
    // A body that is not JSON belongs to no advert.
    ofAdvert: select<[partnerAccount: string, advertId: string]>(
      "partner_account = ? AND iif(json_valid(body), body ->> '$.advertId', NULL) = ? ORDER BY sequence_number",
    ),
    setReceives: change<[receives: number, sequenceNumber: number]>(
      'UPDATE messages SET receives = ?, visible_at = NULL WHERE sequence_number = ?',
    ),
    setVisibleAt: change<[visibleAt: number, sequenceNumber: number]>(
      'UPDATE messages SET visible_at = ? WHERE sequence_number = ?',
    ),
    remove: change<[sequenceNumber: number]>('DELETE FROM messages WHERE sequence_number = ?'),
    /** When the first message was listed that neither failed nor was redriven. */
    oldestListedAt: () => selectOldest.get()?.listedAt as string | undefined,
  };
}

interface QueueOptions {
  readonly connection: Pick<Connection, 'read' | 'write'>;
  readonly table: MessageTable;
  readonly rows: RowStore;
  readonly clock: { now(): number };
  readonly takesTurns: boolean;
}

/**
 * The queue between drain and fan-out: FIFO per advert, with visibility timeouts and receive counts like SQS. A send is
 * accepted completely or not at all. The first messages are also held in memory, in the order of delivery; deliveries in
 * progress exist only there. So only one process may receive and settle (run-lock.ts); any process may send.
 */
export function createChangedAdvertsQueue(options: QueueOptions): ChangedAdvertsQueue &
  Inbox &
  Pick<DeadLetters, 'redrive'> &
  Pick<Aside, 'believe'> & {
    figures: BookKeeper['queue'];
    messagesAfter(sequenceNumber: number): readonly MessageRow[];
  } {
  const { connection, table, rows, clock, takesTurns } = options;
  const aside = createAside(rows);
  const known = new Map<number, QueuedRow>();
  const groups = createGroups<QueuedRow>({ takesTurns });
  /** Sequence number of the last message in memory. */
  let readTo = 0;

  const insert = (message: ChangedAdvert) =>
    table.insert(message.partnerAccount, message.generation, JSON.stringify(message), clock.now());

  /** Adds to the books within a write of the connection. */
  function count(all: readonly Counted[]): void {
    for (const [key, counts] of sumsByGeneration(all)) rows.addWithin(key, counts);
  }

  /** Number of messages in the queue and aside. @param prefix of the names of books */
  const inFlight = (prefix: string): number => {
    const books = connection.read(() => rows.findAll('books', { prefix }));
    return inFlightIn(books.reduce((sum, { value }) => sumOf(sum, value as Counters), {}));
  };

  /** Reads more messages into memory. @returns whether there were any */
  function readOn(): boolean {
    const more = connection.read(() => table.after(readTo, readAtOnce));
    for (const row of more) {
      const queued = queuedOf(row);
      known.set(queued.sequenceNumber, queued);
      groups.add(queued);
      readTo = queued.sequenceNumber;
    }
    return more.length > 0;
  }

  function take({ maxGroups, maxPerGroup, visibilityMs }: ReceiveOptions): QueuedRow[] {
    const now = clock.now();
    const taken: QueuedRow[] = [];
    while (known.size < maxKnown && readOn());
    let left = maxGroups;
    do {
      const next = groups.take(left, maxPerGroup, now, now + visibilityMs);
      left -= new Set(next.map(({ group }) => group)).size;
      taken.push(...next);
      // All messages in memory may be hidden while later ones are not.
    } while (left > 0 && readOn());
    return taken;
  }

  /** Does nothing if the delivery is not the latest of its message. */
  function carryOut(settled: Settlement): { queued: QueuedRow; counts: Counts; visibleAt?: number }[] {
    const { delivery, verdict } = settled;
    const queued = known.get(Number.parseInt(delivery.id, 10));
    if (!queued || receiptOf(queued) !== delivery.id) return [];
    const { sequenceNumber } = queued;
    if (verdict.kind === 'retry') {
      const visibleAt = clock.now() + verdict.delayMs;
      return table.setVisibleAt(visibleAt, sequenceNumber) ? [{ queued, visibleAt, counts: {} }] : [];
    }
    if (!table.remove(sequenceNumber)) return [];
    const row = rowAside(settled);
    if (row) rows.putWithin(row.key, row.value);
    const counts: Counts = verdict.kind === 'done' ? { [verdict.outcome]: 1 } : countsOf[verdict.kind];
    return [{ queued, counts }];
  }

  /** Gives each message another row, in a write. @returns those that were still there */
  function moveWithin(messages: readonly MessageAside[], rowOf: (message: MessageAside) => RowAside) {
    const removed = messages.filter(({ key, etag }) => rows.removeWithin(key, etag));
    for (const { key, value } of removed.map(rowOf)) rows.putWithin(key, value);
    return removed;
  }

  return {
    async send(changes) {
      if (changes.length === 0) return new Set();
      await connection.write(() => {
        for (const message of changes) insert(message);
        count(changes.map((message) => [message, { listed: 1 }]));
      });
      return new Set();
    },
    // The row and the message are exchanged in one transaction.
    async sendAgain(messages) {
      await connection.write(() => {
        const removed = messages.filter(({ key, etag }) => rows.removeWithin(key, etag));
        for (const { message } of removed) insert(message);
      });
      return new Set();
    },
    async redrive(deadLetters) {
      await connection.write(() => {
        count(moveWithin(deadLetters, rowOfRedriven).map(countOfRedriven));
      });
    },
    async believe(messages) {
      await connection.write(() => moveWithin(messages, rowOfBelieved));
    },
    /** Stored messages, of all accounts, for a move; oldest first. */
    messagesAfter: (sequenceNumber: number): readonly MessageRow[] =>
      connection.read(() => table.after(sequenceNumber, readAtOnce)),
    // What is aside is in the books too, but takes no room of new changes.
    async depth(partnerAccount) {
      const held = await aside.count(partnerAccount);
      return Math.max(0, inFlight(`${partnerAccount}/`) - held);
    },
    // From the table, because another process may be the one that receives.
    async ofAdvert(partnerAccount, advertId) {
      const found = connection.read(() => table.ofAdvert(partnerAccount, advertId));
      return found.flatMap(({ body, receives, visibleAt: until }) => {
        const read = messageIn(body);
        if (!('message' in read)) return [];
        return [{ message: read.message, place: 'queue', receives, ...(until !== null && { until }) }];
      });
    },
    async receive(options) {
      const taken = take(options);
      if (taken.length === 0) return [];
      try {
        await connection.write(() => {
          for (const { receives, sequenceNumber } of taken) table.setReceives(receives, sequenceNumber);
        });
      } catch (error) {
        for (const queued of taken) queued.visibleAt = clock.now();
        throw error;
      }
      return taken.map(rowDelivery);
    },
    async settle(settlements) {
      if (settlements.length === 0) return;
      const changes = await connection.write(() => {
        const carriedOut = settlements.flatMap(carryOut);
        count(carriedOut.map(({ queued, counts }) => [queued, counts]));
        return carriedOut;
      });
      for (const { queued, visibleAt } of changes) {
        if (visibleAt === undefined) {
          known.delete(queued.sequenceNumber);
          groups.remove(queued);
        } else queued.visibleAt = visibleAt;
      }
    },
    async figures() {
      const deadLetters = await rows.count('dead');
      const queued = connection.read(table.oldestListedAt);
      const [oldestListedAt] = [queued ?? [], (await aside.oldestListedAt()) ?? []].flat().sort();
      return {
        waiting: inFlight(''),
        deadLetters,
        ...(oldestListedAt !== undefined && { oldestListedAt }),
      };
    },
  };
}

function queuedOf({ body, visibleAt, ...row }: MessageRow): QueuedRow {
  const read = messageIn(body);
  // An invalid body gets its own group.
  const group = 'message' in read ? messageGroupOf(read.message) : `#${row.sequenceNumber}`;
  return { ...row, group, read, ...(visibleAt !== null && { visibleAt }) };
}

/** The receipt of the latest delivery of a message; receipts of earlier deliveries are invalid. */
const receiptOf = ({ sequenceNumber, receives }: QueuedRow): string => `${sequenceNumber}:${receives}`;

const rowDelivery = (queued: QueuedRow): Delivery => ({
  id: receiptOf(queued),
  ...queued.read,
  position: deliveryPosition(String(queued.sequenceNumber), queued.receives),
  receives: queued.receives,
  sentAt: queued.sentAt,
});

const countsOf = { 'dead-letter': { deadLettered: 1 }, forgotten: { listed: -1 }, hold: {} };
