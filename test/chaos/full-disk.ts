import { setTimeout as sleep } from 'node:timers/promises';
import { startSandbox } from '../../sandbox/server.ts';
import { seededRandom } from '../../subscriber/testing/player.ts';
import { setUpBridge } from './bridge.ts';
import { checkBridge, type Verdict } from './check-bridge.ts';
import { type Ended, endWithin, type Life, stopLife } from './life.ts';
import type { Options } from './options.ts';
import type { Progress } from './progress.ts';
import { limitedDisk, mountedDisk, type SmallDisk } from './small-disk.ts';
import { createWeather } from './weather.ts';

/** By then, a run that can no longer write must report this and end. */
const maxToEndMs = 20_000;

/** The disk fills up while the bridge works; when there is space again, the bridge continues where it was. */
export async function runFullDisk(options: Options, progress: Progress): Promise<Verdict> {
  const verdicts: Verdict[] = [];
  const mounted = mountedDisk();
  if (!mounted) progress.say('no file system can be mounted here: only a limit on file sizes is tried');
  for (const disk of [...(mounted ? [mounted] : []), limitedDisk()]) {
    try {
      progress.show(`filling the disk (${disk.name})`);
      verdicts.push(await runOn(disk, options));
    } finally {
      disk.remove();
    }
  }
  return {
    faults: verdicts.flatMap(({ faults }) => faults),
    summary: verdicts.map(({ summary }) => summary).join('\n  '),
  };
}

async function runOn(disk: SmallDisk, { seed }: Options): Promise<Verdict> {
  const service = await startSandbox({
    users: [{ name: 'anna', adverts: 300 }],
    visibilityDelayMs: 0,
    random: seededRandom(seed + 1),
  });
  const faults: string[] = [];
  let life: Life | undefined;
  try {
    const bridge = await setUpBridge(service, disk.dir);
    const weather = createWeather(service, seededRandom(seed));
    const limits = disk.fill();
    life = bridge.run([], limits);
    const startedAtMs = Date.now();
    while (life.child.exitCode === null && Date.now() - startedAtMs < maxToEndMs) {
      if (weather.made() < 1_000) for (let count = 0; count < 10; count += 1) weather.change();
      await sleep(20);
    }
    const ended = await endWithin(life, 0);
    if (!ended) faults.push(`${disk.name}: still running ${maxToEndMs / 1000} s later:\n${life.stderr()}`);
    const end = ended ?? (await stopLife(life));
    faults.push(...flawsOf(end).map((flaw) => `${disk.name}, full while running: ${flaw}:\n${end.stderr}`));

    life = bridge.run(['--until-idle'], limits);
    const again = (await endWithin(life, maxToEndMs)) ?? (await stopLife(life));
    faults.push(
      ...flawsOf(again).map((flaw) => `${disk.name}, full at the start: ${flaw}:\n${again.stderr}`),
    );

    disk.makeRoom();
    life = bridge.run(['--until-idle']);
    const last = await endWithin(life, 60_000);
    if (last?.exitCode !== 0)
      faults.push(`${disk.name}, with room again: ${last?.exitCode}: ${life.stderr()}`);
    const verdict = await checkBridge(bridge, weather.touched);
    faults.push(...verdict.faults);
    const said = end.stderr.trim().split('\n').at(-1);
    return {
      faults,
      summary: `${disk.name}: exit ${end.exitCode} after ${end.seconds} s, "${said}"; ${verdict.summary}`,
    };
  } finally {
    life?.child.kill('SIGKILL');
    await life?.ended;
    await service.close();
  }
}

/** The output must be one clear message, and the exit code that of a fault. */
function flawsOf({ exitCode, stderr }: Ended): string[] {
  const lines = stderr.trim().split('\n');
  return [
    ...(exitCode === 1 ? [] : [`exit code ${exitCode}`]),
    ...(/cannot be written.*free space/.test(stderr) ? [] : ['no word of what to do']),
    ...(lines.length <= 3 ? [] : [`${lines.length} lines instead of one`]),
    ...(/^\s+at /m.test(stderr) ? ['a stack trace'] : []),
  ];
}
