import { type ChangedAdvert, maxReceiveCount } from '../contract/messages.ts';
import { MessageGroups, movedLetter } from '../domain/queue/message-groups.ts';
import type {
  ChangedAdvertsQueue,
  Delivery,
  Inbox,
  ReceiveOptions,
  Settlement,
  Settler,
  Verdict,
} from '../ports/queue.ts';
import { type Counters, type Key, sumOf } from '../ports/store.ts';
import { rowAside, rowOfDeadLetter } from '../state/aside.ts';
import { type BookKeeper, booksKey, type Counts, inFlightIn } from '../state/books.ts';
import type { Connection } from './file/connection.ts';
import { createMessages, deliveryOf, type QueuedRow, queuedOf, receiptOf } from './messages.ts';
import type { RowStore } from './store.ts';

export interface QueueParts {
  readonly connection: Connection;
  readonly rows: Pick<RowStore, 'addWithin' | 'list' | 'putWithin' | 'removeWithin'>;
  readonly clock: { now(): number };
  /** A message with more receives is moved to the dead letters instead of being delivered again. Default 1,000. */
  readonly maxReceives?: number;
}

export type EmbeddedQueue = ChangedAdvertsQueue & Inbox & Settler & { figures: BookKeeper['queue'] };

/** The same time for which SQS remembers a deduplication ID. */
const dedupWindowMs = 5 * 60_000;
/**
 * Number of messages in memory, about 30 MB; more are read only while none of these may be delivered. Messages of one
 * advert in memory are delivered together, so that its status is fetched once for all of them.
 */
const maxKnown = 10_000;
const readAtOnce = 250;

/**
 * The queue between drain and fan-out: FIFO per advert, with visibility timeouts, receive counts and deduplication like
 * SQS. A send is accepted completely or not at all, so a repeated send is recognized by its first key.
 *
 * The messages are rows of the state file; the first of them are also held in memory, in the order of delivery.
 * Deliveries in progress exist only in memory and end with the process. So only one process may receive and settle
 * messages (run-lock.ts); any process may send.
 */
export function createChangedAdvertsQueue(parts: QueueParts): EmbeddedQueue {
  const { connection, rows, clock, maxReceives = maxReceiveCount } = parts;
  const messages = createMessages(connection);
  const rememberCall = connection.prepare(
    'INSERT INTO sent_keys (key, sent_at) VALUES (?, ?) ON CONFLICT (key) DO NOTHING',
  );
  const forgetCalls = connection.prepare('DELETE FROM sent_keys WHERE sent_at <= ?');
  const countDead = connection.prepare("SELECT count(*) AS deadLetters FROM rows WHERE kind = 'dead'");
  const oldestIn = [
    `SELECT json_extract(body, '$.listedAt') AS listedAt FROM messages WHERE sequence_number > 0
     ORDER BY sequence_number LIMIT 1`,
    `SELECT min(json_extract(value, '$.message.listedAt')) AS listedAt FROM rows WHERE kind = 'aside'`,
  ].map((query) => connection.prepare(query));
  const known = new Map<number, QueuedRow>();
  const groups = new MessageGroups<QueuedRow>({
    groupOf: ({ group }) => group,
    accountOf: ({ partnerAccount }) => partnerAccount,
  });
  /** Sequence number of the last message in memory. */
  let readTo = 0;

  function accept(changes: readonly ChangedAdvert[], firstKey: string): void {
    const now = clock.now();
    forgetCalls.run(now - dedupWindowMs);
    if (rememberCall.run(firstKey, now).changes === 0) return;
    for (const message of changes) messages.add(message, now);
    count(changes.map((message) => [message, { listed: 1 }]));
  }

  /** Adds to the books within a write of the connection: one row for each generation. */
  function count(all: readonly Counted[]): void {
    const sums = new Map<string, { readonly key: Key; readonly counts: Counters }>();
    for (const [{ partnerAccount, generation }, counts] of all) {
      const key = booksKey(partnerAccount, generation);
      sums.set(key.name, { key, counts: sumOf(sums.get(key.name)?.counts, counts) });
    }
    for (const { key, counts } of sums.values())
      if (Object.keys(counts).length > 0) rows.addWithin(key, counts);
  }

  /** Number of messages in the queue and aside. @param prefix of the names of books */
  async function inFlight(prefix: string): Promise<number> {
    const books = await rows.list('books', { prefix });
    return books.reduce((sum, { value }) => sum + inFlightIn(value as Counters), 0);
  }

  /** Reads more messages into memory. @returns whether there were any */
  function readOn(): boolean {
    const rows = connection.read(() => messages.after(readTo, readAtOnce));
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
      // All messages in memory may be hidden while later ones are not.
    } while (left > 0 && readOn());
    return taken;
  }

  async function receive(options: ReceiveOptions): Promise<Delivery[]> {
    const taken = take(options);
    if (taken.length === 0) return [];
    const handedOut = taken.filter(({ receives }) => receives <= maxReceives);
    const spent = taken.filter(({ receives }) => receives > maxReceives);
    try {
      await connection.write(() => {
        for (const { sequenceNumber, receives } of handedOut) messages.handedOut(sequenceNumber, receives);
        count(spent.filter(moveToDeadLetters).map((queued) => [queued, { deadLettered: 1 }]));
      });
    } catch (error) {
      for (const queued of taken) groups.putOff(queued, clock.now());
      throw error;
    }
    for (const queued of spent) forget(queued);
    return handedOut.map(deliveryOf);
  }

  /**
   * Like SQS, moves a message that was received too often to the dead letters, unchanged.
   *
   * @returns whether the message was still there
   */
  function moveToDeadLetters({ sequenceNumber, read, receives }: QueuedRow): boolean {
    if (!messages.remove(sequenceNumber)) return false;
    const message = 'message' in read ? read.message : null;
    const letter = {
      ...movedLetter(message, receives, clock.now()),
      ...('about' in read ? read.about : {}),
    };
    const { key, value } = rowOfDeadLetter(letter);
    rows.putWithin(key, value);
    return true;
  }

  function forget(queued: QueuedRow): void {
    known.delete(queued.sequenceNumber);
    groups.remove(queued);
  }

  /** Returns the message if `id` is the receipt of its latest delivery; verdicts on earlier deliveries have no effect. */
  function withReceipt(id: string): QueuedRow | undefined {
    const queued = known.get(Number.parseInt(id, 10));
    return queued && receiptOf(queued) === id ? queued : undefined;
  }

  /** Writes the result of the verdict. @returns the change to make in memory after the commit, and what to count */
  function carryOut({ delivery, verdict }: Settlement): CarriedOut | undefined {
    const queued = withReceipt(delivery.id);
    if (!queued) return undefined;
    const { sequenceNumber } = queued;
    if (verdict.kind === 'retry') {
      const visibleAt = clock.now() + verdict.delayMs;
      if (!messages.putOff(sequenceNumber, visibleAt)) return undefined;
      return { counted: [queued, {}], remember: () => groups.putOff(queued, visibleAt) };
    }
    if (!messages.remove(sequenceNumber)) return undefined;
    const aside = rowAside({ delivery, verdict });
    if (aside) rows.putWithin(aside.key, aside.value);
    return { counted: [queued, countsOf(verdict)], remember: () => forget(queued) };
  }

  return {
    async send(changes) {
      const [first] = changes;
      if (first) await connection.write(() => accept(changes, first.key));
      return new Set();
    },
    // The row and the message are exchanged in one transaction.
    async sendAgain(aside) {
      await connection.write(() => {
        const removed = aside.filter(({ key, etag }) => rows.removeWithin(key, etag));
        for (const { message } of removed) messages.add(message, clock.now());
        const dead = removed.filter(({ key }) => key.kind === 'dead');
        count(dead.map(({ message }) => [message, { deadLettered: -1 }]));
      });
      return new Set();
    },
    depth: (partnerAccount) => inFlight(`${partnerAccount}/`),
    receive,
    async settle(settlements) {
      if (settlements.length === 0) return;
      const changes = await connection.write(() => {
        const carriedOut = settlements.flatMap((settlement) => carryOut(settlement) ?? []);
        count(carriedOut.map(({ counted }) => counted));
        return carriedOut;
      });
      for (const { remember } of changes) remember();
    },
    async figures() {
      const waiting = await inFlight('');
      return connection.read(() => {
        const { deadLetters } = countDead.get() as { deadLetters: number };
        const [oldestListedAt] = oldestIn
          .flatMap((select) => (select.get() as { listedAt: string | null } | undefined)?.listedAt ?? [])
          .sort();
        return { waiting, deadLetters, ...(oldestListedAt !== undefined && { oldestListedAt }) };
      });
    },
  };
}

/** What is to be counted in the books of a generation. */
type Counted = readonly [of: Pick<ChangedAdvert, 'partnerAccount' | 'generation'>, counts: Counts];

interface CarriedOut {
  readonly counted: Counted;
  readonly remember: () => void;
}

function countsOf(verdict: Exclude<Verdict, { kind: 'retry' }>): Counts {
  switch (verdict.kind) {
    case 'done':
      return { [verdict.outcome]: 1 };
    case 'dead-letter':
      return { deadLettered: 1 };
    case 'forgotten':
      return { listed: -1 };
    case 'hold':
      return {};
  }
}
