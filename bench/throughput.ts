import { runBridge } from './bridge-run.ts';
import type { Figure } from './main.ts';
import { measure, median, startService } from './processes.ts';

const changes = 10_000;
const latencyMs = 20;
const concurrency = 50;
const rounds = 3;

/** 10,000 changes at 20 ms an answer, concurrency 50: the bridge's speed as a share of the bare program's. */
export async function throughput(): Promise<Figure[]> {
  const ratios: number[] = [];
  const cpu: number[] = [];
  let peakMb = 0;
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
      peakMb = Math.max(peakMb, bridge.peakMb);
      process.stderr.write(
        `  round ${round}: bare ${bare.seconds.toFixed(2)} s (${bare.cpuSeconds.toFixed(2)} s CPU, ${bare.peakMb.toFixed(0)} MB), ` +
          `bridge ${bridge.seconds.toFixed(2)} s (${bridge.cpuSeconds.toFixed(2)} s CPU, ${bridge.peakMb.toFixed(0)} MB)\n`,
      );
    } finally {
      await service.stop();
    }
  }
  const ratio = median(ratios);
  const range = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
  return [
    {
      what: `${changes} changes at ${latencyMs} ms, concurrency ${concurrency}, share of the bare program's speed`,
      value: `${ratio.toFixed(2)} (${range}); CPU ${median(cpu).toFixed(2)} of its`,
      target: '≥ 0.70',
      met: ratio >= 0.7,
    },
    { what: 'peak memory', value: `${peakMb.toFixed(0)} MB`, target: '< 200 MB', met: peakMb < 200 },
  ];
}
