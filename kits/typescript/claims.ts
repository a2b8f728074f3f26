import { randomUUID } from 'node:crypto';
import type { AdvertEvent } from '../../shared/contract/events.ts';
import { AdvertBusyError, ClaimLostError } from './errors.ts';
import { checkOptions, optionalFunction, optionalNumberFrom } from './options.ts';
import { advertKeyOf, type Comparison, compareToApplied, positionOf } from './position.ts';
import { ownWrite, type Positions, positionsExpected } from './position-store.ts';

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
  return await applyClaimed(event, options, apply);
}

/** {@link applyIfNewer} with options that were checked. */
export async function applyClaimed<E extends AdvertEvent>(
  event: E,
  { positions, leaseMs = defaultLeaseMs, now = Date.now }: ClaimOptions,
  apply: (event: E, comparison: Comparison) => unknown,
): Promise<Comparison> {
  const store = positions === 'own-write' ? ownWrite : positions;
  const key = advertKeyOf(event);
  const position = positionOf(event);
  const owner = randomUUID();
  const claimedAt = now();
  const answer = await store.claim(key, { position, owner, until: claimedAt + leaseMs }, claimedAt);
  if (answer.kind === 'busy') throw new AdvertBusyError(key, answer.until);
  const comparison = compareToApplied(answer.applied, position);
  if (answer.kind === 'superseded') return comparison;
  try {
    await apply(event, comparison);
  } catch (error) {
    // The error of `apply` is the one to throw. A claim that could not be released expires by itself.
    await store.release(key, owner).catch(() => {});
    throw error;
  }
  if (!(await store.confirm(key, owner, position))) throw new ClaimLostError(key);
  return comparison;
}
