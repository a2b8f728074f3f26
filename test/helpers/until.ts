import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Looks again and again, until `look` returns something that is not false.
 *
 * @throws {Error} with `what` when it does not in time
 */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  { withinMs = 60_000, everyMs = 200 } = {},
): Promise<NonNullable<T>> {
  for (const end = Date.now() + withinMs; ; await sleep(everyMs)) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not within ${withinMs / 1000} s: ${what}`);
  }
}
