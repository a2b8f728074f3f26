import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../kits/typescript/testing/player.ts';
import type { Random } from '../../sandbox/state/random.ts';
import { type ChaosBridge, endWithin, type Options, startBridge } from './bridge.ts';
import { checkBridge, type Verdict } from './check-bridge.ts';
import { createWeather, type Weather } from './weather.ts';

/** Time for all remaining work after the last kill. */
const maxToIdleMs = 180_000;
/** A process that requests no feed within this time was blocked by what the killed one left behind. */
const maxToFeedMs = 5_000;
/** From the start to the first feed request: a bridge that is killed early dies within this time. */
const startUpMs = 500;
const maxAliveMs = 700;

/** Kills the bridge again and again while adverts change; then lets it finish, and checks the result. */
export async function runKills({ seed, kills, changes }: Options): Promise<Verdict> {
  const random = seededRandom(seed);
  const bridge = await startBridge(['anna', 'bert', 'cleo'], { seed, adverts: 60, visibilityDelayMs: 500 });
  const weather = createWeather(bridge.service, random);
  const faults: string[] = [];
  const waits: number[] = [];
  try {
    weather.faults();
    for (let kill = 0; kill < kills; kill += 1) {
      weather.turn();
      const due = Math.ceil((changes * (kill + 1)) / kills);
      const { wait, fault } = await liveAndDie(bridge, { random, weather, due });
      if (fault !== undefined) faults.push(`run ${kill}: ${fault}`);
      if (wait !== undefined) waits.push(wait);
    }
    weather.clear();
    // The last changes must be visible, because a run until idle delivers only what the feed lists.
    await sleep(1_100);
    const life = bridge.run(['--until-idle']);
    const end = await endWithin(life, maxToIdleMs);
    if (end?.exitCode !== 0) faults.push(`the last run: exit code ${end?.exitCode}: ${life.stderr()}`);
    if (!end) return { faults, summary: 'the last run did not end' };
    const { faults: found, summary } = await checkBridge(bridge, weather.touched);
    const median = waits.sort((a, b) => a - b)[waits.length >> 1];
    return {
      faults: [...faults, ...found],
      summary:
        `${kills} kills during ${weather.made()} changes: ${summary}\n` +
        `  first feed after a start: median ${median} ms, longest ${waits.at(-1)} ms (${waits.length} lives)`,
    };
  } finally {
    await bridge.remove();
  }
}

/**
 * Makes changes while a run lives, kills it while it starts, some time after its first feed request, or just after it
 * has written events, and makes the remaining changes up to `due` while it is dead.
 *
 * @returns the time in ms until the first feed request, if it came to that
 */
async function liveAndDie(
  bridge: ChaosBridge,
  { random, weather, due }: { readonly random: Random; readonly weather: Weather; readonly due: number },
): Promise<{ readonly wait?: number; readonly fault?: string }> {
  const { journal } = bridge.service.control;
  const firstIndex = journal.nextIndex;
  const firstFeed = () => journal.list(firstIndex).find(({ endpoint }) => endpoint === 'feed');
  const life = bridge.run();
  const { child, startedAtMs } = life;
  const kind = random();
  let dieAtMs = kind < 0.2 ? startedAtMs + random() * startUpMs : Number.POSITIVE_INFINITY;
  // With events or without: there may be none to publish.
  const afterFeedMs = kind < 0.6 ? random() ** 1.5 * maxAliveMs : 2 * maxAliveMs;
  if (kind >= 0.6) {
    let chunks = 1 + Math.floor(random() * 6);
    // Sometimes waits some milliseconds, because everything after a write is over in less.
    const waitMs = random() < 0.5 ? 0 : random() * 3;
    child.stdout?.on('data', () => {
      chunks -= 1;
      if (chunks !== 0) return;
      if (waitMs === 0) child.kill('SIGKILL');
      else setTimeout(() => child.kill('SIGKILL'), waitMs);
    });
  }
  const perTick = Math.max(1, Math.ceil((due - weather.made()) / 20));
  let isSeen = false;
  while (child.exitCode === null && child.signalCode === null && Date.now() < dieAtMs) {
    for (let count = 0; count < perTick && weather.made() < due; count += 1) {
      if (random() < 0.7) weather.change();
    }
    if (!isSeen && firstFeed()) {
      isSeen = true;
      dieAtMs = Math.min(dieAtMs, Date.now() + afterFeedMs);
    }
    if (!isSeen && Date.now() - startedAtMs > maxToFeedMs) break;
    await sleep(Math.min(15, Math.max(0, dieAtMs - Date.now())));
  }
  child.kill('SIGKILL');
  const { exitCode } = await life.ended;
  while (weather.made() < due) weather.change();
  if (exitCode !== null) return { fault: `ended by itself with ${exitCode}: ${life.stderr()}` };
  const feed = firstFeed();
  if (feed) return { wait: Math.round(feed.arrivedAtMs - startedAtMs) };
  return Date.now() - startedAtMs > maxToFeedMs ? { fault: `asked for no feed: ${life.stderr()}` } : {};
}
