import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
} from '@aws-sdk/client-sqs';
import { batchesOf } from '../batches/batches.ts';
import { messagesAtOnce, type Queue } from './send-batches.ts';

/** A received message of the dead-letter queue, which is hidden from others for now. */
export interface HeldLetter {
  /** The MessageId, which is the same for every receive. */
  readonly id: string;
  readonly receiptHandle: string;
  readonly group: string;
  readonly body: string;
  readonly sentAtMs: number;
  readonly receives: number;
}

/** Long enough for one pass, so that a dead letter that stays in the queue is received only once. */
const passSeconds = 300;
/** Without a wait, SQS asks only some of its servers and may return nothing although there are messages. */
const waitSeconds = 1;

/**
 * Receives each dead letter of the queue once, and then makes those that were not removed visible again, even after an
 * error.
 *
 * While a message of a group is in flight, SQS does not deliver other messages of the group. So if the dead letters of
 * one advert do not fit into one answer, the rest stay hidden. Such groups are made visible at the end and received
 * once more, with the rest of their dead letters.
 *
 * @param take called once with each dead letter; returns those that it removed from the queue
 * @param isEnough ends the pass early
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/FIFO-queues-understanding-logic.html
 */
export async function scanDeadLetters(
  queue: Queue,
  take: (letters: readonly HeldLetter[]) => Promise<readonly HeldLetter[]>,
  isEnough: () => boolean = () => false,
): Promise<void> {
  const held = new Map<string, HeldLetter>();
  const seen = new Set<string>();
  const cutGroups = new Set<string>();
  let expectedAgain = 0;
  try {
    while (!isEnough()) {
      const batch = await receive(queue);
      const fresh = batch.filter(({ id }) => !seen.has(id));
      for (const letter of batch) held.set(letter.id, letter);
      for (const { id } of fresh) seen.add(id);
      expectedAgain -= batch.length - fresh.length;
      if (fresh.length > 0) {
        if (batch.length === messagesAtOnce) cutGroups.add(batch.at(-1)?.group ?? '');
        for (const { id } of await take(fresh)) held.delete(id);
        continue;
      }
      // Dead letters that are received again although they were not made visible: the pass took longer than their
      // timeout.
      if (batch.length > 0 && expectedAgain >= 0) continue;
      const cut = [...held.values()].filter(({ group }) => cutGroups.has(group));
      cutGroups.clear();
      if (cut.length === 0) return;
      await showAgain(queue, cut);
      for (const { id } of cut) held.delete(id);
      expectedAgain = cut.length;
    }
  } finally {
    await showAgain(queue, [...held.values()]);
  }
}

async function receive({ client, url }: Queue): Promise<HeldLetter[]> {
  const { Messages = [] } = await client.send(
    new ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: messagesAtOnce,
      VisibilityTimeout: passSeconds,
      WaitTimeSeconds: waitSeconds,
      MessageSystemAttributeNames: ['MessageGroupId', 'SentTimestamp', 'ApproximateReceiveCount'],
    }),
  );
  return Messages.map(({ MessageId = '', ReceiptHandle = '', Body = '', Attributes = {} }) => ({
    id: MessageId,
    receiptHandle: ReceiptHandle,
    group: Attributes.MessageGroupId ?? MessageId,
    body: Body,
    sentAtMs: Number(Attributes.SentTimestamp ?? 0),
    receives: Number(Attributes.ApproximateReceiveCount ?? 1),
  }));
}

/** @returns the deleted ones; messages that SQS did not delete become visible again */
export async function remove(
  { client, url }: Queue,
  letters: readonly HeldLetter[],
): Promise<readonly HeldLetter[]> {
  const gone: HeldLetter[] = [];
  for (const ten of batchesOf(letters, messagesAtOnce)) {
    const Entries = ten.map(({ receiptHandle }, index) => ({
      Id: String(index),
      ReceiptHandle: receiptHandle,
    }));
    const { Failed = [] } = await client.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries }));
    const failed = new Set(Failed.map(({ Id }) => Id));
    gone.push(...ten.filter((_, index) => !failed.has(String(index))));
  }
  return gone;
}

/** If an entry fails, the message becomes visible when its timeout ends. */
async function showAgain({ client, url }: Queue, letters: readonly HeldLetter[]): Promise<void> {
  for (const ten of batchesOf(letters, messagesAtOnce)) {
    const Entries = ten.map(({ receiptHandle }, index) => ({
      Id: String(index),
      ReceiptHandle: receiptHandle,
      VisibilityTimeout: 0,
    }));
    await client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries }));
  }
}
