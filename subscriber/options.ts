/**
 * What an object must have, by its places: the functions named, a text that is not empty, or whatever a function of the
 * value says is wrong with it.
 */
type Expectation = (value: unknown) => string | undefined;

export const functions =
  (names: readonly string[], what: string): Expectation =>
  (value) => {
    const object = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
    return names.every((name) => typeof object[name] === 'function') ? undefined : `expected ${what}`;
  };

export const text =
  (what: string): Expectation =>
  (value) =>
    typeof value === 'string' && value !== '' ? undefined : `expected ${what}`;

export const optionalFunction: Expectation = (value) =>
  value === undefined || typeof value === 'function' ? undefined : 'expected a function';

export const optionalNumberFrom =
  (least: number): Expectation =>
  (value) =>
    value === undefined || (Number.isSafeInteger(value) && Number(value) >= least)
      ? undefined
      : `expected a whole number from ${least}`;

/**
 * Checks options when they are given, so that a deploy with a missing environment variable fails at once.
 *
 * @throws {TypeError} naming every fault
 */
export function checkOptions(
  name: string,
  options: unknown,
  expectations: Readonly<Record<string, Expectation>>,
): void {
  const given = (typeof options === 'object' && options !== null ? options : {}) as Record<string, unknown>;
  const unknown = Object.keys(given).filter((key) => !Object.hasOwn(expectations, key));
  const faults = [
    ...Object.entries(expectations).flatMap(([key, expect]) => {
      const fault = expect(given[key]);
      return fault ? [`${key}: ${fault}`] : [];
    }),
    ...unknown.map((key) => `${key}: expected no such option`),
  ];
  if (faults.length > 0) throw new TypeError(`${name} was given wrong options.\n  ${faults.join('\n  ')}`);
}
