import * as v from 'valibot';
import { didYouMean, flawsOf } from '../../shared/contract/checks.ts';

export const hasFunctions = (value: unknown, ...names: readonly string[]): boolean =>
  names.every((name) => typeof (value as Record<string, unknown> | null | undefined)?.[name] === 'function');

/** A client of the AWS SDK, of which one method is used. */
export const client = (method: string, example: string) =>
  v.custom(
    (value) => hasFunctions(value, method),
    `expected a client with ${method}, such as new ${example}()`,
  );

export const requiredText = (what: string) =>
  v.pipe(v.string(`expected ${what}`), v.nonEmpty(`expected ${what}`));

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
  const known = Object.keys(expected);
  // A missing option is reported like a wrong one, with the expected value.
  const given = { ...Object.fromEntries(known.map((key) => [key, undefined])), ...(options ?? {}) };
  const unknown = Object.keys(given).filter((key) => !known.includes(key));
  const { issues = [] } = v.safeParse(v.object(expected), given);
  const faults = [
    ...flawsOf(issues).map((flaw) => `${flaw.path}: ${flaw.expected}`),
    ...unknown.map((key) => `${key}: expected no such option${didYouMean(key, known)}`),
  ];
  if (faults.length > 0) throw new TypeError(`${name} was given wrong options.\n  ${faults.join('\n  ')}`);
}
