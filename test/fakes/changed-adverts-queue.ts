import {
  createChangedAdvertsQueue,
  type MessageRow,
  type MessageTable,
} from '../../embedded/state/changed-adverts-queue.ts';
import { type ChangedAdvert, maxReceiveCount } from '../../shared/contract/messages.ts';
import { objectKeyOf } from '../../shared/domain/advert-event.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import type { Delivery, Settlement } from '../../shared/ports/queue.ts';
import type { InMemoryStore } from './store.ts';

/** How long SQS remembers a deduplication ID. */
const dedupWindowMs = 5 * 60_000;

/** Fault kind of a message that the queue itself dead-lettered. */
export const movedByQueue = 'moved-by-queue';

export interface InMemoryQueueOptions {
  readonly clock: { now(): number };
  readonly rows: InMemoryStore;
  /** A message received this often is dead-lettered instead of being delivered again. Default 1,000. */
  readonly maxReceives?: number;
  /** Delivers the oldest message first, as SQS does. Default: partner accounts take turns, as in the embedded bridge. */
  readonly isFifo?: boolean;
}

/** In memory, each change is a transaction. */
export const immediate = {
  read: <T>(query: () => T): T => query(),
  write: async <T>(change: () => T): Promise<T> => change(),
};

/** The queue of the embedded bridge over messages in memory; deduplicates and gives up messages as SQS does. */
export function createInMemoryQueue(options: InMemoryQueueOptions) {
  const { clock, rows, maxReceives = maxReceiveCount, isFifo = false } = options;
  const table = inMemoryTable();
  const queue = createChangedAdvertsQueue({
    ...{ connection: immediate, table, rows, clock, takesTurns: !isFifo },
  });
  const sentAtByKey = new Map<string, number>();

  /** Whether the key was not accepted in the last five minutes. */
  function isNew(key: string): boolean {
    const sentAt = clock.now();
    for (const [oldest, at] of sentAtByKey) {
      if (at > sentAt - dedupWindowMs) break;
      sentAtByKey.delete(oldest);
    }
    if (sentAtByKey.has(key)) return false;
    sentAtByKey.set(key, sentAt);
    return true;
  }

  function givenUp(delivery: Delivery): Settlement[] {
    const { message = null, receives } = delivery;
    if (receives <= maxReceives || !message) return [];
    const deadLetter = {
      ...{ partnerAccount: message.partnerAccount, advertId: objectKeyOf(message), fault: movedByQueue },
      reason: `the queue gave it up after ${receives - 1} deliveries, none of which came to an end`,
      ...{ at: toInstant(clock.now()), receives: receives - 1, message },
    };
    return [{ delivery, verdict: { kind: 'dead-letter', deadLetter } }];
  }

  return {
    ...queue,
    send: ((messages) => queue.send(messages.filter(({ key }) => isNew(key)))) as typeof queue.send,
    /** As on AWS, the rows stay until they are removed. */
    sendAgain: ((held) =>
      queue.send(
        held.filter(({ etag }) => isNew(`aside ${etag}`)).map(({ message }) => message),
      )) as typeof queue.sendAgain,
    receive: (async (received) => {
      const deliveries = await queue.receive(received);
      await queue.settle(deliveries.flatMap(givenUp));
      return deliveries.filter(({ receives }) => receives <= maxReceives);
    }) as typeof queue.receive,
  };
}

function inMemoryTable(): MessageTable {
  /** By sequence number, which begins with 1. */
  const messages: (MessageRow | undefined)[] = [undefined];
  const stored = () => messages.flatMap((row) => row ?? []);
  function change(sequenceNumber: number, fields: Partial<MessageRow>): boolean {
    const row = messages[sequenceNumber];
    if (row) messages[sequenceNumber] = { ...row, ...fields };
    return row !== undefined;
  }
  return {
    insert: (partnerAccount, generation, body, sentAt) => {
      const row = { sequenceNumber: messages.length, partnerAccount, generation, body, sentAt };
      messages.push({ ...row, receives: 0, visibleAt: null });
      return true;
    },
    // Those that were removed had been read before.
    after: (sequenceNumber, limit) =>
      messages.slice(sequenceNumber + 1, sequenceNumber + 1 + limit).flatMap((row) => row ?? []),
    ofAdvert: (partnerAccount, advertId) =>
      stored().filter(
        (row) => row.partnerAccount === partnerAccount && JSON.parse(row.body).advertId === advertId,
      ),
    setReceives: (receives, sequenceNumber) => change(sequenceNumber, { receives, visibleAt: null }),
    setVisibleAt: (visibleAt, sequenceNumber) => change(sequenceNumber, { visibleAt }),
    remove(sequenceNumber) {
      const row = messages[sequenceNumber];
      messages[sequenceNumber] = undefined;
      return row !== undefined;
    },
    oldestListedAt: () =>
      stored()
        .map(({ body }): ChangedAdvert => JSON.parse(body))
        .find(({ redriven, failed }) => !redriven && !failed)?.listedAt,
  };
}
