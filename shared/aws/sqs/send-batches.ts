import {
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { forEachConcurrent } from '../../domain/for-each-concurrent.ts';
import { batchesOf, type Edges, retryRest } from '../batches/batches.ts';

/** A queue with the client that talks to it. */
export interface Queue {
  readonly client: SQSClient;
  readonly url: string;
}

export interface Outgoing {
  /** What the caller knows it by. */
  readonly key: string;
  /** JSON. */
  readonly body: string;
  /** These two only for a FIFO queue. */
  readonly groupId?: string;
  readonly deduplicationId?: string;
}

/** SQS takes ten messages in a batch. */
export const messagesAtOnce = 10;
/** Requests side by side: enough to hide their latency, few enough for one kept-alive connection pool. */
const batchesAtOnce = 8;
const retries = { maxAttempts: 5, baseMs: 50, capMs: 1_000 };

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
  edges: Edges = {},
): Promise<Set<string>> {
  const refused = new Set(messages.map(({ key }) => key));
  const send = async (batch: readonly Outgoing[]): Promise<Outgoing[]> => {
    const { Successful = [], Failed = [] } = await client.send(
      new SendMessageBatchCommand({ QueueUrl: url, Entries: batch.map(entryOf) }),
    );
    for (const { Id } of Successful) refused.delete(batch[Number(Id)]?.key ?? '');
    const hopeless = new Set(Failed.filter(({ SenderFault }) => SenderFault).map(({ Id }) => Id));
    return batch.filter(({ key }, index) => refused.has(key) && !hopeless.has(String(index)));
  };
  await forEachConcurrent(batchesOf(messages, messagesAtOnce), batchesAtOnce, async (batch) => {
    await retryRest(batch, send, { ...retries, ...edges });
  });
  return refused;
}

/** SQS refuses what XML 1.0 has no character for; JSON leaves these two as they are. @see API_SendMessageBatch */
const refusedBySqs = /[\ufffe\uffff]/g;
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16)}`;

const entryOf = (message: Outgoing, index: number): SendMessageBatchRequestEntry => ({
  Id: String(index),
  MessageBody: message.body.replace(refusedBySqs, escaped),
  MessageGroupId: message.groupId,
  MessageDeduplicationId: message.deduplicationId,
});
