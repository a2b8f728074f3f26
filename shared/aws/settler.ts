import {
  ChangeMessageVisibilityBatchCommand,
  type ChangeMessageVisibilityBatchRequestEntry,
} from '@aws-sdk/client-sqs';
import type { SQSBatchResponse } from 'aws-lambda';
import { type Clock, systemClock } from '../domain/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { Settlement, Verdict } from '../ports/queue.ts';
import type { Store } from '../ports/store.ts';
import type { Aside } from '../state/aside.ts';
import { type Counted, type Counts, countInBooks } from '../state/books.ts';
import type { Queue, ReceivedRecord } from './sqs.ts';

export interface BatchSettlerOptions {
  readonly queue: Queue;
  readonly books: Pick<Store, 'add'>;
  readonly aside: Pick<Aside, 'store'>;
  readonly observer: Observer;
  readonly clock?: Clock;
}

/** At most ten messages, the most that Lambda takes of a FIFO queue. */
export interface Batch {
  readonly records: readonly ReceivedRecord[];
  readonly settlements: readonly Settlement[];
  /** Approximate time of the batch's receipt, ms since 1970, from which the visibility timeout counts. */
  readonly receivedAt: number;
}

/** SQS hides a message for at most 12 hours after its receipt; a minute is for the time until the function starts. */
const maxInvisibleSeconds = 43_200 - 60;

const notDelayed = 'a delay could not be set: the messages come back when their visibility timeout ends';

/**
 * Carries out a batch's verdicts: puts messages aside, sets delays and counts outcomes. The event source
 * mapping deletes every message that is not reported as failed. So all messages that must return to the queue are
 * reported, including messages without a verdict.
 *
 * @returns a function that throws if the outcomes could not be counted; then the whole batch is delivered again
 * @see https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
 */
export function createBatchSettler(options: BatchSettlerOptions) {
  const { queue, books, aside, observer, clock = systemClock } = options;

  // If the delay cannot be set, the message is still delivered again, when its visibility timeout ends.
  async function delay({ records, settlements, receivedAt }: Batch): Promise<void> {
    const receipts = new Map(records.map(({ messageId, receiptHandle }) => [messageId, receiptHandle]));
    const maxSeconds = maxInvisibleSeconds - Math.ceil((clock.now() - receivedAt) / 1000);
    const Entries = settlements.flatMap(({ delivery: { id }, verdict }, index) => {
      if (verdict.kind !== 'retry') return [];
      const VisibilityTimeout = Math.max(0, Math.min(Math.ceil(verdict.delayMs / 1000), maxSeconds));
      return [{ Id: String(index), ReceiptHandle: receipts.get(id), VisibilityTimeout }];
    });
    if (Entries.length === 0) return;
    const set = async (Entries: ChangeMessageVisibilityBatchRequestEntry[]) => {
      const delays = new ChangeMessageVisibilityBatchCommand({ QueueUrl: queue.url, Entries });
      return (await queue.client.send(delays)).Failed ?? [];
    };
    try {
      const failed = new Set((await set(Entries)).map(({ Id }) => Id));
      // A successful call may contain failed entries, which the SDK does not repeat.
      const left = failed.size > 0 ? await set(Entries.filter(({ Id }) => failed.has(Id))) : [];
      if (left.length > 0) observer.warn(notDelayed, { count: left.length, code: left[0]?.Code });
    } catch (error) {
      observer.warn(notDelayed, { error });
    }
  }

  async function count(settled: readonly Settlement[]): Promise<void> {
    const counted = settled.flatMap(({ delivery: { message, receives }, verdict }): Counted[] => {
      const outcome = bookedAs(verdict);
      return message && outcome ? [[message, { [outcome]: 1, ...(receives > 1 && { redelivered: 1 }) }]] : [];
    });
    await countInBooks(books, counted);
  }

  return async (batch: Batch): Promise<SQSBatchResponse> => {
    const { records, settlements } = batch;
    const [refused] = await Promise.all([aside.store(settlements), delay(batch)]);
    const [error] = refused.values();
    if (refused.size > 0)
      observer.warn('messages could not be put aside: they come back', { count: refused.size, error });
    const settled = settlements.filter((one) => one.verdict.kind !== 'retry' && !refused.has(one));
    await count(settled);
    const gone = new Set(settled.map(({ delivery }) => delivery.id));
    const failures = records.map(({ messageId }) => messageId).filter((id) => !gone.has(id));
    // An emulator treats an empty identifier as success and deletes the batch; throwing never deletes anything.
    if (failures.includes('')) throw new Error('a record without a message ID');
    return { batchItemFailures: failures.map((itemIdentifier) => ({ itemIdentifier })) };
  };
}

/** Under which name the books count it, if at all. */
function bookedAs(verdict: Verdict): keyof Counts | undefined {
  if (verdict.kind === 'done') return verdict.outcome;
  return verdict.kind === 'dead-letter' ? 'deadLettered' : undefined;
}
