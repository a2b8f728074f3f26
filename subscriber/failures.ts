import type { Arrival } from './arrivals.ts';
import { ClaimLostError } from './claims.ts';
import type { BridgeEvent } from './parse.ts';

/** A failure. Its messages go back to the queue. */
export interface Failure {
  /**
   * - `refused`: a record is not an event, and there is no `onRefused`.
   * - `dead-letter`: a record is not an event, and `onRefused` failed.
   * - `positions`: the position store failed.
   * - `handler`: your function threw.
   */
  readonly stage: 'refused' | 'dead-letter' | 'positions' | 'handler';
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

/** The position store failed for every record of a batch, so the invocation must count as failed. */
export class PositionStoreError extends Error {
  override readonly name = 'PositionStoreError';
  readonly code = 'position-store';
  readonly retryable = true;

  constructor(records: number, cause: unknown) {
    const all = records === 1 ? 'the record' : `all ${records} records`;
    super(`the position store failed for ${all}: ${inShort(cause)}. ${storeAdvice}`, { cause });
  }
}

const storeAdvice =
  'With DynamoDB, check that the table exists and that the function may dynamodb:UpdateItem and dynamodb:GetItem on it.';

/** The failures of one invocation: reports each when it happens, and creates the answer at the end. */
export class Failures {
  readonly #ids = new Set<string>();
  readonly #onError: (failure: Failure) => unknown;
  readonly #withoutId: unknown[] = [];
  readonly #storeErrors: unknown[] = [];

  constructor(onError: (failure: Failure) => unknown = printFailure) {
    this.#onError = onError;
  }

  /**
   * Returns messages to the queue without reporting a failure: the handler asked for it, or another worker has claimed
   * the advert.
   */
  giveBack(messageIds: readonly (string | undefined)[], error: unknown): void {
    for (const messageId of messageIds) {
      if (messageId === undefined) this.#withoutId.push(error);
      else this.#ids.add(messageId);
    }
  }

  async add(
    stage: Failure['stage'],
    error: unknown,
    arrivals: readonly (Pick<Arrival, 'messageId'> & Partial<Arrival>)[],
  ): Promise<void> {
    const messageIds = arrivals.map(({ messageId }) => messageId);
    this.giveBack(messageIds, error);
    if (stage === 'positions' && !(error instanceof ClaimLostError))
      this.#storeErrors.push(...arrivals.map(() => error));
    const failure: Failure = {
      stage,
      error,
      events: arrivals.flatMap(({ event }) => event ?? []),
      messageIds: messageIds.filter((messageId) => messageId !== undefined),
    };
    await callSafely('onError', () => this.#onError(failure));
  }

  has(messageId: string | undefined): boolean {
    return messageId !== undefined && this.#ids.has(messageId);
  }

  /**
   * @throws {PositionStoreError} if the store failed for every record
   * @throws the first error if the function itself is the target of a rule, because there is no list of failed messages
   * then
   */
  answer(records: number): BatchAnswer {
    if (records > 0 && this.#storeErrors.length >= records) {
      throw new PositionStoreError(records, this.#storeErrors[0]);
    }
    if (this.#withoutId.length > 0) throw this.#withoutId[0];
    return { batchItemFailures: [...this.#ids].map((itemIdentifier) => ({ itemIdentifier })) };
  }
}

/** Calls an observer function. Its errors are printed and have no other effect. */
export async function callSafely(name: string, call: () => unknown): Promise<void> {
  try {
    await call();
  } catch (error) {
    console.error(`advert-bridge: ${name} threw ${inShort(error)}. The batch goes on.`);
  }
}

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
  const line = {
    refused: `${what} is refused: ${cause}. ${goesBack} until its last delivery. Check that the rule sends the whole event to its target, without an input transformer. With onRefused, such records go to your dead-letter queue immediately.`,
    'dead-letter': `${what} is refused and could not be sent to the dead-letter queue: ${cause}. ${goesBack}. Check queueUrl, and that the function may sqs:SendMessage to it.`,
    positions: `the position store failed for ${what}: ${cause}. ${goesBack}.${error instanceof ClaimLostError ? '' : ` ${storeAdvice}`}`,
    handler: `your handler failed for ${what}: ${cause}. ${goesBack}${waiting.length > 0 ? ': later events of an advert wait for the one that failed' : ''}.`,
  }[stage];
  // For a fault in your own code, the stack trace is needed too.
  console.error(`advert-bridge: ${line}`, ...(stage === 'handler' ? [error] : []));
}

const inShort = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error);
