import { runUntilIdle } from '../runs/bridge-run.ts';
import type { Service } from '../runs/processes.ts';

/** The measurement of one run of the bridge at one size. */
export interface Sample {
  readonly size: number;
  /** Measured between the first and the last event, so that it excludes start-up. */
  readonly usPerChange: number;
  readonly cpuUsPerChange: number;
  readonly requestsPerChange: number;
  readonly peakMb: number;
  /** Time of the last tenth of the events divided by that of the second tenth; the first tenth is warm-up. */
  readonly lastOfSecondTenth: number;
}

const concurrency = 50;

/**
 * Runs the bridge of `dir` until it is idle.
 *
 * @param changes at least ten
 * @throws when the number of events differs from `changes`
 */
export async function sampleOf(
  service: Service,
  dir: string,
  { size, changes }: { readonly size: number; readonly changes: number },
): Promise<Sample> {
  // Times of the first event and of each tenth.
  const moments: number[] = [];
  let came = 0;
  const tenth = Math.floor(changes / 10);
  const onLine = () => {
    came += 1;
    if (came === 1 || came % tenth === 0) moments.push(performance.now());
  };
  const run = await runUntilIdle(service, dir, { concurrency, onLine });
  if (came !== changes) throw new Error(`${came} events of ${changes} changes`);
  const between = (from: number, to: number) => (moments[to] ?? Number.NaN) - (moments[from] ?? Number.NaN);
  return {
    size,
    usPerChange: (between(0, 10) * 1_000) / changes,
    cpuUsPerChange: (run.cpuSeconds * 1e6) / changes,
    requestsPerChange: run.requests / changes,
    peakMb: run.peakMb,
    lastOfSecondTenth: between(9, 10) / between(1, 2),
  };
}
