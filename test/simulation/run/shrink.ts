/** Simplifies a failing run: leaves out incidents without which it still fails. */

import type { Incident } from '../model/run-log.ts';
import { type Run, type SimulateOptions, simulate } from './simulate.ts';

/** Maximum number of runs, most of which take about ten milliseconds, and of time: runs that measure delays are long. */
const maxRuns = 600;
const maxMs = 30_000;

/** @returns the smallest run found that violates the same invariant, with its trace */
export async function shrink(failing: Run, options: SimulateOptions): Promise<Run> {
  const invariant = failing.violations[0]?.invariant;
  const without = new Set(options.without);
  const endsMs = performance.now() + maxMs;
  let runs = 0;

  // Keeps drains and workers: without them, their absence would be the reason of a delay.
  const mayBeLeftOut = ({ key }: Incident) =>
    invariant !== 'nobody-delays-another' || !/^(drain|worker)-[\d.]+$/.test(key);

  const failsAlike = (run: Run) => run.violations.some((violation) => violation.invariant === invariant);

  async function tryWithout(keys: readonly string[]): Promise<Run | undefined> {
    runs += 1;
    const run = await simulate(failing.seed, { ...options, without: new Set([...without, ...keys]) });
    return failsAlike(run) ? run : undefined;
  }

  const isPatient = () => runs < maxRuns && performance.now() < endsMs;
  let smallest = failing;
  for (let size = Math.ceil(smallest.incidents.length / 2); size >= 1 && isPatient(); ) {
    let isSmaller = false;
    for (let from = 0; from < smallest.incidents.length && isPatient(); ) {
      const keys = smallest.incidents
        .slice(from, from + size)
        .filter(mayBeLeftOut)
        .map(({ key }) => key);
      const run = keys.length === 0 ? undefined : await tryWithout(keys);
      if (!run) {
        from += size;
        continue;
      }
      for (const key of keys) without.add(key);
      smallest = run;
      isSmaller = true;
    }
    if (size > 1) size = Math.floor(size / 2);
    else if (!isSmaller) break;
  }
  return simulate(failing.seed, { ...options, without, isTraced: true });
}
