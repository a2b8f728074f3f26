import * as v from 'valibot';
import { flawsOf } from '../shared/contract/checks.ts';

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
  // A missing option is reported like a wrong one, with the expected value.
  const known = Object.fromEntries(Object.keys(expected).map((key) => [key, given[key]]));
  const schema = v.objectWithRest(expected, v.never('expected no such option'));
  const { issues = [] } = v.safeParse(schema, { ...given, ...known });
  const faults = flawsOf(issues).map((flaw) => `${flaw.path}: ${flaw.expected}`);
  if (faults.length > 0) throw new TypeError(`${name} was given wrong options.\n  ${faults.join('\n  ')}`);
}
