export type Random = () => number;

const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'];

/** A token, code or key: 40 letters and digits. */
export function randomToken(random: Random): string {
  return Array.from({ length: 40 }, () => pick(random, alphabet)).join('');
}

/** A random element of `values`. @throws {RangeError} when it is empty */
export function pick<T>(random: Random, values: readonly T[]): T {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new RangeError('nothing to pick from');
  return value;
}
