import * as v from 'valibot';
import type { AdvertEvent } from '../shared/contract/events.ts';
import { detailTypes } from '../shared/contract/names.ts';
import type { Arrival } from './arrivals.ts';
import type { BatchAnswer } from './failures.ts';
import {
  beginInvocation,
  type HandlerOptions,
  handlerExpectations,
  type Invocation,
  type LambdaContext,
} from './invocation.ts';
import { checkOptions, hasFunctions, optionalNumberFrom } from './options.ts';
import type { BridgeEvent } from './parse.ts';
import type { Comparison } from './position.ts';
import { type Tracing, withSpan } from './tracing.ts';

/** What a function of `on` is told beside the event: an authorization event has no history, and is always `apply`. */
export type Delivery<E extends BridgeEvent = BridgeEvent> = Arrival<E> & Comparison;

/** For each detail type that you want, the function that applies an event. */
export type EventFunctions = {
  readonly [E in BridgeEvent as E['detail-type']]?: (event: E, delivery: Delivery<E>) => unknown;
};

export interface EventHandlerOptions extends HandlerOptions {
  /** An event without a function here counts as applied; `onSkipped` is told `no-handler`. */
  readonly on: EventFunctions;
  /** How many adverts are handled at the same time; the events of one come one after the other. Default 10. */
  readonly maxConcurrentAdverts?: number;
  /** Calls each function within a consumer span of OpenTelemetry, which links to the bridge's message. Default: no spans. */
  readonly tracing?: Tracing;
}

const known: readonly string[] = Object.values(detailTypes);
const expectations = {
  ...handlerExpectations,
  on: v.custom(
    (value) => {
      const entries = Object.entries(value ?? {});
      const isRight = entries.every(
        ([type, apply]) => known.includes(type) && (apply === undefined || typeof apply === 'function'),
      );
      return isRight && entries.some(([, apply]) => apply);
    },
    `expected functions for ${known.join(', ')}`,
  ),
  maxConcurrentAdverts: optionalNumberFrom(1),
  tracing: v.optional(
    v.custom(
      (value) => hasFunctions((value as Tracing | null)?.api?.trace, 'getTracer'),
      'expected { api } with what `@opentelemetry/api` exports',
    ),
  ),
};

/**
 * A handler for a Lambda function behind SQS, or behind a rule: parses, leaves out what is stale or a duplicate, calls
 * your function for each event, and remembers what it has applied.
 *
 *     export const handler = advertEventHandler({ positions, on: { AdvertStatusChanged: async (event) => … } })
 *
 * When a function throws, that event and later ones of the same advert come again; other adverts go on. For SQS, set
 * `ReportBatchItemFailures` on the event source mapping.
 *
 * @throws {TypeError} when it is made with wrong options
 */
export function advertEventHandler(
  options: EventHandlerOptions,
): (event: unknown, context?: LambdaContext) => Promise<BatchAnswer> {
  checkOptions('advertEventHandler', options, expectations);
  const { maxConcurrentAdverts = 10 } = options;
  return async (input, context) => {
    const invocation = await beginInvocation(input, options, context);
    const { adverts, authorizations, count, failures } = invocation;
    const groups: readonly (() => Promise<void>)[] = [
      ...adverts.map((arrivals) => () => applyAdvert(invocation, arrivals, options)),
      ...authorizations.map((arrival) => async () => {
        try {
          await apply(invocation, { ...arrival, outcome: 'apply', missing: 0 }, options);
        } catch (error) {
          await failures.add('handler', error, [arrival]);
        }
      }),
    ];
    const waiting = groups.values();
    const worker = async () => {
      for (const next of waiting) await next();
    };
    await Promise.all(Array.from({ length: maxConcurrentAdverts }, worker));
    return failures.answer(count);
  };
}

async function applyAdvert(
  invocation: Invocation,
  arrivals: readonly Arrival<AdvertEvent>[],
  options: EventHandlerOptions,
): Promise<void> {
  const claimed = await invocation.claim(arrivals);
  if (!claimed) return;
  let count = 0;
  try {
    for (const delivery of claimed.toApply) {
      await apply(invocation, delivery, options);
      count += 1;
    }
  } catch (error) {
    await invocation.failures.add('handler', error, claimed.toApply.slice(count));
  }
  await claimed.settle(count);
}

async function apply(
  invocation: Invocation,
  delivery: Delivery,
  { on, tracing }: EventHandlerOptions,
): Promise<void> {
  const { event } = delivery;
  // The detail type that picks the function is the one that gives the event its type.
  const call = on[event['detail-type']] as ((event: BridgeEvent, delivery: Delivery) => unknown) | undefined;
  if (call) await withSpan(tracing, event, async () => call(event, delivery));
  else await invocation.skip(event, 'no-handler');
}
