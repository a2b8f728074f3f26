import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { stateFileIn } from '../../embedded/state/file/private-folder.ts';
import { seededRandom } from '../../kits/typescript/testing/player.ts';
import type { Sandbox } from '../../sandbox/server.ts';
import { until } from '../helpers/until.ts';
import { endWithin, type Life, type Options, startBridge, stopLife } from './bridge.ts';
import { checkBridge, type Verdict } from './check-bridge.ts';
import { createWeather, type Weather } from './weather.ts';

/** Shorter than the bridge waits for the file, and much longer. */
const shortMs = 3_000;
const longMs = 15_000;
/** Once the file is unlocked, there is no reason to wait longer. */
const maxToCatchUpMs = 20_000;

/** Another process locks the state file: first for a while, then permanently. */
export async function runLockedState({ seed }: Options): Promise<Verdict> {
  const bridge = await startBridge(['anna'], { seed, adverts: 100 });
  const weather = createWeather(bridge.service, seededRandom(seed));
  const faults: string[] = [];
  const expect = (holds: boolean, fault: string) => {
    if (!holds) faults.push(fault);
  };
  try {
    const life = bridge.run();
    await changesFor(weather, 1_500);
    let unlock = lock(bridge.dir);
    await changesFor(weather, shortMs);
    unlock();
    await changesFor(weather, 1_500);
    expect(life.child.exitCode === null, `locked for ${shortMs} ms, it ended: ${life.stderr()}`);
    expect(complaints(life) === '', `locked for ${shortMs} ms, it said: ${complaints(life)}`);

    await untilInHand(bridge.service, weather);
    unlock = lock(bridge.dir);
    await changesFor(weather, longMs);
    const alive = life.child.exitCode === null;
    expect(
      /is locked by another process/.test(life.stderr()),
      `locked for good, no word of it: ${life.stderr()}`,
    );
    const late = bridge.run(['--until-idle']);
    const { exitCode, stderr } = (await endWithin(late, longMs)) ?? (await stopLife(late));
    expect(
      exitCode === 1 && /locked by another process|in use by another run/.test(stderr),
      `started on a locked state: ${exitCode}: ${stderr}`,
    );
    const said = complaints(life).split('\n')[0];
    unlock();
    const isIdle = async () => (await bridge.status()).queue.waiting === 0;
    const isDelivered = await until('delivery', isIdle, { withinMs: maxToCatchUpMs }).catch(() => false);
    expect(!alive || isDelivered, `${maxToCatchUpMs / 1000} s after the lock was gone: ${life.stderr()}`);
    const end = alive ? await stopLife(life) : await life.ended;
    expect(end.exitCode === (alive ? 0 : 1), `the locked run: ${end.exitCode}: ${end.stderr}`);

    const free = bridge.run(['--until-idle']);
    const last = await endWithin(free, 60_000);
    expect(last?.exitCode === 0, `unlocked again: exit code ${last?.exitCode}: ${free.stderr()}`);
    const verdict = await checkBridge(bridge, weather.touched);
    const fate = alive ? 'waited on, then ended on SIGTERM' : 'ended by itself';
    return {
      faults: [...faults, ...verdict.faults],
      summary: `locked for good it ${fate}, "${said}"; ${verdict.summary}`,
    };
  } finally {
    await bridge.remove();
  }
}

/** What a run says after its first line, which says what it runs. */
const complaints = (life: Life): string => life.stderr().trim().split('\n').slice(1).join('\n');

/** Waits until the bridge is fetching adverts, whose messages it then cannot settle any more. */
async function untilInHand({ control }: Sandbox, weather: Weather): Promise<void> {
  control.change({ latencyMs: 200 });
  const isInHand = async () => {
    await changesFor(weather, 50);
    return control.journal.list().some(({ endpoint, status }) => endpoint === 'advert' && status === null);
  };
  await until('a request', isInHand, { withinMs: 5_000, everyMs: 0 }).catch(() => false);
  control.change({ latencyMs: 0 });
}

async function changesFor(weather: Weather, forMs: number): Promise<void> {
  for (const untilMs = Date.now() + forMs; Date.now() < untilMs; await sleep(50)) weather.change();
}

/** Locks the file, as a backup or a person with `sqlite3` might. @returns a function that releases the lock */
function lock(dir: string): () => void {
  const db = new DatabaseSync(stateFileIn(dir), { timeout: 5_000 });
  db.exec('BEGIN EXCLUSIVE');
  return () => {
    db.exec('ROLLBACK');
    db.close();
  };
}
