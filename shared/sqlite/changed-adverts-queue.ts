import { type ChangedAdvert, type MessageRead, maxReceiveCount, messageIn } from '../contract/messages.ts';
import { createMessageGroups, messageGroupOf, type Queued } from '../domain/queue/message-groups.ts';
import { positionOf } from '../domain/queue/position.ts';
import { movedLetter } from '../domain/queue/receive-limit.ts';
import type { ChangedAdvertsQueue } from '../ports/changed-adverts-queue.ts';
import type { DeadLetters } from '../ports/dead-letters.ts';
import type { Delivery, Inbox, ReceiveOptions, Settlement, Settler, Verdict } from '../ports/deliveries.ts';
import type { Counts, EmbeddedBooks } from './books.ts';
import type { EmbeddedDeadLetters } from './dead-letters.ts';
import type { Store } from './file/store.ts';
import type { EmbeddedParked } from './parked-messages.ts';
import { createMessages, type MessageRow } from './queue/messages.ts';
import { createUnread } from './queue/unread.ts';
import { createTally } from './tally.ts';

export interface QueueParts {
  readonly store: Store;
  readonly books: EmbeddedBooks;
  readonly deadLetters: EmbeddedDeadLetters;
  readonly parked: EmbeddedParked;
  readonly clock: { now(): number };
  /** A message received so often is moved to the dead letters instead of being handed out again. Default 1,000. */
  readonly maxReceives?: number;
}

export type EmbeddedQueue = ChangedAdvertsQueue & DeadLetters & Inbox & Settler;

interface QueuedRow extends Queued {
  readonly group: string;
  readonly partnerAccount: string;
  readonly generation: number;
  readonly sentAt: number;
  readonly read: MessageRead;
}

/** As long as SQS remembers a deduplication ID. */
const dedupWindowMs = 5 * 60_000;
/** Messages known while there are more. */
const minKnown = 1_000;
const readAtOnce = 250;
/** More than the drain lets wait. */
const maxUnread = 25_000;

/**
 * The queue between drain and fan-out, FIFO by advert, with the visibility timeouts, receive counts and deduplication of
 * SQS. What is sent in one call is accepted as a whole, so a call that comes again is known by its first key.
 *
 * Its rows stand in the state file; the order in which they are handed out is kept in memory, of those from the head of
 * the queue to where it has been read. Only one process may receive and settle (run-lock.ts); any may send.
 */
export function createQueue(parts: QueueParts): EmbeddedQueue {
  const { store, books, deadLetters, parked, clock, maxReceives = maxReceiveCount } = parts;
  const messages = createMessages(store);
  const rememberCall = store.prepare(
    'INSERT INTO sent_keys (key, sent_at) VALUES (?, ?) ON CONFLICT (key) DO NOTHING',
  );
  const forgetCalls = store.prepare('DELETE FROM sent_keys WHERE sent_at <= ?');
  const known = new Map<number, QueuedRow>();
  const unread = createUnread(maxUnread);
  const groups = createMessageGroups<QueuedRow>({
    groupOf: ({ group }) => group,
    rankOf: ({ sequenceNumber }) => sequenceNumber,
  });
  let readTo = 0;

  /** @returns the sequence number of each; none when the call has been made before */
  function accept(firstKey: string, changes: readonly ChangedAdvert[]): number[] {
    const now = clock.now();
    forgetCalls.run(now - dedupWindowMs);
    if (rememberCall.run(firstKey, now).changes === 0) return [];
    const counts = createTally();
    const places = changes.map((message) => {
      counts.add(message.partnerAccount, message.generation, { listed: 1, inFlight: 1 });
      return messages.add(message, now);
    });
    counts.enter(books);
    return places;
  }

  function noteUnread(changes: readonly ChangedAdvert[], places: readonly number[]): void {
    for (const [index, place] of places.entries()) {
      unread.add(messageGroupOf(changes[index] as ChangedAdvert), place);
    }
  }

  /** Reads on in the queue. @returns whether there was anything */
  function readOn(): boolean {
    const rows = store.read(() => messages.after(readTo, readAtOnce));
    for (const row of rows) {
      readTo = row.sequence_number;
      if (known.has(readTo)) continue;
      const { group } = learn(row);
      for (const place of unread.take(group, readTo)) {
        const later = place > readTo ? store.read(() => messages.one(place)) : undefined;
        if (later) learn(later);
      }
    }
    return rows.length > 0;
  }

  function learn(row: MessageRow): QueuedRow {
    const queued = queuedOf(row);
    known.set(queued.sequenceNumber, queued);
    groups.add(queued);
    return queued;
  }

  function take({ maxGroups, maxPerGroup, visibilityMs }: ReceiveOptions): QueuedRow[] {
    const now = clock.now();
    const taken: QueuedRow[] = [];
    while (known.size < minKnown && readOn());
    let left = maxGroups;
    do {
      const next = groups.take(left, maxPerGroup, now, now + visibilityMs);
      left -= new Set(next.map(({ group }) => group)).size;
      taken.push(...next);
      // What is known may all wait for something, and others stand farther on.
    } while (left > 0 && readOn());
    return taken;
  }

  async function receive(options: ReceiveOptions): Promise<Delivery[]> {
    const taken = take(options);
    if (taken.length === 0) return [];
    const handedOut = taken.filter(({ receives }) => receives <= maxReceives);
    const spent = taken.filter(({ receives }) => receives > maxReceives);
    try {
      await store.write(() => {
        noteHandedOut(handedOut);
        bury(spent);
      });
    } catch (error) {
      for (const queued of taken) groups.putOff(queued, clock.now());
      throw error;
    }
    for (const queued of spent) forget(queued);
    return handedOut.map(deliveryOf);
  }

  /** As SQS does with what was received too often: to the dead letters as it is. */
  function bury(spent: readonly QueuedRow[]): void {
    const counts = createTally();
    for (const { sequenceNumber, partnerAccount, generation, read, receives } of spent) {
      if (!messages.remove(sequenceNumber)) continue;
      const message = 'message' in read ? read.message : null;
      counts.add(partnerAccount, generation, { deadLettered: 1, inFlight: -1 });
      deadLetters.add(
        { ...movedLetter(message, receives, clock.now()), ...('about' in read ? read.about : {}) },
        partnerAccount,
        generation,
      );
    }
    counts.enter(books);
  }

  function forget(queued: QueuedRow): void {
    known.delete(queued.sequenceNumber);
    groups.remove(queued);
  }

  /** Most stand beside each other in the queue: one statement for all that do. */
  function noteHandedOut(taken: readonly QueuedRow[]): void {
    let first: number | undefined;
    for (const [index, { sequenceNumber, receives }] of taken.entries()) {
      first ??= sequenceNumber;
      const next = taken[index + 1];
      if (next?.sequenceNumber === sequenceNumber + 1 && next.receives === receives) continue;
      messages.handedOut(first, sequenceNumber, receives);
      first = undefined;
    }
  }

  /** The message, if `id` is the receipt of its latest delivery: what an earlier one says goes. */
  function withReceipt(id: string): QueuedRow | undefined {
    const queued = known.get(Number.parseInt(id, 10));
    return queued && receiptOf(queued) === id ? queued : undefined;
  }

  /** @returns what is to be noted in memory once this is written */
  function carryOut(settlements: readonly Settlement[]): (() => void)[] {
    const counts = createTally();
    const notes: (() => void)[] = [];
    for (const { delivery, verdict } of settlements) {
      const queued = withReceipt(delivery.id);
      if (!queued) continue;
      const { sequenceNumber, partnerAccount, generation } = queued;
      if (verdict.kind === 'retry') {
        const visibleAt = clock.now() + verdict.delayMs;
        if (messages.putOff(sequenceNumber, visibleAt)) notes.push(() => groups.putOff(queued, visibleAt));
        continue;
      }
      if (verdict.kind === 'park') parked.keep(sequenceNumber);
      if (!messages.remove(sequenceNumber)) continue;
      counts.add(partnerAccount, generation, countsOf(verdict));
      if (verdict.kind === 'dead-letter') deadLetters.add(verdict.letter, partnerAccount, generation);
      notes.push(() => forget(queued));
    }
    counts.enter(books);
    return notes;
  }

  return {
    async send(changes) {
      const [first] = changes;
      if (first) noteUnread(changes, await store.write(() => accept(first.key, changes)));
      return new Set();
    },
    depth: async (partnerAccount) => books.depth(partnerAccount),
    sendMalformed: deadLetters.sendMalformed,
    receive,
    async settle(settlements) {
      if (settlements.length === 0) return;
      for (const note of await store.write(() => carryOut(settlements))) note();
    },
  };
}

function queuedOf(row: MessageRow): QueuedRow {
  const read = messageIn(row.body);
  return {
    // Nothing waits for what is no message.
    group: 'message' in read ? messageGroupOf(read.message) : `#${row.sequence_number}`,
    partnerAccount: row.partner_account,
    generation: row.generation,
    sequenceNumber: row.sequence_number,
    sentAt: row.sent_at,
    receives: row.receives,
    read,
    handedOut: false,
    ...(row.visible_at === null ? {} : { visibleAt: row.visible_at }),
  };
}

const receiptOf = ({ sequenceNumber, receives }: QueuedRow): string => `${sequenceNumber}:${receives}`;

const deliveryOf = (queued: QueuedRow): Delivery => ({
  id: receiptOf(queued),
  ...queued.read,
  position: positionOf(String(queued.sequenceNumber), queued.receives),
  receives: queued.receives,
  sentAt: queued.sentAt,
});

function countsOf(verdict: Exclude<Verdict, { kind: 'retry' }>): Counts {
  switch (verdict.kind) {
    case 'done':
      return { [verdict.outcome]: 1, inFlight: -1 };
    case 'dead-letter':
      return { deadLettered: 1, inFlight: -1 };
    case 'forgotten':
      return { listed: -1, inFlight: -1 };
    case 'park':
      return {};
  }
}
