import * as v from 'valibot';
import { didYouMean, flawsOf } from '../shared/contract/checks.ts';

export const hasFunctions = (value: unknown, ...names: readonly string[]): boolean =>
  names.every((name) => typeof (value as Record<string, unknown> | null | undefined)?.[name] === 'function');

export const text = (what: string) => v.pipe(v.string(`expected ${what}`), v.nonEmpty(`expected ${what}`));

export const optionalFunction = v.optional(v.function('expected a function'));

export function optionalNumberFrom(least: number) {
  const expected = `expected a whole number from ${least}`;
  return v.optional(v.pipe(v.number(expected), v.safeInteger(expected), v.minValue(least, expected)));
}

/**
 * Checks options when a handler is created, so that a deployment with a missing environment variable fails at once.
 *
 * @throws {TypeError} with all faults
 */
export function checkOptions(name: string, options: unknown, expected: v.ObjectEntries): void {
  const given = (options ?? {}) as Readonly<Record<string, unknown>>;
  const known = Object.keys(expected);
  const unknown = Object.keys(given).filter((key) => !known.includes(key));
  const schema = v.object({
    ...expected,
    ...Object.fromEntries(
      unknown.map((key) => [key, v.never(`expected no such option${didYouMean(key, known)}`)]),
    ),
  });
  // A missing option is reported like a wrong one, with the expected value.
  const complete = { ...Object.fromEntries(known.map((key) => [key, undefined])), ...given };
  const { issues = [] } = v.safeParse(schema, complete);
  const faults = flawsOf(issues).map((flaw) => `${flaw.path}: ${flaw.expected}`);
  if (faults.length > 0) throw new TypeError(`${name} was given wrong options.\n  ${faults.join('\n  ')}`);
}

/** Like {@link checkOptions}, for options of which only the names are checked. */
export const checkNames = (name: string, options: object, known: readonly string[]): void =>
  checkOptions(name, options, Object.fromEntries(known.map((key) => [key, v.any()])));
