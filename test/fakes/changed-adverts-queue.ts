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
  ReceiveOptions,
  Settlement,
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

/** The dead letter that a queue other than SQS writes when it dead-letters a message itself. */
const movedLetter = (message: ChangedAdvert | null, receives: number, nowMs: number): DeadLetter => ({
  partnerAccount: message?.partnerAccount ?? null,
  advertId: message && objectKeyOf(message),
  fault: movedByQueue,
  reason: `the queue gave it up after ${receives - 1} deliveries, none of which came to an end`,
  at: toInstant(nowMs),
  receives: receives - 1,
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
  let lastSequenceNumber = 0;
  const groups = new MessageGroups<QueuedMessage>({
    groupOf: ({ message }) => messageGroupOf(message),
    ...(!isFifo && { accountOf: ({ message }) => message.partnerAccount }),
  });

  /** Whether the key is new; also deletes keys that are old enough. */
  function remember(key: string, nowMs: number): boolean {
    for (const [oldest, sentAt] of sentAtByKey) {
      if (sentAt > nowMs - dedupWindowMs) break;
      sentAtByKey.delete(oldest);
    }
    if (sentAtByKey.has(key)) return false;
    sentAtByKey.set(key, nowMs);
    return true;
  }

  function enqueue(message: ChangedAdvert): void {
    lastSequenceNumber += 1;
    const queued: QueuedMessage = {
      message,
      sequenceNumber: lastSequenceNumber,
      sentAt: clock.now(),
      receives: 0,
      isDelayed: false,
    };
    messages.set(queued.sequenceNumber, queued);
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

  function leave(queued: QueuedMessage): void {
    messages.delete(queued.sequenceNumber);
    groups.remove(queued);
  }

  /** Removes a message from the queue that is stored as a row. The row counts as listed. */
  function leaveStored(queued: QueuedMessage): void {
    count(queued.message, { listed: -1 });
    leave(queued);
  }

  function carryOut(queued: QueuedMessage, verdict: Verdict): void {
    switch (verdict.kind) {
      case 'retry':
        putOff(queued, clock.now() + verdict.delayMs);
        return;
      case 'done':
        count(queued.message, { [verdict.outcome]: 1 });
        break;
      case 'forgotten':
        count(queued.message, { listed: -1 });
        break;
      case 'hold':
      case 'dead-letter':
        leaveStored(queued);
        return;
    }
    leave(queued);
  }

  function deliveryOf(queued: QueuedMessage): Delivery {
    const { message, sequenceNumber, receives, sentAt } = queued;
    return {
      id: receiptOf(queued),
      message,
      position: positionOf(String(sequenceNumber), receives),
      receives,
      sentAt,
    };
  }

  /** The message, if `id` is the receipt of its latest delivery. */
  function withReceipt(id: string): QueuedMessage | undefined {
    const queued = messages.get(Number(id.split(':')[0]));
    return queued && receiptOf(queued) === id ? queued : undefined;
  }

  const queue: ChangedAdvertsQueue & Inbox & Settler & { figures: BookKeeper['queue'] } = {
    async send(sent) {
      for (const message of sent) {
        if (!remember(message.key, clock.now())) continue;
        count(message, { listed: 1 });
        enqueue(message);
      }
      return new Set();
    },
    async sendAgain(held) {
      for (const { etag, message } of held) {
        if (!remember(`aside ${etag}`, clock.now())) continue;
        count(message, { listed: 1 });
        enqueue(message);
      }
      return new Set();
    },
    depth: (partnerAccount) => inFlight(`${partnerAccount}/`),
    async receive({ maxGroups, maxPerGroup, visibilityMs }: ReceiveOptions) {
      const now = clock.now();
      const delivered: Delivery[] = [];
      for (const queued of groups.take(maxGroups, maxPerGroup, now, now + visibilityMs)) {
        queued.isDelayed = false;
        const delivery = deliveryOf(queued);
        if (queued.receives <= maxReceives) {
          delivered.push(delivery);
          continue;
        }
        const letter = movedLetter(queued.message, queued.receives, now);
        await aside.store([{ delivery, verdict: { kind: 'dead-letter', letter } }]);
        leaveStored(queued);
      }
      return delivered;
    },
    async settle(settlements: readonly Settlement[]) {
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

  return {
    ...queue,
    waitingMessages: {
      async ofAdvert(partnerAccount, advertId) {
        const isMeant = ({ message }: { readonly message: ChangedAdvert }) =>
          message.partnerAccount === partnerAccount && objectKeyOf(message) === advertId;
        return [
          ...(await waitingAside(aside).ofAdvert(partnerAccount, advertId)),
          ...[...messages.values()].filter(isMeant).map(({ message, receives, isDelayed, visibleAt }) => ({
            message,
            place: 'queue' as const,
            receives,
            ...(isDelayed && visibleAt !== undefined ? { until: visibleAt } : {}),
          })),
        ];
      },
    } satisfies WaitingMessages,
    /** For the simulation, which stores rows in single steps: removes messages from the queue that are stored. */
    async settleStored(deliveries: readonly Delivery[]): Promise<void> {
      for (const { id } of deliveries) {
        const queued = withReceipt(id);
        if (queued) leaveStored(queued);
      }
    },
    /** For tests: ends the visibility timeout of one delivery, or of all, immediately. */
    redeliver(id?: string): void {
      const chosen = id === undefined ? [...messages.values()] : [withReceipt(id)];
      for (const queued of chosen) {
        if (queued?.visibleAt !== undefined && !queued.isDelayed) putOff(queued, clock.now());
      }
    },
  };
}

/** A receipt is valid until the message is delivered again. */
const receiptOf = ({ sequenceNumber, receives }: Queued): string => `${sequenceNumber}:${receives}`;
