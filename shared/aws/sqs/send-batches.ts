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
  /** The caller's name of the message. */
  readonly key: string;
  /** JSON. */
  readonly body: string;
  /** Only for a FIFO queue. */
  readonly groupId?: string;
  readonly deduplicationId?: string;
}

/** SQS accepts ten messages per batch. */
export const messagesAtOnce = 10;
/** Number of concurrent requests: enough to hide their latency, and few enough for one pool of kept-alive connections. */
const batchesAtOnce = 8;
const retries = { maxAttempts: 5, baseMs: 50, capMs: 1_000 };

/**
 * Sends messages to a queue in concurrent batches of ten. If a single entry of a successful call failed, it is sent
 * again with backoff, unless SQS reports it as the sender's fault.
 *
 * @returns the keys of the messages that were not accepted
 * @throws if a whole call failed after the SDK's retries, once the other batches have ended; because of the
 * deduplication IDs, all messages can safely be sent again within five minutes
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

/** SQS refuses characters that XML 1.0 does not allow; JSON does not escape these two. @see API_SendMessageBatch */
const refusedBySqs = /[\ufffe\uffff]/g;
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16)}`;

const entryOf = (message: Outgoing, index: number): SendMessageBatchRequestEntry => ({
  Id: String(index),
  MessageBody: message.body.replace(refusedBySqs, escaped),
  MessageGroupId: message.groupId,
  MessageDeduplicationId: message.deduplicationId,
});
