import type * as v from 'valibot';
import { flawsOf } from '../../../shared/contract/checks.ts';

/** Thrown for wrong settings or properties. The message has a line for each fault. */
export class FaultsError extends Error {
  /** One entry per fault: `<name>: <expected value>`. */
  readonly faults: readonly string[];

  constructor(heading: string, faults: ReadonlyMap<string, string>) {
    const lines = [...faults].map(([place, expected]) => `${place}: ${expected}`);
    super([heading, ...lines.map((line) => `  ${line}`)].join('\n'));
    this.faults = lines;
  }
}

/** The expected value of each wrong place, by its path. If a place has several faults, only the first is reported. */
export function faultsByPlace(issues: readonly v.BaseIssue<unknown>[] = []): Map<string, string> {
  const faults = new Map<string, string>();
  for (const { path, expected } of issues.flatMap((issue) => flawsOf([issue]))) {
    if (!faults.has(path)) faults.set(path, expected);
  }
  return faults;
}
