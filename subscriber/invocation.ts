import * as v from 'valibot';
import type { AdvertEvent } from '../shared/contract/events.ts';
import { type Arrival, type Arrivals, arrivalsIn, type Refusal } from './arrivals.ts';
import { AdvertBusyError, claimAdvert, type HeldAdvert, isToApply } from './claims.ts';
import { callSafely, type Failure, Failures } from './failures.ts';
import { hasFunctions, optionalFunction, optionalNumberFrom } from './options.ts';
import type { BridgeEvent } from './parse.ts';
import type { Comparison } from './position.ts';
import type { Positions } from './position-store.ts';

/**
 * Why an event was skipped: `duplicate` and `stale` as in `Outcome`; `busy`: another worker has claimed the
 * advert, and the message is delivered again; `no-handler`: there is no function for its detail type.
 */
export type SkipReason = 'duplicate' | 'stale' | 'busy' | 'no-handler';

export interface HandlerOptions {
  /** The store of each advert's last applied position. */
  readonly positions: Positions;
  /**
   * Called for a record that is not an event: it should send the record to your dead-letter queue, with the reason.
   * `sendToDeadLetters` creates such a function. Without `onRefused`, the record counts as failed: SQS delivers it
   * until `maxReceiveCount` is reached, and then moves it without a reason.
   */
  readonly onRefused?: (refusal: Refusal) => Promise<unknown>;
  /** Called for each failure. Default: prints one line to `console.error`, with the message ID and what to do. */
  readonly onError?: (failure: Failure) => unknown;
  /** Called for each event that is skipped, for your log. */
  readonly onSkipped?: (event: BridgeEvent, reason: SkipReason) => unknown;
  /**
   * How long to wait for an advert that another worker has claimed, in ms. After that, its messages go back to the
   * queue, where they stay hidden for the visibility timeout. Default 2000.
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

/** The part of Lambda's context that is used here. */
export interface LambdaContext {
  getRemainingTimeInMillis?(): number;
}

/** Lambda freezes or kills a process that has run out of time within this margin. It also covers clock differences. */
const marginMs = 5_000;

/** One invocation of the Lambda function: its input, claims and failures. */
export interface Invocation extends Arrivals {
  readonly failures: Failures;
  /** Reports a skipped event. */
  skip(event: BridgeEvent, reason: SkipReason): Promise<void>;
  /**
   * Claims an advert, and skips stale events and duplicates.
   *
   * @returns `undefined` if there is nothing to apply or the claim failed
   */
  claim(arrivals: readonly Arrival<AdvertEvent>[]): Promise<ClaimedAdvert | undefined>;
}

export interface ClaimedAdvert {
  /** In order of position. */
  readonly toApply: readonly (Arrival<AdvertEvent> & Comparison)[];
  /** Records that the first `count` events of `toApply` were applied, and ends the claim. */
  settle(count: number): Promise<void>;
}

/** Parses the input, and passes records that are not events to `onRefused`. */
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
      // Events whose position could not be stored are delivered again, like events that were not applied. A remaining
      // claim expires by itself.
      await failures.add('positions', error, last ? toApply.slice(0, count) : toApply);
    }
  }

  for (const refusal of arrivals.refusals) await refuse(refusal);
  return { ...arrivals, failures, skip, claim };
}

/** Tries again at growing intervals while another worker has claimed the advert: it usually needs only a moment. */
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
