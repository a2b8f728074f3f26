import { runBridge } from './bridge-run.ts';
import { measure, startService } from './processes.ts';
import type { Bench, BenchOptions, Report } from './report.ts';

const latencyMs = 20;
const concurrency = 50;

/** The bridge's speed as a share of a bare program's that makes the same requests. */
export const throughput: Bench = {
  does: '10,000 changes at 20 ms an answer, beside a bare program with the same requests',
  run,
};

async function run({ rounds, isShort, progress }: BenchOptions): Promise<Report> {
  const changes = isShort ? 2_000 : 10_000;
  const ratios: number[] = [];
  const cpu: number[] = [];
  const peaks: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const service = await startService(latencyMs);
    try {
      const since = new Date(Date.now() - 60_000).toISOString();
      await service.control('/adverts', { count: changes, status: 'active' });
      const bare = await measure('bench/bare.ts', [service.url, String(concurrency), since]);
      const bridge = await runBridge(service, { concurrency, since });
      if (Number(bare.stdout) !== changes || bridge.events !== changes) {
        throw new Error(
          `bare fetched ${bare.stdout.trim()}, the bridge published ${bridge.events} of ${changes}`,
        );
      }
      ratios.push(bare.seconds / bridge.seconds);
      cpu.push(bridge.cpuSeconds / bare.cpuSeconds);
      peaks.push(bridge.peakMb);
      progress(
        `round ${round} of ${rounds}: bare ${bare.seconds.toFixed(2)} s (${bare.cpuSeconds.toFixed(2)} s CPU, ${bare.peakMb.toFixed(0)} MB), ` +
          `bridge ${bridge.seconds.toFixed(2)} s (${bridge.cpuSeconds.toFixed(2)} s CPU, ${bridge.peakMb.toFixed(0)} MB)`,
      );
    } finally {
      await service.stop();
    }
  }
  const title = `${changes} changes at ${latencyMs} ms, concurrency ${concurrency}`;
  return {
    figures: [
      { what: `${title}: speed, of the bare program's`, rounds: ratios, unit: '', target: { least: 0.7 } },
      { what: `${title}: CPU, of the bare program's`, rounds: cpu, unit: 'times' },
      { what: 'peak memory', rounds: peaks, unit: 'MB', digits: 0, target: { most: 200 } },
    ],
  };
}
