import { type BatchAnswer, type Delivery, type OpenBatch, openBatch, type Refusal } from './batch.ts';
import { createStaleGuard } from './guard.ts';
import type { BridgeEvent } from './parse.ts';
import type { PositionStore } from './store.ts';

export interface AdvertEventsOptions {
  /** Remembers how far each advert's history has been applied. */
  readonly store: PositionStore;
  /** See `BatchOptions.onRefused`; `sendToDeadLetters` makes one. */
  readonly onRefused?: (refusal: Refusal) => Promise<void>;
  /** Told of each event that is left out, for your log. */
  readonly onSkipped?: (event: BridgeEvent, outcome: 'duplicate' | 'stale') => void;
  /** ms since 1970; default `Date.now`. */
  readonly now?: () => number;
}

/** What the handler gets in place of the Lambda event. */
export interface AdvertBatch {
  /** The events to apply; those of one advert in order, none stale, none twice. */
  readonly deliveries: readonly Delivery[];
}

interface LambdaContext {
  getRemainingTimeInMillis?(): number;
}

/** As much of middy's request as is used; so the kit does not depend on middy. */
interface Request {
  /** Comes as Lambda's, goes to the handler as an {@link AdvertBatch}: middy knows one type for both. */
  event: AdvertBatch;
  response?: unknown;
  error?: Error | null | undefined;
  readonly context: LambdaContext;
  readonly internal: object;
}

/** A process that has run out of time is frozen or killed within this; a clock may be off by as much. */
const marginMs = 5_000;

/**
 * A handler for a Lambda function behind SQS, or behind a rule: parses, hands over what is no event, leaves out what is
 * stale or a duplicate, and remembers what `handle` has applied.
 *
 * `handle` returns nothing when all is applied, `{ batchItemFailures }` for what is not, and throws when nothing counts.
 * For SQS set `ReportBatchItemFailures` on the event source mapping.
 */
export function advertEventHandler(
  options: AdvertEventsOptions,
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is what is usual here.
  handle: (batch: AdvertBatch) => Promise<BatchAnswer | undefined | void>,
): (event: unknown, context?: LambdaContext) => Promise<BatchAnswer> {
  const openOne = opener(options);
  return async (event, context) => {
    const batch = await openOne(event, context);
    let answer: unknown;
    try {
      answer = await handle({ deliveries: batch.deliveries });
    } catch (error) {
      await batch.abandon();
      throw error;
    }
    return await batch.close(failuresIn(answer));
  };
}

/** The same as a middy middleware: the handler behind it is called with an {@link AdvertBatch}. */
export function advertEvents(options: AdvertEventsOptions) {
  const openOne = opener(options);
  // By request, for one function instance may be given several at a time.
  const open = new WeakMap<object, OpenBatch>();

  return {
    async before(request: Request): Promise<void> {
      const batch = await openOne(request.event, request.context);
      open.set(request.internal, batch);
      request.event = { deliveries: batch.deliveries };
    },
    async after(request: Request): Promise<void> {
      const batch = open.get(request.internal);
      // What fails in here reaches onError, which must not end claims that were confirmed.
      open.delete(request.internal);
      request.response = await batch?.close(failuresIn(request.response));
    },
    async onError(request: Request): Promise<void> {
      await open.get(request.internal)?.abandon();
      open.delete(request.internal);
    },
  };
}

function opener({ store, onRefused, onSkipped, now }: AdvertEventsOptions) {
  const guard = createStaleGuard({ store, ...(now && { now }) });
  return async (input: unknown, context: LambdaContext | undefined): Promise<OpenBatch> => {
    const remaining = context?.getRemainingTimeInMillis?.();
    const batch = await openBatch(input, {
      guard,
      ...(remaining !== undefined && { leaseMs: remaining + marginMs }),
      ...(onRefused && { onRefused }),
    });
    for (const { event, outcome } of batch.skipped) onSkipped?.(event, outcome);
    return batch;
  };
}

function failuresIn(response: unknown): string[] {
  if (typeof response !== 'object' || response === null || !('batchItemFailures' in response)) return [];
  return (response as BatchAnswer).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
}
