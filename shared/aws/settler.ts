import { ChangeMessageVisibilityBatchCommand } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse } from 'aws-lambda';
import { systemClock } from '../domain/clock.ts';
import { forEachConcurrent } from '../domain/for-each-concurrent.ts';
import { placeOf } from '../domain/queue/parked-message.ts';
import type { Settlement, Verdict } from '../ports/deliveries.ts';
import type { Observer } from '../ports/observer.ts';
import type { Books, Entry } from './books.ts';
import { sendDeadLetters } from './dead-letters.ts';
import type { Parking } from './parking/parking.ts';
import type { ReceivedRecord } from './sqs/deliveries.ts';
import { type Edges, inTens, type Queue } from './sqs/send-batches.ts';

export interface BatchSettlerOptions extends Edges {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
  readonly books: Books;
  readonly parking: Pick<Parking, 'park'>;
  readonly observer: Observer;
}

export interface Batch {
  readonly records: readonly ReceivedRecord[];
  readonly settlements: readonly Settlement[];
  /** When the batch was handed over, ms since 1970: visibility is counted from about then. */
  readonly receivedAt: number;
}

/** A message is invisible for 12 hours at most, counted from its receipt; a minute is for the way to the function. */
const maxInvisibleSeconds = 43_200 - 60;

type Of<K extends Verdict['kind']> = Settlement & { readonly verdict: Extract<Verdict, { kind: K }> };
const isOf =
  <K extends Verdict['kind']>(kind: K) =>
  (settlement: Settlement): settlement is Of<K> =>
    settlement.verdict.kind === kind;

/**
 * Carries out a batch's verdicts where the event source mapping deletes what is not reported: dead letters are sent,
 * delays set, outcomes counted, and everything else goes back. A message without a verdict goes back too.
 */
export function createBatchSettler(options: BatchSettlerOptions) {
  const { queue, clock = systemClock } = options;

  /**
   * @throws when the outcomes could not be counted: the batch comes back as a whole
   * @see https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
   */
  async function settle({ records, settlements, receivedAt }: Batch): Promise<SQSBatchResponse> {
    const letters = settlements.filter(isOf('dead-letter'));
    const [refused, parked] = await Promise.all([
      sendLetters(letters),
      park(settlements.filter(isOf('park'))),
      delay(records, settlements.filter(isOf('retry')), receivedAt),
    ]);
    const buried = letters.filter(({ delivery }) => !refused.has(delivery.id));
    const done = settlements.filter(isOf('done'));
    await count([...done, ...buried]);
    const gone = new Set(
      [...done, ...buried, ...parked, ...settlements.filter(isOf('forgotten'))].map(
        ({ delivery }) => delivery.id,
      ),
    );
    const failures = records.map(({ messageId }) => messageId).filter((id) => !gone.has(id));
    // An emulator takes an empty identifier for success and deletes the batch; a throw never deletes anything.
    if (failures.includes('')) throw new Error('a record without a message ID');
    return { batchItemFailures: failures.map((itemIdentifier) => ({ itemIdentifier })) };
  }

  /** @returns whose letter was not accepted: those messages stay in the queue */
  async function sendLetters(letters: readonly Of<'dead-letter'>[]): Promise<Set<string>> {
    const addressed = letters.map(({ delivery, verdict }) => ({ id: delivery.id, letter: verdict.letter }));
    return sendDeadLetters(options.deadLetterQueue, addressed, options).catch((error: unknown) => {
      options.observer.warn('dead letters were not accepted: their messages come back', { error });
      return new Set(addressed.map(({ id }) => id));
    });
  }

  /** @returns those that may leave the queue */
  async function park(settlements: readonly Of<'park'>[]): Promise<readonly Of<'park'>[]> {
    const messages = settlements.flatMap(({ delivery: { message, position } }) =>
      message ? [{ place: placeOf(position, message), message }] : [],
    );
    if (messages.length === 0) return [];
    try {
      await options.parking.park(messages);
      return settlements;
    } catch (error) {
      options.observer.warn('messages could not be parked: they come back', { error });
      return [];
    }
  }

  // Where the delay cannot be set, the message comes back when its visibility ends: sooner or later, but it does.
  async function delay(
    records: readonly ReceivedRecord[],
    settlements: readonly Of<'retry'>[],
    receivedAt: number,
  ): Promise<void> {
    const receipts = new Map(records.map(({ messageId, receiptHandle }) => [messageId, receiptHandle]));
    const maxSeconds = maxInvisibleSeconds - Math.ceil((clock.now() - receivedAt) / 1000);
    await forEachConcurrent(inTens(settlements), 4, async (ten) => {
      const Entries = ten.map(({ delivery, verdict }, index) => ({
        Id: String(index),
        ReceiptHandle: receipts.get(delivery.id),
        VisibilityTimeout: Math.max(0, Math.min(Math.ceil(verdict.delayMs / 1000), maxSeconds)),
      }));
      await queue.client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: queue.url, Entries }));
    }).catch((error: unknown) => {
      options.observer.warn('a delay could not be set: the messages come back at their own time', { error });
    });
  }

  async function count(settled: readonly (Of<'done'> | Of<'dead-letter'>)[]): Promise<void> {
    const entries = new Map<string, { account: string; generation: number; entry: Entry }>();
    for (const { delivery, verdict } of settled) {
      if (!delivery.message) continue;
      const { partnerAccount: account, generation } = delivery.message;
      const key = `${account}/${generation}`;
      const entry: Entry = entries.get(key)?.entry ?? {};
      const outcome = verdict.kind === 'done' ? verdict.outcome : 'deadLettered';
      entry[outcome] = (entry[outcome] ?? 0) + 1;
      if (delivery.receives > 1) entry.redelivered = (entry.redelivered ?? 0) + 1;
      entries.set(key, { account, generation, entry });
    }
    await forEachConcurrent([...entries.values()], 4, ({ account, generation, entry }) =>
      options.books.add(account, generation, entry),
    );
  }

  return { settle };
}

export type BatchSettler = ReturnType<typeof createBatchSettler>;
