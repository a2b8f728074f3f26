import path from 'node:path';
import { type Bench, type BenchOptions, type Figure, median, type Report } from './report/report.ts';
import { runBridge, withFolder } from './runs/bridge-run.ts';
import { measure, type Service, startService } from './runs/processes.ts';

interface Setting {
  readonly latencyMs: number;
  readonly concurrency: number;
  readonly minSpeed: number;
}

const settings: readonly Setting[] = [
  { latencyMs: 20, concurrency: 10, minSpeed: 0.85 },
  { latencyMs: 20, concurrency: 50, minSpeed: 0.85 },
  { latencyMs: 20, concurrency: 200, minSpeed: 0.8 },
  { latencyMs: 0, concurrency: 50, minSpeed: 0.4 },
];
const maxCpu = 1.6;
const maxMb = 200;
const sequentialChanges = 300;

const nameOf = ({ latencyMs, concurrency }: Setting): string =>
  `${latencyMs === 0 ? 'no delay' : `${latencyMs} ms`}, concurrency ${concurrency}`;

/** Measures the bridge's speed relative to a minimal program that sends the same requests. */
export const throughput: Bench = {
  does: '20,000 changes, compared with a minimal program that sends the same requests, and with sequential requests',
  run,
};

interface Round {
  readonly bareSeconds: number;
  readonly bareCpu: number;
  readonly durableSeconds: number;
  readonly durableCpu: number;
  readonly seconds: number;
  readonly cpu: number;
  readonly peakMb: number;
  readonly connections: number;
  /** Changes per second with one request after the other. */
  readonly sequential: number;
}

async function run({ rounds, isShort, progress }: BenchOptions): Promise<Report> {
  const changes = isShort ? 2_000 : 20_000;
  const measured = settings.map((setting) => ({ setting, rounds: [] as Round[] }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const one of measured) {
      const taken = await measureRound(one.setting, changes);
      one.rounds.push(taken);
      progress(
        `round ${round} of ${rounds}, ${nameOf(one.setting)}: bare ${taken.bareSeconds.toFixed(2)} s (${taken.bareCpu.toFixed(2)} s CPU), ` +
          `durable ${taken.durableSeconds.toFixed(2)} s (${taken.durableCpu.toFixed(2)} s CPU), ` +
          `bridge ${taken.seconds.toFixed(2)} s (${taken.cpu.toFixed(2)} s CPU, ${taken.peakMb.toFixed(0)} MB, ${taken.connections} connections)`,
      );
    }
  }
  return reportOf(measured, changes);
}

async function measureRound({ latencyMs, concurrency }: Setting, changes: number): Promise<Round> {
  const service = await startService({ latencyMs });
  try {
    const since = new Date(Date.now() - 60_000).toISOString();
    await service.control('createAdverts', changes, { status: 'active' });
    const bare = await measure('bench/bare.ts', [service.url, String(concurrency), since]);
    const durable = await runDurable(service, concurrency, since);
    const bridge = await runBridge(service, { concurrency, since });
    const done = { bare: Number(bare.stdout), durable: durable.events, bridge: bridge.events };
    if (Object.values(done).some((count) => count !== changes)) {
      throw new Error(`of ${changes} changes there were ${JSON.stringify(done)}`);
    }
    return {
      bareSeconds: bare.seconds,
      bareCpu: bare.cpuSeconds,
      durableSeconds: durable.seconds,
      durableCpu: durable.cpuSeconds,
      seconds: bridge.seconds,
      cpu: bridge.cpuSeconds,
      peakMb: bridge.peakMb,
      connections: bridge.connections,
      sequential: await sequentialSpeed(service, since),
    };
  } finally {
    await service.stop();
  }
}

/** Runs the bare durable program, which shows the cost of durability alone. */
function runDurable({ url }: Service, concurrency: number, since: string) {
  return withFolder(async (dir) => {
    let events = 0;
    const finished = await measure(
      'bench/bare-durable.ts',
      [url, String(concurrency), since, path.join(dir, 'state.db')],
      {
        onLine: () => {
          events += 1;
        },
      },
    );
    return { ...finished, events };
  });
}

/** Changes per second, without start-up. A few hundred are enough, because each takes as long as the previous one. */
async function sequentialSpeed({ url }: Service, since: string): Promise<number> {
  const { stdout } = await measure('bench/sequential.ts', [url, since, String(sequentialChanges)]);
  const { fetched, seconds } = JSON.parse(stdout) as { fetched: number; seconds: number };
  if (fetched !== sequentialChanges) throw new Error(`the poller fetched ${fetched}`);
  return fetched / seconds;
}

type Measured = readonly { readonly setting: Setting; readonly rounds: readonly Round[] }[];

function reportOf(measured: Measured, changes: number): Report {
  const figures = (
    what: string,
    of: (round: Round, setting: Setting) => number,
    shown: (setting: Setting) => Omit<Figure, 'what' | 'rounds'>,
  ): Figure[] =>
    measured.map(({ setting, rounds }) => ({
      what: `${what}: ${nameOf(setting)}`,
      rounds: rounds.map((round) => of(round, setting)),
      ...shown(setting),
    }));
  return {
    figures: [
      ...figures(
        'speed, relative to the minimal program',
        ({ bareSeconds, seconds }) => bareSeconds / seconds,
        ({ minSpeed }) => ({ unit: '', target: { least: minSpeed } }),
      ),
      ...figures(
        'CPU per change, relative to the minimal program',
        ({ bareCpu, cpu }) => cpu / bareCpu,
        () => ({ unit: 'times', target: { most: maxCpu } }),
      ),
      ...figures(
        'the same for the durable minimal program, relative to the minimal program',
        ({ bareCpu, durableCpu }) => durableCpu / bareCpu,
        () => ({ unit: 'times' }),
      ),
      ...figures(
        'peak memory',
        ({ peakMb }) => peakMb,
        () => ({ unit: 'MB', digits: 0, target: { most: maxMb } }),
      ),
      ...figures(
        'connections opened',
        ({ connections }) => connections,
        ({ concurrency }) => ({ unit: '', digits: 0, target: { most: concurrency } }),
      ),
      ...figures(
        'speed, relative to sequential requests',
        ({ sequential, seconds }) => changes / seconds / sequential,
        () => ({ unit: 'times', digits: 1 }),
      ),
    ],
    tables: [
      {
        title: `Values behind the ratios, ${changes.toLocaleString('en')} changes, medians`,
        columns: [
          'setting',
          'minimal, changes/s',
          'bridge, changes/s',
          'sequential, changes/s',
          'minimal, CPU µs a change',
          'minimal and durable, CPU µs a change',
          'bridge, CPU µs a change',
        ],
        rows: measured.map(({ setting, rounds }) => {
          const middle = (of: (round: Round) => number) => median(rounds.map(of));
          const whole = (value: number) => Math.round(value).toLocaleString('en');
          return [
            nameOf(setting),
            whole(changes / middle(({ bareSeconds }) => bareSeconds)),
            whole(changes / middle(({ seconds }) => seconds)),
            whole(middle(({ sequential }) => sequential)),
            whole((middle(({ bareCpu }) => bareCpu) / changes) * 1e6),
            whole((middle(({ durableCpu }) => durableCpu) / changes) * 1e6),
            whole((middle(({ cpu }) => cpu) / changes) * 1e6),
          ];
        }),
      },
    ],
    plots: [
      {
        title: 'Changes a second, at answers after 20 ms',
        xTitle: 'concurrency',
        yTitle: 'changes a second',
        xScale: 'log',
        yScale: 'log',
        lines: [
          { name: 'minimal program', of: ({ bareSeconds }: Round) => changes / bareSeconds },
          { name: 'bridge', of: ({ seconds }: Round) => changes / seconds },
          { name: 'sequential', of: ({ sequential }: Round) => sequential },
        ].map(({ name, of }) => ({
          name,
          points: measured
            .filter(({ setting }) => setting.latencyMs > 0)
            .map(({ setting, rounds }) => [setting.concurrency, median(rounds.map(of))] as const),
        })),
      },
    ],
    notes: [
      'The bridge writes everything to the state file, and prints every event on standard output. The times of bridge and minimal program include start-up; service and program run on the same machine.',
      `The minimal program has an undici pool with the same number of connections, and no state, retries or events. The durable minimal program also stores each listed ID in SQLite until its advert is settled, records each event, and prints it after the commit. Sequential requests are \`fetch\` in a loop, as most partners do it, for ${sequentialChanges} changes; the start-up is not counted, so that the speed does not depend on the number of changes.`,
      "Concurrency 50 at 20 ms covers the original requirement (10,000 changes at 0.7 of the minimal program's speed, within 200 MB) with twice as many changes.",
    ],
  };
}
