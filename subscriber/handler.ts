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

/**
 * Second argument of the functions in `on`. An authorization event has no history, so its outcome is always `apply`.
 */
export type Delivery<E extends BridgeEvent = BridgeEvent> = Arrival<E> & Comparison;

/** The function that applies an event, for each detail type that you want. */
export type EventFunctions = {
  readonly [E in BridgeEvent as E['detail-type']]?: (event: E, delivery: Delivery<E>) => unknown;
};

export interface EventHandlerOptions extends HandlerOptions {
  /** An event without a function here counts as applied, and is reported to `onSkipped` as `no-handler`. */
  readonly on: EventFunctions;
  /**
   * How many adverts are handled at the same time. Events of the same advert are handled one after the other. Default
   * 10.
   */
  readonly maxConcurrentAdverts?: number;
  /**
   * Calls each function within an OpenTelemetry consumer span that links to the bridge's message. Default: no spans.
   */
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
 * A handler for a Lambda function that is called by SQS or directly by a rule. It parses the input, skips stale events
 * and duplicates, calls your function for each other event, and stores the position of the last applied event.
 *
 *     export const handler = advertEventHandler({ positions, on: { AdvertStatusChanged: async (event) => … } })
 *
 * If a function throws, its event and later events of the same advert are delivered again; other adverts are not
 * affected. For SQS, set `ReportBatchItemFailures` on the event source mapping.
 *
 * @throws {TypeError} for wrong options, when the handler is created
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
  // The detail type selects the function and also determines the event's type.
  const call = on[event['detail-type']] as ((event: BridgeEvent, delivery: Delivery) => unknown) | undefined;
  if (call) await withSpan(tracing, event, async () => call(event, delivery));
  else await invocation.skip(event, 'no-handler');
}
