import { runBridge } from './bridge-run.ts';
import { type Finished, measure, startService } from './processes.ts';
import type { Bench, Figure } from './report.ts';

const latencyMs = 20;
const concurrencies = [10, 50, 200];
/** Issue targets hold for the default of a busy bridge; other concurrencies are for comparison. */
const judgedConcurrency = 50;
const minSpeed = 0.95;
const maxMb = 200;

interface Round {
  readonly undici: Finished;
  readonly bridge: Finished & { readonly connections: number };
}

/** Measures the bridge's speed relative to a minimal program that sends the same requests. */
export const throughput: Bench = {
  does: `20,000 changes, answers after ${latencyMs} ms, compared with a bare program over undici`,
  async run({ rounds, isShort, progress }) {
    const changes = isShort ? 2_000 : 20_000;
    const measured = new Map(concurrencies.map((concurrency): [number, Round[]] => [concurrency, []]));
    for (let round = 1; round <= rounds; round += 1) {
      for (const [concurrency, taken] of measured) {
        const one = await measureRound(concurrency, changes);
        taken.push(one);
        progress(`round ${round} of ${rounds}, concurrency ${concurrency}: ${textOf(one)}`);
      }
    }
    return [...measured].flatMap(([concurrency, taken]) => figuresOf(concurrency, taken, changes));
  },
  notes: [
    'Speed: the bridge writes everything to the state file and prints every event; the bare program has as many connections, and neither state nor retries. All times include start-up, and the service runs on the same machine.',
  ],
};

async function measureRound(concurrency: number, changes: number): Promise<Round> {
  const service = await startService({ latencyMs });
  try {
    const since = new Date(Date.now() - 60_000).toISOString();
    await service.control('createAdverts', changes, { status: 'active' });
    const undici = await measure('tools/bench/bare.ts', [service.url, String(concurrency), since]);
    const bridge = await runBridge(service, { concurrency, since });
    const counts = [Number(undici.stdout), bridge.events];
    if (counts.some((count) => count !== changes))
      throw new Error(`of ${changes} changes there were ${counts}`);
    return { undici, bridge };
  } finally {
    await service.stop();
  }
}

const textOf = (round: Round): string =>
  Object.entries(round)
    .map(([name, { seconds, cpuSeconds, peakMb }]) => {
      return `${name} ${seconds.toFixed(2)} s (${cpuSeconds.toFixed(2)} s CPU, ${peakMb.toFixed(0)} MB)`;
    })
    .join(', ');

function figuresOf(concurrency: number, rounds: readonly Round[], changes: number): Figure[] {
  const figure = (what: string, of: (round: Round) => number, more: Partial<Figure> = {}): Figure => {
    return { what, at: `concurrency ${concurrency}`, rounds: rounds.map(of), ...more };
  };
  const cpu = ({ cpuSeconds }: Finished): number => (cpuSeconds / changes) * 1e6;
  const isJudged = concurrency === judgedConcurrency;
  return [
    figure('speed relative to undici', ({ undici, bridge }) => undici.seconds / bridge.seconds, {
      unit: 'times',
      ...(isJudged ? { target: { least: minSpeed } } : {}),
    }),
    figure('changes a second', ({ bridge }) => changes / bridge.seconds, { digits: 0 }),
    figure('CPU a change', ({ bridge }) => cpu(bridge), { unit: 'µs', digits: 0 }),
    figure('CPU a change of undici alone', ({ undici }) => cpu(undici), { unit: 'µs', digits: 0 }),
    figure('peak memory', ({ bridge }) => bridge.peakMb, { unit: 'MB', digits: 0, target: { most: maxMb } }),
    figure('connections opened', ({ bridge }) => bridge.connections, {
      digits: 0,
      target: { most: concurrency },
    }),
  ];
}
