import { randomUUID } from 'node:crypto';
import type { AdvertEvent } from '../shared/contract/events.ts';
import {
  advertKeyOf,
  type Comparison,
  comparePositions,
  compareToApplied,
  type Position,
  positionOf,
} from './position.ts';
import { type Positions, storeOf } from './position-store.ts';

/** Another worker is applying events of this advert, or died while it did. Leave the message in the queue: it comes again. */
export class AdvertBusyError extends Error {
  override readonly name = 'AdvertBusyError';
  readonly code = 'advert-busy';
  readonly retryable = true;

  constructor(key: string, until: number) {
    super(
      `another worker is applying events of advert ${key}, until ${new Date(until).toISOString()} at the latest`,
    );
  }
}

/** The claim ran out before the work was done, and another worker took over: make `leaseMs` longer than the work. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
  readonly code = 'claim-lost';
  readonly retryable = true;

  constructor(key: string) {
    super(`the claim on advert ${key} ran out before its events were applied`);
  }
}

export interface ClaimOptions {
  readonly positions: Positions;
  /**
   * How long a claim keeps other workers off, in ms; default 15 minutes, as long as a Lambda function can run. Make it longer
   * than applying can take: a worker that goes on after its claim has run out may overwrite what another applied.
   */
  readonly leaseMs?: number | undefined;
  /** ms since 1970; default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The longest Lambda invocation, after which its process runs no more. */
const defaultLeaseMs = 15 * 60_000;

/** One advert, held for some of its events. */
export interface HeldAdvert<A> {
  /** One for each event given, in order of position. */
  readonly compared: readonly (A & Comparison)[];
  /** They have been applied as far as this event; other workers may go on. @throws {ClaimLostError} */
  confirm(lastApplied: AdvertEvent): Promise<void>;
  /** Nothing has been applied. */
  release(): Promise<void>;
}

/** @throws {AdvertBusyError} another worker has the advert */
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
  const claim = { position: positionOf(newest.event), owner, until: claimedAt + leaseMs };
  const answer = await store.claim(key, claim, claimedAt);
  if (answer.kind === 'busy') throw new AdvertBusyError(key, answer.until);
  return {
    compared: compareAll(sorted, answer.applied),
    async confirm(lastApplied) {
      if (!(await store.confirm(key, owner, positionOf(lastApplied)))) throw new ClaimLostError(key);
    },
    async release() {
      if (answer.kind === 'granted') await store.release(key, owner);
    },
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
 * Applies one event unless it is stale or a duplicate, for code outside Lambda: claims the advert, calls `apply`, and
 * remembers the position. After a crash in between, the event is applied again when its message comes back: `apply` runs at
 * least once, and never for an event older than one that is remembered.
 *
 * @returns what became of it; `apply` was called for the outcomes `apply` and `gap` alone
 * @throws {AdvertBusyError} another worker has the advert: leave the message in the queue
 * @throws {ClaimLostError} the claim ran out meanwhile: leave the message in the queue
 * @throws what `apply` throws; the claim has been released then
 */
export async function applyIfNewer<E extends AdvertEvent>(
  event: E,
  options: ClaimOptions,
  apply: (event: E, comparison: Comparison) => unknown,
): Promise<Comparison> {
  const held = await claimAdvert([{ event }], options);
  const { outcome, missing } = held.compared[0] as Comparison;
  if (isToApply({ outcome, missing })) {
    try {
      await apply(event, { outcome, missing });
    } catch (error) {
      // The error of `apply` is the one to tell; a claim that could not be released runs out by itself.
      await held.release().catch(() => {});
      throw error;
    }
    await held.confirm(event);
  }
  return { outcome, missing };
}
