import type * as v from 'valibot';
import { flawsOf } from '../../../shared/contract/checks.ts';

/** What each place should be, by its path. A place can be wrong in several ways at once: the first says enough. */
export function faultsByPlace(issues: readonly v.BaseIssue<unknown>[] = []): Map<string, string> {
  const faults = new Map<string, string>();
  for (const { path, expected } of issues.flatMap((issue) => flawsOf([issue]))) {
    if (!faults.has(path)) faults.set(path, expected);
  }
  return faults;
}
