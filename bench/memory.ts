import { runBridge } from './bridge-run.ts';
import type { Figure } from './main.ts';
import { startService } from './processes.ts';

const sizes = [1_000, 10_000, 100_000];
const concurrency = 50;

/** Memory may grow with the work in hand, never with the work there is: 1,000 changes to 100,000, no delay. */
export async function memory(): Promise<Figure[]> {
  const peaks: number[] = [];
  for (const changes of sizes) {
    const service = await startService(0);
    try {
      const since = new Date(Date.now() - 60_000).toISOString();
      for (let made = 0; made < changes; made += 10_000) {
        await service.control('/adverts', { count: Math.min(10_000, changes - made), status: 'active' });
      }
      const { peakMb, seconds, events } = await runBridge(service, { concurrency, since });
      if (events !== changes) throw new Error(`${events} events of ${changes}`);
      process.stderr.write(`  ${changes} changes: ${peakMb.toFixed(0)} MB, ${seconds.toFixed(1)} s\n`);
      peaks.push(peakMb);
    } finally {
      await service.stop();
    }
  }
  const [, middle = 0] = peaks;
  const largest = peaks.at(-1) ?? 0;
  return [
    {
      what: `peak at ${sizes.at(-1)} changes`,
      value: `${largest.toFixed(0)} MB`,
      target: '< 200 MB',
      met: largest < 200,
    },
    {
      // A process of 1,000 changes ends before the collector has seen the young heap at its full size.
      what: `growth from ${sizes[1]} to ${sizes.at(-1)} changes`,
      value: `${(largest / middle).toFixed(2)} times`,
      target: '≤ 1.25 times',
      met: largest / middle <= 1.25,
    },
  ];
}
