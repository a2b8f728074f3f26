import { randomUUID } from 'node:crypto';
import type { AdvertEvent } from '../shared/contract/events.ts';
import { AdvertBusyError, ClaimLostError } from './errors.ts';
import { checkOptions, optionalFunction, optionalNumberFrom } from './options.ts';
import {
  advertKeyOf,
  type Comparison,
  comparePositions,
  compareToApplied,
  type Position,
  positionOf,
} from './position.ts';
import { type Positions, positionsExpected, storeOf } from './position-store.ts';

export interface ClaimOptions {
  readonly positions: Positions;
  /**
   * How long a claim blocks other workers, in ms. Default 15 minutes, the longest time that a Lambda function can run.
   * It must be longer than applying can take: a worker that continues after its claim has expired may overwrite the
   * changes of another worker.
   */
  readonly leaseMs?: number | undefined;
  /** ms since 1970; default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The longest Lambda invocation; after it, the process no longer runs. */
const defaultLeaseMs = 15 * 60_000;

/** A claimed advert, and the events to apply to it. */
export interface HeldAdvert<A> {
  /** The comparison of each given event, in order of position. */
  readonly compared: readonly (A & Comparison)[];
  /** @throws {ClaimLostError} if the claim has expired; then nothing more may be applied */
  checkLease(): void;
  /**
   * Records that the events up to this one were applied, and ends the claim.
   *
   * @throws {ClaimLostError}
   */
  confirm(lastApplied: AdvertEvent): Promise<void>;
  /** Ends the claim; nothing was applied. */
  release(): Promise<void>;
}

/** @throws {AdvertBusyError} another worker has claimed the advert */
export async function claimAdvert<A extends { readonly event: AdvertEvent }>(
  arrivals: readonly A[],
  { positions, leaseMs = defaultLeaseMs, now = Date.now }: ClaimOptions,
): Promise<HeldAdvert<A>> {
  const store = storeOf(positions);
  const sorted = arrivals.toSorted((a, b) => comparePositions(positionOf(a.event), positionOf(b.event)));
  const newest = sorted.at(-1) as A;
  const key = advertKeyOf(newest.event);
  const owner = randomUUID();
  const claimedAt = now();
  const until = claimedAt + leaseMs;
  const answer = await store.claim(key, { position: positionOf(newest.event), owner, until }, claimedAt);
  if (answer.kind === 'busy') throw new AdvertBusyError(key, answer.until);
  return {
    compared: compareAll(sorted, answer.applied),
    checkLease() {
      if (now() >= until) throw new ClaimLostError(key);
    },
    async confirm(lastApplied) {
      if (!(await store.confirm(key, owner, positionOf(lastApplied)))) throw new ClaimLostError(key);
    },
    release: () => store.release(key, owner),
  };
}

function compareAll<A extends { readonly event: AdvertEvent }>(
  sorted: readonly A[],
  applied: Position | undefined,
): (A & Comparison)[] {
  let last = applied;
  return sorted.map((arrival) => {
    const position = positionOf(arrival.event);
    const comparison = compareToApplied(last, position);
    if (isToApply(comparison)) last = position;
    return { ...arrival, ...comparison };
  });
}

export const isToApply = ({ outcome }: Comparison): boolean => outcome === 'apply' || outcome === 'gap';

/**
 * Applies one event unless it is stale or a duplicate; for code outside Lambda. It claims the advert, calls `apply`,
 * and stores the position. After a crash between these steps, the event is applied again when its message is
 * redelivered. So `apply` runs at least once, and never for an event that is older than the stored position.
 *
 * @returns the outcome; `apply` was called only for the outcomes `apply` and `gap`
 * @throws {TypeError} for wrong options
 * @throws {AdvertBusyError} another worker has claimed the advert: leave the message in the queue
 * @throws {ClaimLostError} the claim expired in the meantime: leave the message in the queue
 * @throws the error of `apply`; the claim is released before
 */
export async function applyIfNewer<E extends AdvertEvent>(
  event: E,
  options: ClaimOptions,
  apply: (event: E, comparison: Comparison) => unknown,
): Promise<Comparison> {
  checkOptions('applyIfNewer', options, {
    positions: positionsExpected,
    leaseMs: optionalNumberFrom(1),
    now: optionalFunction,
  });
  const held = await claimAdvert([{ event }], options);
  const { outcome, missing } = held.compared[0] as Comparison;
  if (isToApply({ outcome, missing })) {
    try {
      await apply(event, { outcome, missing });
    } catch (error) {
      // The error of `apply` is the one to throw. A claim that could not be released expires by itself.
      await held.release().catch(() => {});
      throw error;
    }
    await held.confirm(event);
  }
  return { outcome, missing };
}
