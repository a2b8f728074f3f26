/** Helpers for AWS calls that accept batches and report the result per entry. */
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

/** Splits the list into batches of at most `size`. */
export const batchesOf = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );

/**
 * Calls with a batch, and then repeatedly with its failed entries (mostly throttled ones), with exponential backoff.
 *
 * @param call returns the entries to try again
 * @returns the entries that were left after the last attempt
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
