import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Bench, type BenchOptions, median, type Report } from './report/report.ts';
import { runArguments, runUntilIdle, setUpBridge, withFolder } from './runs/bridge-run.ts';
import { commandLine, measure, startService } from './runs/processes.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const maxRatio = 3;
const concurrency = 10;

/**
 * The minimum work of a poll: it opens a state file and sends one request. CommonJS, because ES modules load more
 * slowly.
 */
const barePoll = `
const { DatabaseSync } = require('node:sqlite');
const file = new DatabaseSync(process.argv[2] + '/bridge.db');
const known = file.prepare('SELECT count(*) AS known FROM feeds').get();
require('node:http').get(process.argv[1], (answer) => {
  answer.resume();
  answer.on('end', () => process.exit(known.known === 1 && answer.statusCode === 200 ? 0 : 1));
});
`;

/** A poll that finds nothing, in a separate process. */
export const idlePoll: Bench = {
  does: 'costs of a poll without changes: requests, and a whole process compared with plain Node',
  run,
};

type Program = readonly [script: string, ...args: string[]];

async function run({ rounds, isShort, progress }: BenchOptions): Promise<Report> {
  const starts = isShort ? 5 : 15;
  progress('building the package');
  const service = await startService({});
  try {
    return await withFolder(async (dir) => {
      const built = buildCommand(path.join(dir, 'package'));
      await setUpBridge(service, dir, new Date().toISOString());
      await runUntilIdle(service, dir, { concurrency });
      const poll = [...runArguments(dir, { concurrency }), '--until-idle'];
      const programs: Readonly<Record<string, Program>> = {
        bare: ['-e', '0'],
        barePoll: ['-e', barePoll, `${service.url}/_sandbox/`, dir],
        builtVersion: [built, '--version'],
        built: [built, ...poll],
        sourceVersion: [commandLine, '--version'],
        source: [commandLine, ...poll],
      };
      const before = await service.requests();
      const taken = await measured(programs, { rounds, starts, progress });
      const polls = 2 * rounds * starts;
      // All kinds of requests: a token request would count too.
      return reportOf(taken, ((await service.requests()) - before) / polls);
    });
  } finally {
    await service.stop();
  }
}

/** Builds the command as users of the package run it. @returns the file that they start */
function buildCommand(folder: string): string {
  execFileSync(process.execPath, ['scripts/build-package.ts'], { cwd: root, stdio: 'ignore' });
  for (const file of [commandLine, 'dist/cli', 'package.json']) {
    cpSync(path.join(root, file), path.join(folder, file), { recursive: true });
  }
  return path.join(folder, commandLine);
}

interface Taken {
  /** Medians, one per round. */
  readonly ms: number[];
  readonly cpuMs: number[];
}

async function measured(
  programs: Readonly<Record<string, Program>>,
  { rounds, starts, progress }: { rounds: number; starts: number; progress: BenchOptions['progress'] },
): Promise<ReadonlyMap<string, Taken>> {
  const names = Object.keys(programs);
  const taken = new Map(names.map((name): [string, Taken] => [name, { ms: [], cpuMs: [] }]));
  for (let round = 1; round <= rounds; round += 1) {
    const ms = new Map(names.map((name): [string, number[]] => [name, []]));
    const cpuMs = new Map(names.map((name) => [name, 0]));
    // Interleaved, so that other load on the machine affects all of them.
    for (let start = 0; start < starts; start += 1) {
      for (const [name, [script, ...args]] of Object.entries(programs)) {
        const { seconds, cpuSeconds } = await measure(script, args);
        ms.get(name)?.push(seconds * 1_000);
        cpuMs.set(name, (cpuMs.get(name) ?? 0) + cpuSeconds * 1_000);
      }
    }
    for (const [name, { ms: all, cpuMs: cpu }] of taken) {
      all.push(median(ms.get(name) ?? []));
      // The system measures CPU time in steps of 10 ms, so the mean is more precise than a single measurement.
      cpu.push((cpuMs.get(name) ?? Number.NaN) / starts);
    }
    const last = (name: string) => `${taken.get(name)?.ms.at(-1)?.toFixed(0)} ms`;
    progress(
      `round ${round} of ${rounds}: bare Node ${last('bare')}, bare poll ${last('barePoll')}, the package ${last('built')}, from source ${last('source')}`,
    );
  }
  return taken;
}

const shown: Readonly<Record<string, string>> = {
  bare: '`node -e 0`',
  barePoll: 'plain Node that opens the state file and sends one request',
  builtVersion: '`advert-bridge --version`, the package',
  built: '`advert-bridge run --until-idle`, the package',
  sourceVersion: '`advert-bridge --version`, from source',
  source: '`advert-bridge run --until-idle`, from source',
};

function reportOf(taken: ReadonlyMap<string, Taken>, requests: number): Report {
  const ms = (name: string) => taken.get(name)?.ms ?? [];
  const ratio = (of: string, to: string) =>
    ms(of).map((value, round) => value / (ms(to)[round] ?? Number.NaN));
  return {
    figures: [
      { what: 'requests for a poll without changes', rounds: [requests], unit: '', target: { most: 1 } },
      {
        what: 'start-up of the command (`--version`), relative to `node -e 0`',
        rounds: ratio('builtVersion', 'bare'),
        unit: 'times',
        target: { most: maxRatio },
      },
      {
        what: 'a poll without changes, from start to end of its process, relative to `node -e 0`',
        rounds: ratio('built', 'bare'),
        unit: 'times',
        target: { most: maxRatio },
      },
      {
        what: 'the same, relative to plain Node that opens the state file and sends one request',
        rounds: ratio('built', 'barePoll'),
        unit: 'times',
      },
      {
        what: 'the same from source, relative to `node -e 0`',
        rounds: ratio('source', 'bare'),
        unit: 'times',
      },
    ],
    tables: [
      {
        title: 'From start to end of a process, medians',
        columns: ['program', 'ms', 'CPU ms'],
        rows: [...taken].map(([name, { ms: all, cpuMs }]) => [
          shown[name] ?? name,
          median(all).toFixed(0),
          median(cpuMs).toFixed(0),
        ]),
      },
    ],
    notes: [
      'The package is what `npm pack` builds and users run. From source, Node also has to strip the types from every file. In both cases Node caches the compiled code, so the very first run takes longer.',
      "The difference between the poll and plain Node consists of Node's own modules for HTTP, SQLite and hashing, the files of the command, and the checkpoint of the state file when it is closed, which waits for the disk.",
      'The service answers at once, with plain http; TLS, which a real service uses, would cost both sides the same.',
    ],
  };
}
