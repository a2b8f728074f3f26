import {
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { type ChangedAdvert, messageIn } from '../contract/messages.ts';
import { type Clock, systemClock } from '../domain/clock.ts';
import { backoffMs, forEachConcurrent } from '../domain/concurrency.ts';
import { deliveryPosition, messageGroupOf } from '../ports/message-groups.ts';
import type { ChangedAdvertsQueue, Delivery } from '../ports/queue.ts';
import type { Store } from '../ports/store.ts';
import type { Aside } from '../state/aside.ts';
import { type BookKeeper, bookKeeperOf } from '../state/books.ts';
import type { DeadLetters } from '../state/dead-letters.ts';
import type { QueueShares } from './queue-shares.ts';

export const batchesOf = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );

export interface Queue {
  readonly client: SQSClient;
  readonly url: string;
}

/** A message to send, by the caller's key. */
export type Outgoing = Omit<SendMessageBatchRequestEntry, 'Id'> & { readonly key: string };

/** SQS accepts ten messages per batch. */
export const messagesAtOnce = 10;
/** Enough to hide their latency, and few enough for one pool of kept-alive connections. */
const batchesAtOnce = 8;
const maxAttempts = 5;
const backoff = { baseMs: 50, capMs: 1_000, random: () => Math.random() };

/**
 * Sends messages in concurrent batches of ten. A failed entry of a successful call is sent again with backoff, unless
 * SQS reports it as the sender's fault.
 *
 * @returns the keys of the messages that were not accepted
 * @throws if a whole call failed after the SDK's retries, once the other batches have ended
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
 */
export async function sendBatches(
  { client, url }: Queue,
  messages: readonly Outgoing[],
  clock = systemClock,
): Promise<Set<string>> {
  const refused = new Set(messages.map(({ key }) => key));
  await forEachConcurrent(batchesOf(messages, messagesAtOnce), batchesAtOnce, async (batch) => {
    for (let [rest, attempt] = [batch, 1]; ; attempt += 1) {
      const { Successful = [], Failed = [] } = await client.send(
        new SendMessageBatchCommand({ QueueUrl: url, Entries: rest.map(entryOf) }),
      );
      for (const { Id } of Successful) refused.delete(rest[Number(Id)]?.key ?? '');
      const hopeless = new Set(Failed.filter(({ SenderFault }) => SenderFault).map(({ Id }) => Id));
      rest = rest.filter(({ key }, index) => refused.has(key) && !hopeless.has(String(index)));
      if (rest.length === 0 || attempt >= maxAttempts) return;
      await clock.sleep(backoffMs(attempt, backoff));
    }
  });
  return refused;
}

/** SQS refuses characters that XML 1.0 does not allow; JSON does not escape these two. @see API_SendMessageBatch */
const refusedBySqs = /[\ufffe\uffff]/g;
const asJsonEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16)}`;

const entryOf = ({ key: _, MessageBody = '', ...entry }: Outgoing, index: number) => ({
  ...entry,
  Id: String(index),
  MessageBody: MessageBody.replace(refusedBySqs, asJsonEscape),
});

/** Number of messages in the queue, including in-flight and delayed ones. SQS's figures are approximate. */
export async function countMessages({ client, url }: Queue): Promise<number> {
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({
      QueueUrl: url,
      AttributeNames: [
        'ApproximateNumberOfMessages',
        'ApproximateNumberOfMessagesNotVisible',
        'ApproximateNumberOfMessagesDelayed',
      ],
    }),
  );
  return Object.values(Attributes ?? {}).reduce((sum, figure) => sum + Number(figure), 0);
}

/** About two thousand read units. */
const deadCountedAtMost = 10_000;

/** Reads the books, and counts the messages in the queue and aside. */
export function createBookKeeper(options: {
  readonly store: Store;
  readonly aside: Pick<Aside, 'figures'>;
  readonly queue: Queue;
  readonly deadLetters: Pick<DeadLetters, 'count'>;
}): BookKeeper {
  const { store, aside, deadLetters, queue } = options;
  return bookKeeperOf(store, async () => {
    const [inQueue, held, dead] = await Promise.all([
      countMessages(queue),
      aside.figures(),
      deadLetters.count(deadCountedAtMost),
    ]);
    return { ...held, waiting: inQueue + held.waiting, deadLetters: dead };
  });
}

export interface ChangedAdvertsQueueOptions {
  readonly queue: Queue;
  readonly clock?: Clock;
  /** Returns the depth for one partner account; default: the depth of the whole queue. */
  readonly shares?: QueueShares;
}

/** How long the queue's depth is cached; messages sent in the meantime are added. */
const countedForMs = 5_000;

/** The FIFO queue between drain and fan-out: one message group for each advert of a partner account. */
export function createChangedAdvertsQueue(options: ChangedAdvertsQueueOptions): ChangedAdvertsQueue {
  const { queue, shares, clock = systemClock } = options;
  let counted: Promise<number> | undefined;
  let countedAt = 0;
  let sentSince = 0;

  /** Number of messages in the whole queue. Feeds that are read concurrently share one request. */
  async function total(): Promise<number> {
    if (!counted || clock.now() - countedAt >= countedForMs) {
      counted = countMessages(queue);
      [countedAt, sentSince] = [clock.now(), 0];
      counted.catch(() => (counted = undefined));
    }
    return (await counted) + sentSince;
  }

  const sendKeyed = (keyed: readonly (readonly [key: string, ChangedAdvert])[]) =>
    sendBatches(
      queue,
      keyed.map(([key, message]) => ({
        key,
        MessageBody: JSON.stringify(message),
        MessageGroupId: messageGroupOf(message),
        MessageDeduplicationId: key,
      })),
      clock,
    );

  return {
    async send(messages) {
      const refused = await sendKeyed(messages.map((message) => [message.key, message]));
      sentSince += messages.length - refused.size;
      for (const { key, partnerAccount } of messages) if (!refused.has(key)) shares?.sent(partnerAccount, 1);
      return refused;
    },

    // Not by the message's key, which the queue may have accepted minutes ago.
    sendAgain: (messages) => sendKeyed(messages.map(({ etag, message }) => [etag, message])),

    async depth(partnerAccount) {
      const waiting = await total();
      return shares?.depthOf(partnerAccount, waiting) ?? waiting;
    },
  };
}

/** Only the used fields of a record, so that the result of `ReceiveMessage` has this type too. */
export type ReceivedRecord = Pick<SQSRecord, 'messageId' | 'receiptHandle' | 'body'> & {
  readonly attributes: Partial<SQSRecord['attributes']>;
};

/** @see https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html */
export function deliveryOf({ messageId, body, attributes }: ReceivedRecord): Delivery {
  const receives = Number(attributes.ApproximateReceiveCount ?? 1);
  const sentAt = Number(attributes.SentTimestamp ?? 0);
  // Emulators omit the sequence number. The time of sending also orders an advert's messages, except within the same
  // millisecond.
  const position = deliveryPosition(attributes.SequenceNumber ?? String(sentAt), receives);
  return { id: messageId, ...messageIn(body), position, receives, sentAt };
}
