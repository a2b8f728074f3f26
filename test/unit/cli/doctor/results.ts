import { expect } from 'vitest';
import type { CheckResult } from '../../../../operations/doctor.ts';
import type { Ended } from '../run-cli.ts';

export const resultsIn = ({ stdout }: Ended): CheckResult[] => JSON.parse(stdout).checks;

/** What is neither fine nor skipped: `name result`. */
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

/** That this check has found it, and no other check anything; with the exit code that goes with it. */
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
