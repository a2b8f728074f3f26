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

/** As much of middy's request as is used; so the kit does not depend on middy. */
interface Request {
  event: unknown;
  response?: unknown;
  error?: Error | null | undefined;
  readonly context: { getRemainingTimeInMillis?(): number };
  readonly internal: object;
}

/** A process that has run out of time is frozen or killed within this; a clock may be off by as much. */
const marginMs = 5_000;

/**
 * A middy middleware for a Lambda function behind SQS, or behind a rule: parses, hands over what is no event, leaves out
 * what is stale or a duplicate, and remembers what the handler has applied.
 *
 * The handler returns nothing when all is applied, `{ batchItemFailures }` for what is not, and throws when nothing
 * counts. For SQS set `ReportBatchItemFailures` on the event source mapping.
 */
export function advertEvents(options: AdvertEventsOptions) {
  const { store, onRefused, onSkipped, now } = options;
  const guard = createStaleGuard({ store, ...(now && { now }) });
  // By request, for one function instance may be given several at a time.
  const open = new WeakMap<object, OpenBatch>();

  return {
    async before(request: Request): Promise<void> {
      const remaining = request.context?.getRemainingTimeInMillis?.();
      const batch = await openBatch(request.event, {
        guard,
        ...(remaining !== undefined && { leaseMs: remaining + marginMs }),
        ...(onRefused && { onRefused }),
      });
      open.set(request.internal, batch);
      for (const { event, outcome } of batch.skipped) onSkipped?.(event, outcome);
      request.event = { deliveries: batch.deliveries } satisfies AdvertBatch;
    },
    async after(request: Request): Promise<void> {
      const batch = open.get(request.internal);
      open.delete(request.internal);
      request.response = await batch?.close(failuresIn(request.response));
    },
    async onError(request: Request): Promise<void> {
      await open.get(request.internal)?.abandon();
      open.delete(request.internal);
    },
  };
}

function failuresIn(response: unknown): string[] {
  if (typeof response !== 'object' || response === null || !('batchItemFailures' in response)) return [];
  return (response as BatchAnswer).batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
}
