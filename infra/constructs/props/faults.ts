import * as v from 'valibot';
import { didYouMean, flawsOf } from '../../../shared/contract/checks.ts';

export class FaultsError extends Error {
  /** One entry per fault: `<name>: <expected value>`. */
  readonly faults: readonly string[];

  constructor(heading: string, faults: readonly string[]) {
    super([heading, ...faults.map((fault) => `  ${fault}`)].join('\n'));
    this.faults = faults;
  }
}

export type Fault = readonly [property: string, expected: string];

/** A line for each wrong place. If a place has several faults, only the first is reported. */
export function faultLines(
  issues: readonly v.BaseIssue<unknown>[] = [],
  others: readonly Fault[] = [],
): string[] {
  const ofIssues = issues
    .flatMap((issue) => flawsOf([issue]))
    .map(({ path, expected }): Fault => [path, expected]);
  return [...ofIssues, ...others]
    .filter(([place], index, all) => all.findIndex(([other]) => other === place) === index)
    .map(([place, expected]) => `${place}: ${expected}`);
}

export const unknownIn = (given: object, known: readonly string[]): Fault[] =>
  Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => [name, `there is no such property${didYouMean(name, known)}`]);

/** The name of the value that is the longest as JSON, for a limit on all of them together. */
export const longestOf = (values: Readonly<Record<string, unknown>>): string =>
  Object.keys(values).reduce((longest, name) =>
    JSON.stringify(values[name] ?? '').length > JSON.stringify(values[longest] ?? '').length ? name : longest,
  );

/** A fault for each of these properties that is given. */
export const givenOf = <P extends object>(
  props: P,
  names: readonly (keyof P & string)[],
  expected: string,
): Fault[] => names.filter((name) => props[name] !== undefined).map((name) => [name, expected]);

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
export const has = (value: unknown, property: string): boolean => isObject(value) && property in value;

/** An optional construct, recognised by a property of its interface: an app may load CDK twice. */
export const made = <T>(property: string, expected: string) =>
  v.optional(v.custom<T>((value) => has(value, property), expected));

/** An optional whole number from `least` to 1000. */
export function wholeFrom(least: number) {
  const expected = `expected a whole number from ${least} to 1000`;
  return v.optional(
    v.pipe(v.number(expected), v.integer(expected), v.minValue(least, expected), v.maxValue(1000, expected)),
  );
}
