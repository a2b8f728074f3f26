import * as v from 'valibot';
import type { AdvertEvent } from '../shared/contract/events.ts';
import { type Arrival, type Arrivals, arrivalsIn, type Refusal } from './arrivals.ts';
import { AdvertBusyError, claimAdvert, type HeldAdvert, isToApply } from './claims.ts';
import { callSafely, type Failure, Failures } from './failures.ts';
import { hasFunctions, optionalFunction, optionalNumberFrom } from './options.ts';
import type { BridgeEvent } from './parse.ts';
import type { Comparison } from './position.ts';
import type { Positions } from './position-store.ts';

/** Why an event was left out: see the outcomes; `busy`: another worker has the advert, and the message comes again. */
export type SkipReason = 'duplicate' | 'stale' | 'busy' | 'no-handler';

export interface HandlerOptions {
  /** Where is remembered how far each advert's history has been applied. */
  readonly positions: Positions;
  /**
   * Sends what is no event to your dead-letter queue, with the reason; `sendToDeadLetters` makes one. Without it such a
   * record is a failed one: SQS delivers it until its `maxReceiveCount` is reached and then moves it, without a reason.
   */
  readonly onRefused?: (refusal: Refusal) => Promise<unknown>;
  /** Told of everything that fails; default: one line on `console.error` with the message ID and what to do. */
  readonly onError?: (failure: Failure) => unknown;
  /** Told of each event that is left out, for your log. */
  readonly onSkipped?: (event: BridgeEvent, reason: SkipReason) => unknown;
  /**
   * How long to wait for an advert that another worker has, in ms, before its messages go back to the queue, where they
   * stay for the visibility timeout; default 2000.
   */
  readonly busyWaitMs?: number;
  /** ms since 1970; default `Date.now`. */
  readonly now?: () => number;
}

export const handlerExpectations = {
  positions: v.custom(
    (value) => value === 'own-write' || hasFunctions(value, 'claim', 'confirm', 'release'),
    "expected 'own-write' or a position store: createDynamoDbPositions makes one",
  ),
  onRefused: optionalFunction,
  onError: optionalFunction,
  onSkipped: optionalFunction,
  busyWaitMs: optionalNumberFrom(0),
  now: optionalFunction,
};

/** As much of Lambda's context as is used. */
export interface LambdaContext {
  getRemainingTimeInMillis?(): number;
}

/** A process that has run out of time is frozen or killed within this; a clock may be off by as much. */
const marginMs = 5_000;

/** One call of the Lambda function: what came, what is claimed, what failed. */
export interface Invocation extends Arrivals {
  readonly failures: Failures;
  /** Tells of an event that is left out. */
  skip(event: BridgeEvent, reason: SkipReason): Promise<void>;
  /**
   * Claims an advert, and leaves out what is stale or a duplicate.
   *
   * @returns `undefined` where there is nothing to apply, or where the claim failed
   */
  claim(arrivals: readonly Arrival<AdvertEvent>[]): Promise<ClaimedAdvert | undefined>;
}

export interface ClaimedAdvert {
  /** In order of position. */
  readonly toApply: readonly (Arrival<AdvertEvent> & Comparison)[];
  /** The first `count` of `toApply` have been applied; the claim ends. */
  settle(count: number): Promise<void>;
}

/** Parses what came, and has refused what is no event. */
export async function beginInvocation(
  input: unknown,
  { positions, onRefused, onError, onSkipped, busyWaitMs = 2_000, now }: HandlerOptions,
  context: LambdaContext | undefined,
): Promise<Invocation> {
  const failures = new Failures(onError);
  const arrivals = arrivalsIn(input);
  const remainingMs = context?.getRemainingTimeInMillis?.();
  const leaseMs = remainingMs === undefined ? undefined : remainingMs + marginMs;

  const skip = (event: BridgeEvent, reason: SkipReason) =>
    callSafely('onSkipped', () => onSkipped?.(event, reason));

  async function refuse(refusal: Refusal): Promise<void> {
    if (!onRefused) return await failures.add('refused', refusal.error, [refusal]);
    try {
      await onRefused(refusal);
    } catch (error) {
      await failures.add('dead-letter', error, [refusal]);
    }
  }

  async function claim(group: readonly Arrival<AdvertEvent>[]): Promise<ClaimedAdvert | undefined> {
    let held: HeldAdvert<Arrival<AdvertEvent>>;
    try {
      held = await whenFree(() => claimAdvert(group, { positions, leaseMs, now }), busyWaitMs);
    } catch (error) {
      if (!(error instanceof AdvertBusyError)) await failures.add('positions', error, group);
      else {
        failures.giveBack(
          group.map(({ messageId }) => messageId),
          error,
        );
        for (const { event } of group) await skip(event, 'busy');
      }
      return undefined;
    }
    const toApply = held.compared.filter(isToApply);
    for (const { event, outcome } of held.compared) {
      if (outcome === 'duplicate' || outcome === 'stale') await skip(event, outcome);
    }
    if (toApply.length === 0) return undefined;
    return { toApply, settle: (count) => settle(held, toApply, count) };
  }

  async function settle(
    held: HeldAdvert<unknown>,
    toApply: readonly Arrival<AdvertEvent>[],
    count: number,
  ): Promise<void> {
    const last = toApply[count - 1];
    try {
      if (last) await held.confirm(last.event);
      else await held.release();
    } catch (error) {
      // What could not be remembered comes again, as does what was not applied; a claim that stays runs out by itself.
      await failures.add('positions', error, last ? toApply.slice(0, count) : toApply);
    }
  }

  for (const refusal of arrivals.refusals) await refuse(refusal);
  return { ...arrivals, failures, skip, claim };
}

/** Claims again, at growing intervals, while another worker has the advert: it mostly needs only a moment. */
async function whenFree<T>(claim: () => Promise<T>, waitMs: number): Promise<T> {
  let waited = 0;
  for (let pause = 50; ; pause *= 2) {
    try {
      return await claim();
    } catch (error) {
      if (!(error instanceof AdvertBusyError) || waited >= waitMs) throw error;
    }
    const pauseMs = Math.min(pause, waitMs - waited);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    waited += pauseMs;
  }
}
