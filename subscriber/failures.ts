import type { Arrival } from './arrivals.ts';
import { AdvertBusyError, BatchFailedError, ClaimLostError, inShort, line } from './errors.ts';
import type { BridgeEvent } from './parse.ts';

/** A failure. Its messages go back to the queue. */
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
   * The event that failed, and the later events of its advert, which wait for it. Empty if the record is not an event.
   */
  readonly events: readonly BridgeEvent[];
  /** IDs of their messages, in the same order; empty if the function itself is the target of a rule. */
  readonly messageIds: readonly string[];
}

/** The function's answer for the event source mapping: the messages to deliver again. */
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
    for (const messageId of messageIds) this.#ids.add(messageId);
    if (messageIds.length < arrivals.length) this.#withoutId.push(error);
    if (stage !== 'busy') this.#faults.push(error);
    const failure: Failure = {
      stage,
      error,
      events: arrivals.flatMap(({ event }) => event ?? []),
      messageIds,
    };
    await callSafely('onError', () => this.#onError(failure));
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

const storeAdvice =
  ' With DynamoDB, check that the table exists and that the function may dynamodb:UpdateItem on it.';

/** The default `onError`: prints one line with the message ID and what to do. */
function printFailure({ stage, error, events: [event, ...waiting], messageIds }: Failure): void {
  const [messageId, ...others] = messageIds;
  const what = [
    messageId === undefined ? 'an event' : `message ${messageId}`,
    ...(event ? [`(${event['detail-type']} ${event.detail.metadata.eventId})`] : []),
  ].join(' ');
  const also = others.length > 0 ? `, with it ${others.join(', ')}` : '';
  const goesBack = `It goes back${messageId === undefined ? ' to Lambda' : ` to the queue${also}`}`;
  const cause = inShort(error);
  const isOfStore = !(error instanceof ClaimLostError);
  const text = {
    refused: `${what} is refused: ${cause}. ${goesBack} until its last delivery. Check that the rule sends the whole event to its target, without an input transformer. With onRefused, such records go to your dead-letter queue immediately.`,
    'dead-letter': `${what} is refused and could not be sent to the dead-letter queue: ${cause}. ${goesBack}. Check queueUrl, and that the function may sqs:SendMessage to it.`,
    busy: `${what} has to wait: ${cause}. ${goesBack}.`,
    positions: `the position store failed for ${what}: ${cause}. ${goesBack}.${isOfStore ? storeAdvice : ''}`,
    handler: `your handler failed for ${what}: ${cause}. ${goesBack}${waiting.length > 0 ? ': later events of an advert wait for the one that failed' : ''}.`,
  }[stage];
  const print = error instanceof AdvertBusyError ? console.warn : console.error;
  // For a fault in your own code, the stack trace is needed too.
  print(line(text), ...(stage === 'handler' ? [error] : []));
}
