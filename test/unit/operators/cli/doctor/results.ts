import { expect } from 'vitest';
import type { Result } from '../../../../../operators/operations/doctor/check.ts';
import type { Ended } from '../run-cli.ts';

type CheckResult = Result & { readonly name: string };

export const resultsIn = ({ stdout }: Ended): CheckResult[] => JSON.parse(stdout).checks;

/** All faults and warnings, as `name result`. */
export const badIn = (checks: readonly CheckResult[]): string[] =>
  checks.flatMap(({ name, result }) =>
    result === 'ok' || result === 'skipped' ? [] : [`${name} ${result}`],
  );

/** By the check and its result: what is planted, how, and what mends it. */
type Planted<Plant> = Readonly<Record<string, readonly (readonly [string, Plant, RegExp | string])[]>>;

export const rowsOf = <Plant>(planted: Planted<Plant>) =>
  Object.entries(planted).flatMap(([found, plants]) => plants.map((row) => [found, ...row] as const));

interface Expected {
  /** The check and its result, such as `queues warning`. */
  readonly found: string;
  /** The command or setting that mends it. */
  readonly mend: RegExp | string;
}

/** Asserts that only this check has found something, and that the exit code matches. */
export function expectFound(ended: Ended, { found, mend }: Expected): void {
  const checks = resultsIn(ended);

  expect(badIn(checks)).toEqual([found]);
  expect(checks.flatMap((check) => check.mend ?? []).join()).toMatch(mend);
  expect(ended.exitCode).toBe(found.endsWith(' fault') ? 1 : 3);
}
