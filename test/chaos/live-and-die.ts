import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '../../sandbox/server.ts';
import type { Random } from '../../sandbox/state/random.ts';
import type { Life } from './life.ts';
import type { Weather } from './weather.ts';

export interface Surroundings {
  readonly service: Sandbox;
  readonly random: Random;
  readonly weather: Weather;
  /** Total number of changes made by the end of this life. */
  readonly due: number;
}

/** A process that requests no feed within this time was blocked by what the killed one left behind. */
const maxToFeedMs = 5_000;
/** From the start to the first feed request: a bridge that is killed early dies within this time. */
const startUpMs = 500;
const maxAliveMs = 700;

/**
 * When the process is killed: while it starts, some time after its first feed request, or just after it has written
 * events.
 */
type Death = { readonly atMs: number } | { readonly afterFeedMs: number } | { readonly afterChunks: number };

function deathOf(random: Random, startedAtMs: number): Death {
  const kind = random();
  if (kind < 0.2) return { atMs: startedAtMs + random() * startUpMs };
  if (kind < 0.6) return { afterFeedMs: random() ** 1.5 * maxAliveMs };
  return { afterChunks: 1 + Math.floor(random() * 6) };
}

/**
 * Makes changes while the bridge runs, kills it, and makes the remaining changes up to `due` while it is dead.
 *
 * @returns time in ms until the first feed request; undefined when the process was killed before
 */
export async function liveAndDie(
  life: Life,
  { service, random, weather, due }: Surroundings,
): Promise<number | 'late' | undefined> {
  const { journal } = service.control;
  const firstIndex = journal.nextIndex;
  const firstFeed = () => journal.list(firstIndex).find(({ endpoint }) => endpoint === 'feed');
  const death = deathOf(random, life.startedAtMs);
  // Sometimes waits some milliseconds, because everything after a write is over in less.
  if ('afterChunks' in death) killAfterChunks(life, death.afterChunks, random() < 0.5 ? 0 : random() * 3);
  const perTick = Math.max(1, Math.ceil((due - weather.made()) / 20));
  let dieAtMs = 'atMs' in death ? death.atMs : Number.POSITIVE_INFINITY;
  let isSeen = false;
  while (isAlive(life) && Date.now() < dieAtMs) {
    for (let count = 0; count < perTick && weather.made() < due; count += 1) {
      if (random() < 0.7) weather.change();
    }
    if (!isSeen && firstFeed()) {
      isSeen = true;
      if ('afterFeedMs' in death) dieAtMs = Date.now() + death.afterFeedMs;
      // There may be no event to publish.
      if ('afterChunks' in death) dieAtMs = Date.now() + 2 * maxAliveMs;
    }
    if (!isSeen && Date.now() - life.startedAtMs > maxToFeedMs) break;
    await sleep(Math.min(15, Math.max(0, dieAtMs - Date.now())));
  }
  life.child.kill('SIGKILL');
  await life.ended;
  while (weather.made() < due) weather.change();
  const feed = firstFeed();
  if (feed) return feed.arrivedAtMs - life.startedAtMs;
  return Date.now() - life.startedAtMs > maxToFeedMs ? 'late' : undefined;
}

const isAlive = ({ child }: Life): boolean => child.exitCode === null && child.signalCode === null;

function killAfterChunks({ child }: Life, chunks: number, waitMs: number): void {
  let seen = 0;
  child.stdout?.on('data', () => {
    seen += 1;
    if (seen !== chunks) return;
    if (waitMs === 0) child.kill('SIGKILL');
    else setTimeout(() => child.kill('SIGKILL'), waitMs);
  });
}
