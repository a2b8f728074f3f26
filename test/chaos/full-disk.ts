import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../kits/typescript/testing/player.ts';
import {
  type Ended,
  endWithin,
  type Life,
  newFolder,
  type Options,
  startBridge,
  stopLife,
} from './bridge.ts';
import { checkBridge, type Verdict } from './check-bridge.ts';
import { createWeather } from './weather.ts';

/** By then, a run that can no longer write must say so, and end if that cannot pass by itself. */
const maxToSayMs = 20_000;
/** Enough for a few changes. */
const leftKib = 400;

/** A folder for a bridge that will run out of disk space. */
interface SmallDisk {
  readonly name: string;
  readonly dir: string;
  /** A run waits for room; otherwise it ends, as after any fault of a disk. */
  readonly isWaitedFor: boolean;
  /** Leaves almost no space. @returns maximum size of the files of a process that runs into the limit */
  fill(): number | undefined;
  makeRoom(): void;
  remove(): void;
}

/** A separate file system; undefined if this user may not mount one. */
function mountedDisk(): SmallDisk | undefined {
  const folder = newFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'none', folder], { stdio: 'ignore' });
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  const ballast = path.join(folder, 'ballast');
  return {
    name: 'tmpfs',
    dir: path.join(folder, 'bridge'),
    isWaitedFor: true,
    fill() {
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(ballast, Buffer.alloc(bavail * bsize - leftKib * 1024));
      return undefined;
    },
    makeRoom: () => rmSync(ballast, { force: true }),
    remove() {
      execFileSync('umount', [folder]);
      rmSync(folder, { recursive: true });
    },
  };
}

/** A limit on the size of files, which SQLite reports as an input/output error. */
const limitedDisk = (): SmallDisk => ({
  name: 'ulimit -f',
  dir: newFolder(),
  isWaitedFor: false,
  fill: () => leftKib,
  makeRoom: () => undefined,
  remove: () => undefined,
});

/** The disk fills up while the bridge works; when there is room again, the bridge continues where it was. */
export async function runFullDisk(options: Options): Promise<Verdict> {
  const mounted = mountedDisk();
  if (!mounted) console.error('no file system can be mounted here: only a limit on file sizes is tried');
  const verdicts: Verdict[] = [];
  for (const disk of [...(mounted ? [mounted] : []), limitedDisk()]) {
    verdicts.push(await runOn(disk, options).finally(() => disk.remove()));
  }
  return {
    faults: verdicts.flatMap(({ faults }) => faults),
    summary: verdicts.map(({ summary }) => summary).join('\n  '),
  };
}

async function runOn(disk: SmallDisk, { seed }: Options): Promise<Verdict> {
  const faults: string[] = [];
  const bridge = await startBridge(['anna'], { seed, adverts: 300 }, disk.dir);
  const fails = (when: string, { exitCode, stderr }: Ended) => {
    const flaws = [
      ...(exitCode === 1 ? [] : [`exit code ${exitCode}`]),
      ...(/cannot be written.*free space/.test(stderr) ? [] : ['no word of what to do']),
      ...(stderr.trim().split('\n').length <= 3 ? [] : ['more than one clear message']),
      ...(/^\s+at /m.test(stderr) ? ['a stack trace'] : []),
    ];
    faults.push(...flaws.map((flaw) => `${disk.name}, ${when}: ${flaw}:\n${stderr}`));
  };
  async function endOnFault(life: Life): Promise<Ended> {
    const ended = await endWithin(life, 1_000);
    if (!ended) faults.push(`${disk.name}: still running ${maxToSayMs / 1000} s later:\n${life.stderr()}`);
    const end = ended ?? (await stopLife(life));
    fails('full while running', end);
    const again = bridge.run(['--until-idle'], leftKib);
    fails('full at the start', (await endWithin(again, maxToSayMs)) ?? (await stopLife(again)));
    return end;
  }
  async function waitForRoom(life: Life): Promise<Ended> {
    const { fullDisk } = await bridge.status();
    if (!fullDisk) faults.push(`${disk.name}: status says that there is room:\n${life.stderr()}`);
    disk.makeRoom();
    const saidAtMs = Date.now();
    while (!/has room again/.test(life.stderr()) && Date.now() - saidAtMs < maxToSayMs) await sleep(20);
    const end = await stopLife(life);
    if (end.exitCode !== 0) faults.push(`${disk.name}: exit code ${end.exitCode}:\n${end.stderr}`);
    return end;
  }
  try {
    const weather = createWeather(bridge.service, seededRandom(seed));
    const limit = disk.fill();
    const life = bridge.run([], limit);
    const isFull = () => /the disk of the state is full/.test(life.stderr());
    const startedAtMs = Date.now();
    while (life.child.exitCode === null && !isFull() && Date.now() - startedAtMs < maxToSayMs) {
      if (weather.made() < 1_000) for (let count = 0; count < 10; count += 1) weather.change();
      await sleep(20);
    }
    const end = disk.isWaitedFor ? await waitForRoom(life) : await endOnFault(life);
    disk.makeRoom();
    const free = bridge.run(['--until-idle']);
    const last = await endWithin(free, 60_000);
    if (last?.exitCode !== 0)
      faults.push(`${disk.name}, with room again: ${last?.exitCode}: ${free.stderr()}`);
    const verdict = await checkBridge(bridge, weather.touched);
    const said = end.stderr.trim().split('\n').at(-1);
    return {
      faults: [...faults, ...verdict.faults],
      summary: `${disk.name}: exit ${end.exitCode}, "${said}"; ${verdict.summary}`,
    };
  } finally {
    await bridge.remove();
  }
}
