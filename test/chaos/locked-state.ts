import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import { stateFileIn } from '../../shared/sqlite/file/private-folder.ts';
import { seededRandom } from '../../subscriber/testing/player.ts';
import { type ChaosBridge, setUpBridge } from './bridge.ts';
import { checkBridge, type Verdict } from './check-bridge.ts';
import { endWithin, type Life, stopLife } from './life.ts';
import type { Options } from './options.ts';
import type { Progress } from './progress.ts';
import { createWeather, type Weather } from './weather.ts';

/** Shorter than the bridge waits for the file, and much longer. */
const shortMs = 3_000;
const longMs = 15_000;
/** Once the file is unlocked, there is no reason to wait longer. */
const maxToCatchUpMs = 20_000;
const lockedText = /is locked by another process/;

/** Another process locks the state file: first for a while, then permanently. */
export async function runLockedState({ seed }: Options, progress: Progress): Promise<Verdict> {
  const service = await startSandbox({
    users: [{ name: 'anna', adverts: 100 }],
    visibilityDelayMs: 0,
    random: seededRandom(seed + 1),
  });
  const bridge = await setUpBridge(service);
  const weather = createWeather(service, seededRandom(seed));
  const faults: string[] = [];
  let life: Life | undefined;
  try {
    progress.show('locking the state for a while');
    life = bridge.run();
    await changesFor(weather, 1_500);
    let unlock = lock(bridge.dir);
    await changesFor(weather, shortMs);
    unlock();
    await changesFor(weather, 1_500);
    if (life.child.exitCode !== null) faults.push(`locked for ${shortMs} ms, it ended: ${life.stderr()}`);
    if (complaints(life) !== '') faults.push(`locked for ${shortMs} ms, it said: ${complaints(life)}`);

    progress.show('locking the state for good');
    await untilInHand(service, weather);
    unlock = lock(bridge.dir);
    await changesFor(weather, longMs);
    const alive = life.child.exitCode === null;
    if (!lockedText.test(life.stderr())) faults.push(`locked for good, no word of it: ${life.stderr()}`);
    const late = bridge.run(['--until-idle']);
    const refused = (await endWithin(late, longMs)) ?? (await stopLife(late));
    if (refused.exitCode !== 1) faults.push(`started on a locked state: exit code ${refused.exitCode}`);
    if (!/locked by another process|in use by another run/.test(refused.stderr)) {
      faults.push(`started on a locked state: ${refused.stderr}`);
    }
    const said = complaints(life).split('\n')[0];
    unlock();
    if (alive && !(await isDeliveredWithin(bridge, maxToCatchUpMs))) {
      const { queue } = await bridge.status();
      faults.push(
        `${maxToCatchUpMs / 1000} s after the lock was gone: ${JSON.stringify(queue)}: ${life.stderr()}`,
      );
    }
    const end = alive ? await stopLife(life) : await life.ended;
    if (end.exitCode !== (alive ? 0 : 1)) faults.push(`the locked run: ${end.exitCode}: ${end.stderr}`);

    life = bridge.run(['--until-idle']);
    const last = await endWithin(life, 60_000);
    if (last?.exitCode !== 0) faults.push(`unlocked again: exit code ${last?.exitCode}: ${life.stderr()}`);
    const verdict = await checkBridge(bridge, weather.touched);
    faults.push(...verdict.faults);
    const fate = alive ? 'waited on, then ended on SIGTERM' : 'ended by itself';
    return { faults, summary: `locked for good it ${fate}, "${said}"; ${verdict.summary}` };
  } finally {
    life?.child.kill('SIGKILL');
    await life?.ended;
    await service.close();
    bridge.remove();
  }
}

/** What a run says after its first line, which says what it runs. */
const complaints = (life: Life): string => life.stderr().trim().split('\n').slice(1).join('\n');

/** Waits until the bridge is fetching adverts, whose messages it then cannot settle any more. */
async function untilInHand({ control }: Sandbox, weather: Weather): Promise<void> {
  control.change({ latencyMs: 200 });
  const isInHand = () =>
    control.journal.list().some(({ endpoint, status }) => endpoint === 'advert' && status === null);
  const untilMs = Date.now() + 5_000;
  while (!isInHand() && Date.now() < untilMs) await changesFor(weather, 50);
  control.change({ latencyMs: 0 });
}

async function isDeliveredWithin(bridge: ChaosBridge, withinMs: number): Promise<boolean> {
  const untilMs = Date.now() + withinMs;
  while (Date.now() < untilMs) {
    await sleep(500);
    if ((await bridge.status()).queue.waiting === 0) return true;
  }
  return false;
}

async function changesFor(weather: Weather, forMs: number): Promise<void> {
  const untilMs = Date.now() + forMs;
  while (Date.now() < untilMs) {
    weather.change();
    await sleep(50);
  }
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
