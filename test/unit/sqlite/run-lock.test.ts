import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { stateFileIn } from '../../../shared/sqlite/file/private-folder.ts';
import { isRunning, newRunId, takeRunLock } from '../../../shared/sqlite/file/run-lock.ts';
import { openEmbeddedState } from '../../../shared/sqlite/state.ts';
import { childProcesses } from '../../helpers/child-process.ts';
import { changedAdvert, feedState, partnerAccount, settlement } from '../../helpers/records.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const child = childProcesses();
const info = { command: 'run --local state', startedAt: '2026-11-20T12:00:00Z' };
const many = { maxGroups: 10, maxPerGroup: 10, visibilityMs: 3_600_000 };
const key = { partnerAccount: 'main', feed: 'adverts' };

/**
 * Takes the lock, holds a message in flight, a delayed message, a lease and a refresh lock; then prints the lock's
 * holder.
 */
const runs = `
  import { newRunId, takeRunLock } from './shared/sqlite/file/run-lock.ts';
  import { openEmbeddedState } from './shared/sqlite/state.ts';
  const dir = process.argv[1];
  const lock = takeRunLock(dir, ${JSON.stringify(info)});
  const holder = newRunId();
  const state = openEmbeddedState(dir);
  const [first, second] = await state.queue.receive(${JSON.stringify(many)});
  await state.queue.settle([{ delivery: second, verdict: { kind: 'retry', delayMs: 3600000 } }]);
  await state.feedStates.acquire(${JSON.stringify(key)}, { holder, nowMs: Date.now(), leaseMs: 3600000 });
  const refreshing = { holder, startedAt: Date.now(), until: Date.now() + 3600000 };
  await state.partnerAccounts.change('main', (account) => ({ ...account, refreshing }));
  console.log(holder);
  setInterval(() => {}, 1000);`;

async function prepared(): Promise<string> {
  const dir = folder();
  const state = openEmbeddedState(dir);
  await state.feedStates.register(feedState());
  await state.partnerAccounts.add(partnerAccount());
  const refreshing = { holder: 'connect-1', startedAt: 1, until: 2 };
  await state.partnerAccounts.add(partnerAccount({ name: 'connecting', refreshing }));
  await state.queue.send(['1', '2'].map((advertId) => changedAdvert({ advertId })));
  state.close();
  return dir;
}

const leaseFor = (holder: string) => ({ holder, nowMs: Date.now(), leaseMs: 3_600_000 });

describe('the run lock', () => {
  it('is given to one run, and free after its release', () => {
    const dir = path.join(folder(), 'state');
    const first = takeRunLock(dir, info);
    expect(() => takeRunLock(dir, info)).toThrow(expect.objectContaining({ code: 'state-in-use' }));
    first.release();
    takeRunLock(dir, info).release();
    expect(newRunId()).not.toBe(newRunId());
  });

  it('is for its owner alone', () => {
    const dir = folder();
    takeRunLock(dir, info).release();
    expect(statSync(path.join(dir, 'run.lock')).mode & 0o777).toBe(0o600);
  });

  it('names the process that has it, and lets the other commands work', async () => {
    const dir = await prepared();
    const other = await child(runs, dir);
    expect(() => takeRunLock(dir, info)).toThrow(
      `${dir} is in use by another run: pid ${other.pid} since 2026-11-20T12:00:00Z (run --local state)`,
    );
    const state = openEmbeddedState(dir);
    expect(await state.feedStates.acquire(key, leaseFor('me'))).toMatchObject({ heldBy: other.line });
    await state.settings.write('a', '1');
    state.close();
  });

  it('is free when the process was killed, with all that it had in hand', async () => {
    const dir = await prepared();
    const killed = await child(runs, dir);
    await killed.kill();

    const lock = takeRunLock(dir, info);

    const state = openEmbeddedState(dir);
    const deliveries = await state.queue.receive(many);
    expect(deliveries.map(({ message, receives }) => [message?.advertId, receives])).toEqual([['1', 2]]);
    await state.queue.settle(deliveries.map((one) => settlement(one, { kind: 'done', outcome: 'events' })));
    expect(await state.queue.depth('main')).toBe(1);
    expect(await state.feedStates.acquire(key, leaseFor(newRunId()))).toHaveProperty('etag');
    expect(await state.partnerAccounts.read('main')).toEqual(partnerAccount());
    // A command other than `run` may be in the middle of a refresh.
    expect(await state.partnerAccounts.read('connecting')).toHaveProperty('refreshing');
    state.close();
    lock.release();
  });

  it('is given back when the state cannot be opened', async () => {
    const dir = await prepared();
    renameSync(stateFileIn(dir), path.join(dir, 'aside'));
    writeFileSync(stateFileIn(dir), 'x'.repeat(4096));
    expect(() => takeRunLock(dir, info)).toThrow(expect.objectContaining({ code: 'state-damaged' }));
    renameSync(path.join(dir, 'aside'), stateFileIn(dir));
    takeRunLock(dir, info).release();
  });

  it('is seen from outside while it is held', () => {
    const dir = folder();
    expect(isRunning(dir)).toBe(false);
    const lock = takeRunLock(dir, info);
    expect(isRunning(dir)).toBe(true);
    lock.release();
    expect(isRunning(dir)).toBe(false);
    // Reading the lock does not block anybody.
    takeRunLock(dir, info).release();
  });

  it('frees what an earlier run has left, and nothing of anybody else', async () => {
    const dir = await prepared();
    const before = takeRunLock(dir, info);
    const state = openEmbeddedState(dir);
    const holder = newRunId();
    await state.feedStates.acquire(key, { ...leaseFor(holder), leaseMs: 3_600_000 });
    const refreshing = { holder, startedAt: 1, until: 2 };
    await state.partnerAccounts.change('main', (account) => ({ ...account, refreshing }));
    const connecting = await state.partnerAccounts.read('connecting');
    before.release();

    const lock = takeRunLock(dir, info);

    expect(await state.partnerAccounts.read('main')).toEqual(partnerAccount());
    expect(await state.partnerAccounts.read('connecting')).toEqual(connecting);
    expect(await state.feedStates.acquire(key, leaseFor(newRunId()))).toHaveProperty('etag');
    expect(() => takeRunLock(dir, info)).toThrow(
      `another run: pid ${process.pid} since ${info.startedAt} (${info.command})`,
    );
    lock.release();
    state.close();
  });

  it('held by a dry run is not taken for that of the run before, and leaves the state as it is', () => {
    const dir = folder();
    takeRunLock(dir, info).release();
    const db = new DatabaseSync(stateFileIn(dir));
    // No process has so high a number.
    db.exec("UPDATE documents SET text = json_set(text, '$.pid', 2147483646) WHERE name = 'run'");
    db.close();
    const before = readFileSync(stateFileIn(dir));

    const lock = takeRunLock(dir, 'dry-run');

    expect(() => takeRunLock(dir, info)).toThrow(
      `another run: pid 2147483646 since ${info.startedAt} (${info.command}), or a dry run. Stop`,
    );
    lock.release();
    expect(readFileSync(stateFileIn(dir)).equals(before)).toBe(true);
  });

  it('is told of when its holder has not said yet who it is', () => {
    const dir = folder();
    const lock = takeRunLock(dir, info);
    const db = new DatabaseSync(stateFileIn(dir));
    db.exec('DELETE FROM documents');
    db.close();
    expect(() => takeRunLock(dir, info)).toThrow(
      'in use by another run: it is just starting, or a dry run. Stop',
    );
    lock.release();
  });
});
