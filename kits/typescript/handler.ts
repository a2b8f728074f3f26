import * as v from 'valibot';
import { didYouMean } from '../../shared/contract/checks.ts';
import type { AdvertEvent } from '../../shared/contract/events.ts';
import { detailTypes, stackName } from '../../shared/contract/names.ts';
import { type Arrival, arrivalsIn, concernsAdvert, type Refusal, type Sequence } from './arrivals.ts';
import { applyClaimed } from './claims.ts';
import { AdvertBusyError, ClaimLostError, line } from './errors.ts';
import { type BatchAnswer, callSafely, type Failure, Failures } from './failures.ts';
import { checkOptions, optionalFunction, optionalNumberFrom } from './options.ts';
import type { BridgeEvent } from './parse.ts';
import { advertKeyOf, type Comparison } from './position.ts';
import { type Positions, positionsExpected } from './position-store.ts';

/**
 * Second argument of the functions in `on`. An authorization event has no history, so its outcome is always `apply`.
 */
export type Delivery<E extends BridgeEvent = BridgeEvent> = Arrival<E> & Comparison;

/** The function that applies an event, for each detail type that you want. */
export type EventFunctions = {
  readonly [E in BridgeEvent as E['detail-type']]?: (event: E, delivery: Delivery<E>) => unknown;
};

/**
 * Why an event was skipped: `duplicate` and `stale` as in `Outcome`; `no-handler`: there is no function for its detail
 * type.
 */
export type SkipReason = 'duplicate' | 'stale' | 'no-handler';

export interface EventHandlerOptions {
  /** The store of each advert's last applied position. */
  readonly positions: Positions;
  /** An event without a function here counts as applied. Its detail type is printed once. */
  readonly on: EventFunctions;
  /**
   * Called for a record that is not an event: it should send the record to your dead-letter queue, with the reason.
   * `sendToDeadLetters` creates such a function. Without `onRefused`, the record counts as failed: SQS delivers it
   * until `maxReceiveCount` is reached, and then moves it without a reason.
   */
  readonly onRefused?: (refusal: Refusal) => Promise<unknown>;
  /** Called for each failure. Default: prints one line to the console, with the message ID and what to do. */
  readonly onError?: (failure: Failure) => unknown;
  /** Called for each event that is skipped, for your log. */
  readonly onSkipped?: (event: BridgeEvent, reason: SkipReason) => unknown;
  /**
   * How many adverts are handled at the same time. Events of the same advert, and messages of the same group of a FIFO
   * queue, are handled one after the other. Default 10.
   */
  readonly maxConcurrentAdverts?: number;
  /**
   * How long to wait for an advert that another worker has claimed, in ms. After that, its messages go back to the
   * queue, where they stay hidden for the visibility timeout. Default 2000.
   */
  readonly busyWaitMs?: number;
  /** ms since 1970; default `Date.now`. */
  readonly now?: () => number;
}

/** The part of Lambda's context that is used here. */
export interface LambdaContext {
  getRemainingTimeInMillis?(): number;
}

const known: readonly string[] = Object.values(detailTypes);

function isFunctions(value: unknown): boolean {
  const given = Object.entries(value ?? {}).filter(([, apply]) => apply !== undefined);
  return (
    given.length > 0 && given.every(([type, apply]) => known.includes(type) && typeof apply === 'function')
  );
}

function functionsExpected({ input }: { readonly input: unknown }): string {
  const unknown = Object.keys(input ?? {}).find((type) => !known.includes(type));
  const hint = unknown === undefined ? '' : `, not ${unknown}${didYouMean(unknown, known)}`;
  return `expected functions for ${known.join(', ')}${hint}`;
}

const expectations = {
  positions: positionsExpected,
  onRefused: optionalFunction,
  onError: optionalFunction,
  onSkipped: optionalFunction,
  busyWaitMs: optionalNumberFrom(0),
  now: optionalFunction,
  on: v.custom(isFunctions, functionsExpected),
  maxConcurrentAdverts: optionalNumberFrom(1),
};

/** Lambda freezes or kills a process that has run out of time within this margin. It also covers clock differences. */
const marginMs = 5_000;

/** What the steps of one invocation share. */
interface Invocation extends EventHandlerOptions {
  readonly now: () => number;
  readonly failures: Failures;
  readonly warn: Warnings;
  /** When its claims expire, ms since 1970. */
  readonly until: number | undefined;
}

/**
 * A handler for a Lambda function that is called by SQS or directly by a rule. It parses the input, skips stale events
 * and duplicates, calls your function for each other event, and stores the position of the last applied event.
 *
 *     export const handler = advertEventHandler({ positions, on: { AdvertStatusChanged: async (event) => … } })
 *
 * If a function throws, its event and later events of the same advert are delivered again; other adverts are not
 * affected. On a FIFO queue, so are the later messages of the same group, whose order is kept. If every record failed, the handler throws. For SQS, set `ReportBatchItemFailures` on the event source
 * mapping, which `AdvertSubscription` does: without it, Lambda deletes the events that failed.
 *
 * @throws {TypeError} for wrong options, when the handler is created
 */
export function advertEventHandler(
  options: EventHandlerOptions,
): (event: unknown, context?: LambdaContext) => Promise<BatchAnswer> {
  checkOptions('advertEventHandler', options, expectations);
  const { maxConcurrentAdverts = 10 } = options;
  const warn = createWarnings();
  return async (input, context) => {
    const failures = new Failures(options.onError);
    const remainingMs = context?.getRemainingTimeInMillis?.();
    const { now = Date.now } = options;
    const until = remainingMs === undefined ? undefined : now() + remainingMs + marginMs;
    const invocation: Invocation = { ...options, now, failures, warn, until };
    const { sequences, count } = arrivalsIn(input);
    const waiting = sequences.values();
    const worker = async () => {
      for (const sequence of waiting) await handleInOrder(invocation, sequence);
    };
    await Promise.all(Array.from({ length: maxConcurrentAdverts }, worker));
    return failures.answer(count);
  };
}

type Fault = Pick<Failure, 'stage' | 'error'>;

/** What comes after the first failure is delivered again with it. */
async function handleInOrder(invocation: Invocation, sequence: Sequence): Promise<void> {
  for (const [index, record] of sequence.entries()) {
    const fault = await handleRecord(invocation, record);
    if (fault) return await invocation.failures.add(fault.stage, fault.error, sequence.slice(index));
  }
}

async function handleRecord(invocation: Invocation, record: Arrival | Refusal): Promise<Fault | undefined> {
  const { onRefused } = invocation;
  if ('error' in record)
    return onRefused
      ? await faultOf('dead-letter', () => onRefused(record))
      : { stage: 'refused', error: record.error };
  const { event, messageId } = record;
  if (concernsAdvert(event)) return await applyNext(invocation, { event, messageId });
  return await faultOf('handler', () => apply(invocation, { ...record, outcome: 'apply', missing: 0 }));
}

async function faultOf(stage: Failure['stage'], work: () => unknown): Promise<Fault | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return { stage, error };
  }
}

/** Tries again at growing intervals while another worker has claimed the advert: it usually needs only a moment. */
async function applyNext(invocation: Invocation, arrival: Arrival<AdvertEvent>): Promise<Fault | undefined> {
  const { positions, now, until, busyWaitMs = 2_000 } = invocation;
  const { event } = arrival;
  let stage = 'positions' as Failure['stage'];
  let waited = 0;
  for (let pause = 50; ; pause *= 2) {
    try {
      const leaseMs = until === undefined ? undefined : until - now();
      // A process that was frozen may continue long after its invocation.
      if (leaseMs !== undefined && leaseMs <= 0) throw new ClaimLostError(advertKeyOf(event));
      const { outcome } = await applyClaimed(event, { positions, leaseMs, now }, async (_, comparison) => {
        stage = 'handler';
        await apply(invocation, { ...arrival, ...comparison });
        stage = 'positions';
      });
      if (outcome === 'duplicate' || outcome === 'stale') await skip(invocation, event, outcome);
      return undefined;
    } catch (error) {
      const isBusy = error instanceof AdvertBusyError && stage !== 'handler';
      if (!isBusy) return { stage, error };
      if (waited >= busyWaitMs) return { stage: 'busy', error };
    }
    const pauseMs = Math.min(pause, busyWaitMs - waited);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    waited += pauseMs;
  }
}

async function apply(invocation: Invocation, delivery: Delivery): Promise<void> {
  const { event } = delivery;
  const { on, warn } = invocation;
  warn.ofOrigin(event);
  // The detail type selects the function and also determines the event's type.
  const call = on[event['detail-type']] as ((event: BridgeEvent, delivery: Delivery) => unknown) | undefined;
  if (call) return void (await call(event, delivery));
  warn.ofNoFunction(event);
  await skip(invocation, event, 'no-handler');
}

const skip = ({ onSkipped }: Invocation, event: BridgeEvent, reason: SkipReason): Promise<void> =>
  callSafely('onSkipped', () => onSkipped?.(event, reason));

type Warnings = ReturnType<typeof createWarnings>;

/** Warnings about how a subscription is set up; each is printed once for each handler. */
function createWarnings() {
  const printed = new Set<string>();
  const origins = new Map<string, string>();
  function warnOnce(text: string): void {
    if (!printed.has(text)) console.warn(line(text));
    printed.add(text);
  }
  return {
    ofNoFunction({ 'detail-type': type }: BridgeEvent): void {
      warnOnce(
        `${type} events arrive, and there is no function for them in \`on\`: they count as applied. Add one, or take the detail type out of the rule.`,
      );
    },
    /** Another bridge with the same name shows by AWS account and region, which EventBridge adds to each event. */
    ofOrigin({ account, region, detail: { metadata } }: BridgeEvent): void {
      if (account === undefined) return;
      const { bridge = stackName } = metadata;
      const origin = `${account}/${region}`;
      const first = origins.get(bridge) ?? origin;
      origins.set(bridge, first);
      if (first === origin) return;
      warnOnce(
        `events of two bridges named ${bridge} arrive, from ${first} and ${origin}. The positions of such bridges are not kept apart, so events are skipped that should not be. Give one of them another name (setting stackName), or each a table of positions or a keyPrefix of its own.`,
      );
    },
  };
}
