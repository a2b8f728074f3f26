import { randomBytes } from 'node:crypto';

/** A number in [0, 1). */
export type Random = () => number;

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Unpredictable numbers, for a sandbox without a seed. */
export const systemRandom: Random = () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48;

/** The same numbers for the same seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A token, code or key of letters and digits. @param length default 40 */
export function randomToken(random: Random, length = 40): string {
  let token = '';
  for (let index = 0; index < length; index += 1) token += alphabet[Math.floor(random() * alphabet.length)];
  return token;
}

/** A random element of `values`. @throws {RangeError} when it is empty */
export function pick<T>(random: Random, values: readonly T[]): T {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new RangeError('nothing to pick from');
  return value;
}
