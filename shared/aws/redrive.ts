import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
} from '@aws-sdk/client-sqs';
import { checkedJson, ShapeError } from '../contract/checks.ts';
import { type ChangedAdvert, deadLetter } from '../contract/messages.ts';
import type { Books } from './books.ts';
import { inTens, type Queue, sendBatches } from './send-batches.ts';

export interface RedriveOptions {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
  readonly books: Books;
}

export interface RedriveReport {
  readonly redriven: number;
  /** Letters that were left: of other partner accounts, or with nothing in them to send. */
  readonly left: number;
}

interface Letter {
  readonly stored: Message;
  readonly message: ChangedAdvert;
}

/** Long enough for one pass: a letter that is left is seen once, then shown again at the end. */
const passSeconds = 300;

/**
 * Gives the messages of a partner account's dead letters back to the queue, under their own keys: fan-out finds its own
 * work again by them. SQS's own move task is no help, for a letter wraps its message with the reason.
 *
 * @param partnerAccount undefined: of all of them
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html
 */
export async function redrive(options: RedriveOptions, partnerAccount?: string): Promise<RedriveReport> {
  const { queue, deadLetterQueue } = options;
  const left: Message[] = [];
  let redriven = 0;
  for (let batch = await receive(deadLetterQueue); batch.length > 0; batch = await receive(deadLetterQueue)) {
    const letters = batch.flatMap((stored): Letter[] => {
      const message = messageOf(stored);
      const wanted = message && (partnerAccount ?? message.partnerAccount) === message.partnerAccount;
      return wanted ? [{ stored, message }] : [];
    });
    const refused = await sendBatches(
      queue,
      letters.map(({ stored, message }) => ({
        key: stored.MessageId ?? '',
        body: JSON.stringify(message),
        groupId: `${message.partnerAccount}/${message.advertId}`,
        // Not the message's key: the queue may have accepted that one minutes ago, and would drop this.
        deduplicationId: `redrive-${stored.MessageId}`,
      })),
    );
    const moved = letters.filter(({ stored }) => !refused.has(stored.MessageId ?? ''));
    await remove(deadLetterQueue, moved);
    await uncount(options.books, moved);
    redriven += moved.length;
    const gone = new Set(moved.map(({ stored }) => stored));
    left.push(...batch.filter((stored) => !gone.has(stored)));
  }
  await showAgain(deadLetterQueue, left);
  return { redriven, left: left.length };
}

async function receive({ client, url }: Queue): Promise<Message[]> {
  const { Messages = [] } = await client.send(
    new ReceiveMessageCommand({ QueueUrl: url, MaxNumberOfMessages: 10, VisibilityTimeout: passSeconds }),
  );
  return Messages;
}

function messageOf({ Body = '' }: Message): ChangedAdvert | null {
  try {
    return checkedJson(deadLetter, Body, 'dead letter').message;
  } catch (error) {
    // SQS's own redrive policy is the last resort: what it moved here is no letter, and a person has to look at it.
    if (error instanceof ShapeError) return null;
    throw error;
  }
}

async function remove({ client, url }: Queue, letters: readonly Letter[]): Promise<void> {
  if (letters.length === 0) return;
  const Entries = letters.map(({ stored }, index) => ({
    Id: String(index),
    ReceiptHandle: stored.ReceiptHandle,
  }));
  await client.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries }));
}

async function uncount(books: Books, letters: readonly Letter[]): Promise<void> {
  for (const { message } of letters) {
    await books.add(message.partnerAccount, message.generation, { deadLettered: -1 });
  }
}

async function showAgain({ client, url }: Queue, messages: readonly Message[]): Promise<void> {
  for (const ten of inTens(messages)) {
    const Entries = ten.map(({ ReceiptHandle }, index) => ({
      Id: String(index),
      ReceiptHandle,
      VisibilityTimeout: 0,
    }));
    await client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries }));
  }
}
