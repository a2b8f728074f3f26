import { setTimeout as sleep } from 'node:timers/promises';
import { startSandbox } from '../../sandbox/server.ts';
import { seededRandom } from '../../subscriber/testing/player.ts';
import { type ChaosBridge, setUpBridge } from './bridge.ts';
import { checkBridge, type Verdict } from './check-bridge.ts';
import { endWithin, type Life } from './life.ts';
import { liveAndDie } from './live-and-die.ts';
import type { Options } from './options.ts';
import type { Progress } from './progress.ts';
import { createWeather } from './weather.ts';

/** Time for all remaining work after the last kill. */
const maxToIdleMs = 180_000;

/** Kills the bridge again and again while adverts change; then lets it finish, and checks the result. */
export async function runKills(options: Options, progress: Progress): Promise<Verdict> {
  const random = seededRandom(options.seed);
  const service = await startSandbox({
    users: ['anna', 'bert', 'cleo'].map((name) => ({ name, adverts: 60 })),
    visibilityDelayMs: 500,
    random: seededRandom(options.seed + 1),
  });
  const bridge = await setUpBridge(service);
  const weather = createWeather(service, random);
  const faults: string[] = [];
  const waits: number[] = [];
  let current: Life | undefined;
  try {
    weather.faults();
    for (let kill = 0; kill < options.kills; kill += 1) {
      progress.show(`${kill} of ${options.kills} kills, ${weather.made()} of ${options.changes} changes`);
      weather.turn();
      const due = Math.ceil((options.changes * (kill + 1)) / options.kills);
      current = bridge.run();
      const wait = await liveAndDie(current, { service, random, weather, due });
      if (wait === 'late') faults.push(`run ${kill} asked for no feed: ${current.stderr()}`);
      else if (wait !== undefined) waits.push(wait);
    }
    weather.clear();
    const madeAtMs = Date.now();
    progress.show('delivering what is left');
    // The last changes must be visible, because a run until idle delivers only what the feed lists.
    await sleep(1_100);
    current = bridge.run(['--until-idle']);
    const end = await endWithin(current, maxToIdleMs);
    if (end?.exitCode !== 0) faults.push(`the last run: exit code ${end?.exitCode}: ${current.stderr()}`);
    if (!end) return { faults, summary: 'the last run did not end' };
    const { faults: found, summary } = await checkBridge(bridge, weather.touched);
    return {
      faults: [...faults, ...signalFaults(bridge, options.kills), ...found],
      summary:
        `${options.kills} kills during ${weather.made()} changes, idle after ${(Date.now() - madeAtMs) / 1000} s: ` +
        `${summary}\n  first feed after a start: ${spread(waits)}; ${resets(await bridge.status())} cursors reset`,
    };
  } finally {
    current?.child.kill('SIGKILL');
    await current?.ended;
    await service.close();
    if (options.keep) progress.say(`left: ${bridge.dir}`);
    else bridge.remove();
  }
}

function signalFaults({ runs }: ChaosBridge, kills: number): string[] {
  return runs
    .slice(0, kills)
    .flatMap(({ exitCode, stderr }, run) =>
      exitCode === null ? [] : [`run ${run} ended by itself with ${exitCode}: ${stderr}`],
    );
}

function spread(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b).map(Math.round);
  return `median ${sorted[sorted.length >> 1]} ms, longest ${sorted.at(-1)} ms (${sorted.length} lives)`;
}

const resets = ({ partnerAccounts }: Awaited<ReturnType<ChaosBridge['status']>>): number =>
  partnerAccounts.reduce((sum, { cursorResets }) => sum + cursorResets, 0);
