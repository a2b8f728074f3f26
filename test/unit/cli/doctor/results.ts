import { expect } from 'vitest';
import type { CheckResult } from '../../../../operations/doctor/check.ts';
import type { Ended } from '../run-cli.ts';

export const resultsIn = ({ stdout }: Ended): CheckResult[] => JSON.parse(stdout).checks;

/** All faults and warnings, as `name result`. */
export const badIn = (checks: readonly CheckResult[]): string[] =>
  checks.flatMap(({ name, result }) =>
    result === 'ok' || result === 'skipped' ? [] : [`${name} ${result}`],
  );

export interface Expected {
  readonly check: string;
  readonly result: 'warning' | 'fault';
  readonly says: RegExp | string;
  /** The command or setting that mends it. */
  readonly mend: RegExp | string;
}

/** Asserts that only this check has found something, and that the exit code matches. */
export function expectFound(ended: Ended, { check, result, says, mend }: Expected): void {
  const checks = resultsIn(ended);

  const others = checks.filter((each) => each.name !== check && each.mend !== null);
  expect(others).toEqual([]);
  expect(badIn(checks)).toEqual([`${check} ${result}`]);
  const found = checks.find(({ name }) => name === check);
  expect(found?.says).toMatch(says);
  expect(found?.mend).toMatch(mend);
  expect(ended.exitCode).toBe(result === 'fault' ? 1 : 3);
}
