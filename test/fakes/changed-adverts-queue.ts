import { type ChangedAdvert, type DeadLetter, maxReceiveCount } from '../../shared/contract/messages.ts';
import { objectKeyOf } from '../../shared/domain/advert-event.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import {
  MessageGroups,
  messageGroupOf,
  positionOf,
  type Queued,
} from '../../shared/domain/queue/message-groups.ts';
import type {
  ChangedAdvertsQueue,
  Delivery,
  Inbox,
  Settler,
  Verdict,
  WaitingMessages,
} from '../../shared/ports/queue.ts';
import type { Counters } from '../../shared/ports/store.ts';
import { type Aside, type DeadLetters, waitingAside } from '../../shared/state/aside.ts';
import { type BookKeeper, booksKey, type Counts, inFlightIn } from '../../shared/state/books.ts';
import type { InMemoryStore } from './store.ts';

/** How long SQS remembers a deduplication ID. */
const dedupWindowMs = 5 * 60_000;

/** Fault kind of a message that the queue itself dead-lettered. */
export const movedByQueue = 'moved-by-queue';

const movedLetter = (message: ChangedAdvert, receives: number, nowMs: number): DeadLetter => ({
  partnerAccount: message.partnerAccount,
  advertId: objectKeyOf(message),
  fault: movedByQueue,
  reason: `the queue gave it up after ${receives} deliveries, none of which came to an end`,
  at: toInstant(nowMs),
  receives,
  message,
});

export interface InMemoryQueueOptions {
  readonly clock: { now(): number };
  readonly rows: InMemoryStore;
  /** Stores messages that leave the queue for a while; counted in `books` by whoever made it (state.ts). */
  readonly aside: Aside;
  readonly deadLetters: Pick<DeadLetters, 'count'>;
  /** A message received this often is dead-lettered instead of being delivered again. Default 1,000. */
  readonly maxReceives?: number;
  /** Delivers the oldest message first, as SQS does. Default: partner accounts take turns, as in the embedded bridge. */
  readonly isFifo?: boolean;
}

interface QueuedMessage extends Queued {
  readonly message: ChangedAdvert;
  readonly sentAt: number;
  /** Whether a hidden message waits for its delay, and no worker has it. */
  isDelayed: boolean;
}

/** The queue between drain and fan-out, with its books, which behaves like SQS FIFO. */
export function createInMemoryQueue(options: InMemoryQueueOptions) {
  const { clock, rows, aside, deadLetters, maxReceives = maxReceiveCount, isFifo = false } = options;
  const messages = new Map<number, QueuedMessage>();
  const sentAtByKey = new Map<string, number>();
  let sequenceNumber = 0;
  const groups = new MessageGroups<QueuedMessage>({
    groupOf: ({ message }) => messageGroupOf(message),
    ...(!isFifo && { accountOf: ({ message }) => message.partnerAccount }),
  });

  /** Nothing for a key that was accepted in the last five minutes. */
  function accept(key: string, message: ChangedAdvert): void {
    const sentAt = clock.now();
    for (const [oldest, at] of sentAtByKey) {
      if (at > sentAt - dedupWindowMs) break;
      sentAtByKey.delete(oldest);
    }
    if (sentAtByKey.has(key)) return;
    sentAtByKey.set(key, sentAt);
    count(message, { listed: 1 });
    sequenceNumber += 1;
    const queued = { message, sequenceNumber, sentAt, receives: 0, isDelayed: false };
    messages.set(sequenceNumber, queued);
    groups.add(queued);
  }

  const count = ({ partnerAccount, generation }: ChangedAdvert, counts: Counts) =>
    rows.addWithin(booksKey(partnerAccount, generation), counts);

  async function inFlight(prefix: string): Promise<number> {
    const books = await rows.list('books', { prefix });
    return books.reduce((sum, { value }) => sum + inFlightIn(value as Counters), 0);
  }

  function putOff(queued: QueuedMessage, visibleAt: number): void {
    queued.isDelayed = true;
    groups.putOff(queued, visibleAt);
  }

  function leave(queued: QueuedMessage, counts: Counts): void {
    count(queued.message, counts);
    messages.delete(queued.sequenceNumber);
    groups.remove(queued);
  }

  // A message that is stored as a row leaves the queue; the row counts as listed.
  const leaveStored = (queued: QueuedMessage): void => leave(queued, { listed: -1 });

  function carryOut(queued: QueuedMessage, verdict: Verdict): void {
    if (verdict.kind === 'retry') putOff(queued, clock.now() + verdict.delayMs);
    else if (verdict.kind === 'done') leave(queued, { [verdict.outcome]: 1 });
    else leaveStored(queued);
  }

  const deliveryOf = (queued: QueuedMessage): Delivery => ({
    id: receiptOf(queued),
    message: queued.message,
    position: positionOf(String(queued.sequenceNumber), queued.receives),
    receives: queued.receives,
    sentAt: queued.sentAt,
  });

  /** The message, if `id` is the receipt of its latest delivery. */
  function withReceipt(id: string): QueuedMessage | undefined {
    const queued = messages.get(Number(id.split(':')[0]));
    return queued && receiptOf(queued) === id ? queued : undefined;
  }

  const queue: ChangedAdvertsQueue & Inbox & Settler & { figures: BookKeeper['queue'] } = {
    async send(sent) {
      for (const message of sent) accept(message.key, message);
      return new Set();
    },
    async sendAgain(held) {
      for (const { etag, message } of held) accept(`aside ${etag}`, message);
      return new Set();
    },
    depth: (partnerAccount) => inFlight(`${partnerAccount}/`),
    async receive({ maxGroups, maxPerGroup, visibilityMs }) {
      const now = clock.now();
      const delivered: Delivery[] = [];
      for (const queued of groups.take(maxGroups, maxPerGroup, now, now + visibilityMs)) {
        queued.isDelayed = false;
        const delivery = deliveryOf(queued);
        if (queued.receives <= maxReceives) {
          delivered.push(delivery);
          continue;
        }
        const letter = movedLetter(queued.message, queued.receives - 1, now);
        await aside.store([{ delivery, verdict: { kind: 'dead-letter', letter } }]);
        leaveStored(queued);
      }
      return delivered;
    },
    async settle(settlements) {
      for (const { delivery, verdict } of settlements) {
        const queued = withReceipt(delivery.id);
        if (!queued) continue;
        await aside.store([{ delivery: { ...delivery, message: queued.message }, verdict }]);
        carryOut(queued, verdict);
      }
    },
    async figures() {
      const { oldestListedAt = [] } = await aside.figures();
      const queued = [...messages.values()].map(({ message }) => message.listedAt);
      const [first] = queued.concat(oldestListedAt).sort();
      const figures = { waiting: await inFlight(''), deadLetters: await deadLetters.count() };
      return first === undefined ? figures : { ...figures, oldestListedAt: first };
    },
  };

  const waitingMessages: WaitingMessages = {
    async ofAdvert(partnerAccount, advertId) {
      const queued = [...messages.values()].filter(
        ({ message }) => message.partnerAccount === partnerAccount && objectKeyOf(message) === advertId,
      );
      return [
        ...(await waitingAside(aside).ofAdvert(partnerAccount, advertId)),
        ...queued.map(({ message, receives, isDelayed, visibleAt }) => ({
          ...{ message, place: 'queue' as const, receives },
          ...(isDelayed && visibleAt !== undefined && { until: visibleAt }),
        })),
      ];
    },
  };

  return {
    ...queue,
    waitingMessages,
    /** For the simulation, which stores rows in single steps: removes messages from the queue that are stored. */
    async settleStored(deliveries: readonly Delivery[]): Promise<void> {
      for (const { id } of deliveries) {
        const queued = withReceipt(id);
        if (queued) leaveStored(queued);
      }
    },
    /** For tests: ends the visibility timeout of every delivery immediately. */
    redeliver(): void {
      for (const queued of messages.values()) {
        if (queued.visibleAt !== undefined && !queued.isDelayed) putOff(queued, clock.now());
      }
    },
  };
}

/** A receipt is valid until the message is delivered again. */
const receiptOf = ({ sequenceNumber, receives }: Queued): string => `${sequenceNumber}:${receives}`;
