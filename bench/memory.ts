import { runBridge } from './bridge-run.ts';
import { startService } from './processes.ts';
import type { Bench, BenchOptions, Report } from './report.ts';

const sizes = [1_000, 10_000, 100_000];
const concurrency = 50;

/** Memory may grow with the work in hand, never with the work there is. */
export const memory: Bench = {
  does: 'peak memory from 1,000 changes to 100,000, with no delay',
  run,
};

async function run({ rounds, isShort, progress }: BenchOptions): Promise<Report> {
  const measured = isShort ? sizes.slice(0, 2) : sizes;
  const peaks = measured.map((): number[] => []);
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, changes] of measured.entries()) {
      const { peakMb, seconds } = await peakOf(changes);
      progress(
        `round ${round} of ${rounds}: ${changes} changes: ${peakMb.toFixed(0)} MB, ${seconds.toFixed(1)} s`,
      );
      peaks[index]?.push(peakMb);
    }
  }
  const largest = peaks.at(-1) ?? [];
  const before = peaks.at(-2) ?? [];
  return {
    figures: [
      {
        what: `peak at ${measured.at(-1)} changes`,
        rounds: largest,
        unit: 'MB',
        digits: 0,
        target: { most: 200 },
      },
      {
        // A process of 1,000 changes ends before the collector has seen the young heap at its full size.
        what: `growth from ${measured.at(-2)} to ${measured.at(-1)} changes`,
        rounds: largest.map((peak, round) => peak / (before[round] ?? Number.NaN)),
        unit: 'times',
        ...(isShort ? {} : { target: { most: 1.25 } }),
      },
    ],
  };
}

async function peakOf(changes: number) {
  const service = await startService({});
  try {
    const since = new Date(Date.now() - 60_000).toISOString();
    for (let made = 0; made < changes; made += 10_000) {
      await service.control('/adverts', { count: Math.min(10_000, changes - made), status: 'active' });
    }
    const run = await runBridge(service, { concurrency, since });
    if (run.events !== changes) throw new Error(`${run.events} events of ${changes}`);
    return run;
  } finally {
    await service.stop();
  }
}
