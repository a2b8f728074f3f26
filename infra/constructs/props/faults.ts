import type * as v from 'valibot';
import { flawsOf } from '../../../shared/contract/checks.ts';

/** The expected value of each wrong place, by its path. If a place has several faults, only the first is reported. */
export function faultsByPlace(issues: readonly v.BaseIssue<unknown>[] = []): Map<string, string> {
  const faults = new Map<string, string>();
  for (const { path, expected } of issues.flatMap((issue) => flawsOf([issue]))) {
    if (!faults.has(path)) faults.set(path, expected);
  }
  return faults;
}

/** One line for each fault: `<place>: <expected value>`. */
export const faultLines = (faults: ReadonlyMap<string, string>): string[] =>
  [...faults].map(([place, expected]) => `${place}: ${expected}`);
