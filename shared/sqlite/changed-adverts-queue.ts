import { type ChangedAdvert, maxReceiveCount } from '../contract/messages.ts';
import { MessageGroups } from '../domain/queue/message-groups.ts';
import { movedLetter } from '../domain/queue/receive-limit.ts';
import type { ChangedAdvertsQueue } from '../ports/changed-adverts-queue.ts';
import type { DeadLetters } from '../ports/dead-letters.ts';
import type { Delivery, Inbox, ReceiveOptions, Settlement, Settler, Verdict } from '../ports/deliveries.ts';
import type { Counts, EmbeddedBooks } from './books.ts';
import type { EmbeddedDeadLetters } from './dead-letters.ts';
import type { Store } from './file/store.ts';
import type { EmbeddedParkedMessages } from './parked-messages.ts';
import { createMessages } from './queue/messages.ts';
import { deliveryOf, type QueuedRow, queuedOf, receiptOf } from './queue/queued-row.ts';

export interface QueueParts {
  readonly store: Store;
  readonly books: EmbeddedBooks;
  readonly deadLetters: EmbeddedDeadLetters;
  readonly parked: EmbeddedParkedMessages;
  readonly clock: { now(): number };
  /** A message received more often is moved to the dead letters instead of being handed out again. Default 1,000. */
  readonly maxReceives?: number;
}

export type EmbeddedQueue = ChangedAdvertsQueue & DeadLetters & Inbox & Settler;

/** As long as SQS remembers a deduplication ID. */
const dedupWindowMs = 5 * 60_000;
/**
 * Messages kept in memory, some 30 MB; more only while none of these may be handed out. Messages of one advert that are in
 * memory are handed out together, and its status is fetched once for all of them.
 */
const maxKnown = 10_000;
const readAtOnce = 250;

/**
 * The queue between drain and fan-out: FIFO by advert, with the visibility timeouts, receive counts and deduplication of
 * SQS. A call that sends messages is accepted as a whole, so a repeated call is recognized by its first key.
 *
 * The messages are rows of the state file; the first of them are also kept in memory, with the order in which they are
 * handed out. What a worker has in hand is in memory alone: it ends with the process. So only one process may receive and
 * settle (run-lock.ts); any may send.
 */
export function createChangedAdvertsQueue(parts: QueueParts): EmbeddedQueue {
  const { store, books, deadLetters, parked, clock, maxReceives = maxReceiveCount } = parts;
  const messages = createMessages(store);
  const rememberCall = store.prepare(
    'INSERT INTO sent_keys (key, sent_at) VALUES (?, ?) ON CONFLICT (key) DO NOTHING',
  );
  const forgetCalls = store.prepare('DELETE FROM sent_keys WHERE sent_at <= ?');
  const known = new Map<number, QueuedRow>();
  const groups = new MessageGroups<QueuedRow>({
    groupOf: ({ group }) => group,
    rankOf: ({ sequenceNumber }) => sequenceNumber,
  });
  /** Sequence number of the last message that was read into memory. */
  let readTo = 0;

  function accept(changes: readonly ChangedAdvert[], firstKey: string): void {
    const now = clock.now();
    forgetCalls.run(now - dedupWindowMs);
    if (rememberCall.run(firstKey, now).changes === 0) return;
    for (const message of changes) {
      messages.add(message, now);
      const { partnerAccount, generation, feed } = message;
      books.add(partnerAccount, generation, { listed: 1, inFlight: 1 }, feed);
    }
  }

  /** Reads the next messages into memory. @returns whether there were any */
  function readOn(): boolean {
    const rows = store.read(() => messages.after(readTo, readAtOnce));
    for (const row of rows) {
      const queued = queuedOf(row);
      known.set(queued.sequenceNumber, queued);
      groups.add(queued);
      readTo = queued.sequenceNumber;
    }
    return rows.length > 0;
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
      // All known messages may be hidden, while others farther on are not.
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
        for (const { sequenceNumber, receives } of handedOut) messages.handedOut(sequenceNumber, receives);
        for (const queued of spent) moveToDeadLetters(queued);
      });
    } catch (error) {
      for (const queued of taken) groups.putOff(queued, clock.now());
      throw error;
    }
    for (const queued of spent) forget(queued);
    return handedOut.map(deliveryOf);
  }

  /** As SQS does with a message that was received too often: it becomes a dead letter as it is. */
  function moveToDeadLetters({
    sequenceNumber,
    partnerAccount,
    generation,
    read,
    receives,
  }: QueuedRow): void {
    if (!messages.remove(sequenceNumber)) return;
    const message = 'message' in read ? read.message : null;
    const letter = {
      ...movedLetter(message, receives, clock.now()),
      ...('about' in read ? read.about : {}),
    };
    deadLetters.add(letter, partnerAccount, generation);
    books.add(partnerAccount, generation, { deadLettered: 1, inFlight: -1 }, message?.feed);
  }

  function forget(queued: QueuedRow): void {
    known.delete(queued.sequenceNumber);
    groups.remove(queued);
  }

  /** The message, if `id` is the receipt of its latest delivery: verdicts on earlier ones have no effect. */
  function withReceipt(id: string): QueuedRow | undefined {
    const queued = known.get(Number.parseInt(id, 10));
    return queued && receiptOf(queued) === id ? queued : undefined;
  }

  /** Writes what the verdict says. @returns what is to be changed in memory after the commit */
  function carryOut({ delivery, verdict }: Settlement): (() => void) | undefined {
    const queued = withReceipt(delivery.id);
    if (!queued) return undefined;
    const { sequenceNumber, partnerAccount, generation, read } = queued;
    if (verdict.kind === 'retry') {
      const visibleAt = clock.now() + verdict.delayMs;
      return messages.putOff(sequenceNumber, visibleAt) ? () => groups.putOff(queued, visibleAt) : undefined;
    }
    if (verdict.kind === 'park') parked.keep(sequenceNumber);
    if (!messages.remove(sequenceNumber)) return undefined;
    if (verdict.kind === 'dead-letter') deadLetters.add(verdict.letter, partnerAccount, generation);
    books.add(
      partnerAccount,
      generation,
      countsOf(verdict),
      'message' in read ? read.message.feed : undefined,
    );
    return () => forget(queued);
  }

  return {
    async send(changes) {
      const [first] = changes;
      if (first) await store.write(() => accept(changes, first.key));
      return new Set();
    },
    depth: async (partnerAccount, feed) => books.depth(partnerAccount, feed),
    sendMalformed: deadLetters.sendMalformed,
    receive,
    async settle(settlements) {
      if (settlements.length === 0) return;
      const changes = await store.write(() => settlements.map(carryOut));
      for (const change of changes) change?.();
    },
  };
}

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
