import type { Arrival } from './arrivals.ts';
import { AdvertBusyError, BatchFailedError, ClaimLostError, inShort, line } from './errors.ts';
import type { BridgeEvent } from './parse.ts';

/** A failure. Its messages go back to the queue, as `BatchAnswer` says. */
export interface Failure {
  /**
   * - `refused`: a record is not an event, and there is no `onRefused`.
   * - `dead-letter`: a record is not an event, and `onRefused` failed.
   * - `busy`: another worker has claimed the advert for longer than `busyWaitMs`.
   * - `positions`: the position store failed.
   * - `handler`: your function threw.
   */
  readonly stage: 'refused' | 'dead-letter' | 'busy' | 'positions' | 'handler';
  readonly error: unknown;
  /**
   * The event that failed, and the later events of its advert, or of its group of a FIFO queue, which wait for it. Without
   * the records that are not events.
   */
  readonly events: readonly BridgeEvent[];
  /** IDs of their messages, in the same order; empty if the function itself is the target of a rule. */
  readonly messageIds: readonly string[];
}

/**
 * The function's answer for the event source mapping: the messages to deliver again. Only a mapping with
 * `ReportBatchItemFailures` reads it: any other deletes all messages of the batch, and their events are lost.
 */
export interface BatchAnswer {
  batchItemFailures: { itemIdentifier: string }[];
}

/** The failures of one invocation: reports each when it happens, and creates the answer at the end. */
export class Failures {
  readonly #ids = new Set<string>();
  readonly #onError: (failure: Failure) => unknown;
  readonly #withoutId: unknown[] = [];
  readonly #faults: unknown[] = [];

  constructor(onError: (failure: Failure) => unknown = printFailure) {
    this.#onError = onError;
  }

  async add(
    stage: Failure['stage'],
    error: unknown,
    arrivals: readonly (Pick<Arrival, 'messageId'> & Partial<Arrival>)[],
  ): Promise<void> {
    const messageIds = arrivals.flatMap(({ messageId }) => messageId ?? []);
    const events = arrivals.flatMap(({ event }) => event ?? []);
    for (const messageId of messageIds) this.#ids.add(messageId);
    if (messageIds.length < arrivals.length) this.#withoutId.push(error);
    if (stage !== 'busy') this.#faults.push(error);
    await callSafely('onError', () => this.#onError({ stage, error, events, messageIds }));
  }

  /**
   * @throws {BatchFailedError} if every record failed, so that Lambda counts an error; records of adverts that another
   * worker has claimed alone are no error
   * @throws the first error if the function itself is the target of a rule, because there is no list of failed messages
   * then
   */
  answer(records: number): BatchAnswer {
    if (this.#withoutId.length > 0) throw this.#withoutId[0];
    if (this.#faults.length > 0 && this.#ids.size >= records) {
      throw new BatchFailedError(records, this.#faults[0]);
    }
    return { batchItemFailures: [...this.#ids].map((itemIdentifier) => ({ itemIdentifier })) };
  }
}

/** Calls an observer function. Its errors are printed and have no other effect. */
export async function callSafely(name: string, call: () => unknown): Promise<void> {
  try {
    await call();
  } catch (error) {
    console.error(line(`${name} threw ${inShort(error)}. The batch goes on.`));
  }
}

/** What the default `onError` prints: what happened, and what to do. */
const sayings: Readonly<Record<Failure['stage'], readonly [problem: string, advice: string]>> = {
  refused: [
    'is refused',
    ' Check that the rule, or the subscriber of the bus, sends the whole event, without a transformer, and SNS raw messages. With onRefused, such records go to your dead-letter queue immediately.',
  ],
  'dead-letter': [
    'is refused and could not be sent to the dead-letter queue',
    ' Check queueUrl, and that the function may sqs:SendMessage to it.',
  ],
  busy: ['has to wait', ''],
  positions: [
    'met a fault of the position store',
    ' With DynamoDB, check that the table exists and that the function may dynamodb:UpdateItem on it.',
  ],
  handler: ['made your handler fail', ''],
};

function printFailure({ stage, error, events: [event], messageIds: [messageId, ...others] }: Failure): void {
  const [problem, advice] = error instanceof ClaimLostError ? ['has to wait', ''] : sayings[stage];
  const what = messageId === undefined ? 'an event' : `message ${messageId}`;
  // Of a refused record, the events are those that wait for it.
  const which =
    event && !/^(refused|dead-letter)$/.test(stage)
      ? ` (${event['detail-type']} ${event.detail.metadata.eventId})`
      : '';
  const also = others.length > 0 ? `, with those that wait for it: ${others.join(', ')}` : '';
  const given = messageId === undefined ? '' : ' if the event source mapping has ReportBatchItemFailures';
  const text = `${what}${which} ${problem}: ${inShort(error)}. It is delivered again${given}${also}.${advice}`;
  const print = error instanceof AdvertBusyError ? console.warn : console.error;
  // For a fault in your own code, the stack trace is needed too.
  print(line(text), ...(stage === 'handler' ? [error] : []));
}
