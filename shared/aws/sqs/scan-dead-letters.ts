import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
} from '@aws-sdk/client-sqs';
import { batchesOf } from '../batches/batches.ts';
import { messagesAtOnce, type Queue } from './send-batches.ts';

/** A message of the dead-letter queue that nobody else sees for now. */
export interface HeldLetter {
  /** Its MessageId: the same however often it is received. */
  readonly id: string;
  readonly receiptHandle: string;
  readonly group: string;
  readonly body: string;
  readonly sentAtMs: number;
  readonly receives: number;
}

/** Long enough for one pass, so that a letter that is not taken out is received once. */
const passSeconds = 300;
/** With no wait at all SQS asks only some of its servers, and may answer that there is nothing. */
const waitSeconds = 1;

/**
 * Goes over the queue's letters, each once, and makes those visible again that were not taken out, also after an error.
 *
 * SQS hands out nothing of a message group while something of it is held, so letters of one advert that did not fit
 * into the same answer stay hidden. So such groups are made visible at the end and received once more, with the rest of
 * their letters.
 *
 * @param take called with each letter once; returns those that it removed from the queue
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
      // Letters that come again though nobody let them go: the pass has outlasted their timeout.
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

/** @returns those that are gone; what SQS did not delete is seen again */
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

/** An entry that fails is shown again by its timeout. */
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
