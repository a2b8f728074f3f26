import {
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { backoffMs } from '../../domain/backoff.ts';
import { type Clock, systemClock } from '../../domain/clock.ts';
import { forEachConcurrent } from '../../domain/for-each-concurrent.ts';

/** A queue with the client that talks to it. */
export interface Queue {
  readonly client: SQSClient;
  readonly url: string;
}

export interface Edges {
  readonly clock?: Clock;
  readonly random?: () => number;
}

export interface Outgoing {
  /** What the caller knows it by. */
  readonly key: string;
  readonly body: string;
  /** These two only for a FIFO queue. */
  readonly groupId?: string;
  readonly deduplicationId?: string;
}

/** SQS takes ten messages in a batch. */
export const messagesAtOnce = 10;
/** Requests side by side: enough to hide their latency, few enough for one kept-alive connection pool. */
const batchesAtOnce = 8;
const maxAttempts = 5;
const backoff = { baseMs: 50, capMs: 1_000 };

/**
 * Sends to a queue, by tens, several tens side by side. An entry that failed inside an answer of 200 is sent again
 * with backoff, unless SQS says that it is the entry's own fault.
 *
 * @returns the keys that were not accepted
 * @throws when a call failed as a whole, after the SDK's own retries and after the other batches have ended; the
 *   deduplication IDs make it safe to send all of them again within five minutes
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
 */
export async function sendBatches(
  { client, url }: Queue,
  messages: readonly Outgoing[],
  { clock = systemClock, random = Math.random }: Edges = {},
): Promise<Set<string>> {
  const refused = new Set(messages.map(({ key }) => key));
  await forEachConcurrent(inTens(messages), batchesAtOnce, async (batch) => {
    let left = batch;
    for (let attempt = 1; left.length > 0; attempt += 1) {
      const { Successful = [], Failed = [] } = await client.send(
        new SendMessageBatchCommand({ QueueUrl: url, Entries: left.map(entryOf) }),
      );
      for (const { Id } of Successful) {
        const accepted = left[Number(Id)];
        if (accepted) refused.delete(accepted.key);
      }
      const hopeless = new Set(Failed.filter(({ SenderFault }) => SenderFault).map(({ Id }) => Id));
      left = left.filter(({ key }, index) => refused.has(key) && !hopeless.has(String(index)));
      if (left.length === 0 || attempt >= maxAttempts) return;
      await clock.sleep(backoffMs(attempt, { ...backoff, random }));
    }
  });
  return refused;
}

const entryOf = (message: Outgoing, index: number): SendMessageBatchRequestEntry => ({
  Id: String(index),
  MessageBody: message.body,
  MessageGroupId: message.groupId,
  MessageDeduplicationId: message.deduplicationId,
});

/** The list in pieces of at most ten. */
export function inTens<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / messagesAtOnce) }, (_, index) =>
    list.slice(index * messagesAtOnce, (index + 1) * messagesAtOnce),
  );
}
