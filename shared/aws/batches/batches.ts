/** What AWS takes in batches, and answers for entry by entry. */
import { backoffMs } from '../../domain/backoff.ts';
import { type Clock, systemClock } from '../../domain/clock.ts';

export interface Edges {
  readonly clock?: Clock;
  readonly random?: () => number;
}

export interface RetryOptions extends Edges {
  readonly maxAttempts: number;
  readonly baseMs: number;
  readonly capMs: number;
}

/** The list in batches of at most `size`. */
export const batchesOf = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );

/**
 * Calls with a batch, then with what the answer left undone (throttling, mostly), with exponential backoff in between.
 *
 * @param call @returns what is to be tried again
 * @returns what was left after the last attempt
 */
export async function retryRest<T>(
  batch: readonly T[],
  call: (rest: readonly T[]) => Promise<readonly T[]>,
  { clock = systemClock, random = Math.random, maxAttempts, baseMs, capMs }: RetryOptions,
): Promise<readonly T[]> {
  for (let [rest, attempt] = [batch, 1]; ; attempt += 1) {
    rest = await call(rest);
    if (rest.length === 0 || attempt >= maxAttempts) return rest;
    await clock.sleep(backoffMs(attempt, { baseMs, capMs, random }));
  }
}
