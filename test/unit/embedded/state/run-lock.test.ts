import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { heartbeatFileIn } from '../../../../embedded/state/file/private-folder.ts';
import { isRunning, newRunId, standstillIn, takeRunLock } from '../../../../embedded/state/file/run-lock.ts';
import { openEmbeddedState } from '../../../../embedded/state/state.ts';
import { childProcesses } from '../../../helpers/child-process.ts';
import { changedAdvert, feedState, partnerAccount, settlement } from '../../../helpers/records.ts';
import { scratchFolders } from '../../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const child = childProcesses();
const many = { maxGroups: 10, maxPerGroup: 10, visibilityMs: 3_600_000 };
const key = { partnerAccount: 'main', feed: 'adverts' };

/**
 * Takes the lock, holds a message in flight, a delayed message, a lease and a refresh lock; then prints the lock's
 * holder.
 */
const runs = `
  import { newRunId, takeRunLock } from './embedded/state/file/run-lock.ts';
  import { openEmbeddedState } from './embedded/state/state.ts';
  const dir = process.argv[1];
  const state = openEmbeddedState(dir);
  const lock = takeRunLock(dir, 'the first');
  await state.beginRun();
  const holder = newRunId();
  const [first, second] = await state.queue.receive(${JSON.stringify(many)});
  await state.queue.settle([{ delivery: second, verdict: { kind: 'retry', delayMs: 600_000 } }]);
  await state.feedStates.acquire(${JSON.stringify(key)}, { holder, nowMs: Date.now(), leaseMs: 3600000 });
  const refreshing = { holder, startedAt: Date.now(), until: Date.now() + 3600000 };
  await state.partnerAccounts.change('main', (account) => ({ ...account, refreshing }));
  console.log(holder);
  // A lock that nobody refers to is collected as garbage, and is free then.
  setInterval(() => lock, 1000);`;

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

it('one run gets the run lock, which is free after its release', () => {
  const dir = path.join(folder(), 'state');
  expect(isRunning(folder())).toBe(false);
  const first = takeRunLock(dir, 'test');
  expect(() => takeRunLock(dir, 'test')).toThrow(expect.objectContaining({ code: 'state-in-use' }));
  expect(isRunning(dir)).toBe(true);
  first.release();
  expect(isRunning(dir)).toBe(false);
  // Reading the lock does not block anybody.
  takeRunLock(dir, 'test').release();
  expect(newRunId()).not.toBe(newRunId());
});

it('an error names the process that has the run lock; others may work', async () => {
  const dir = await prepared();
  const other = await child(runs, dir);
  const state = openEmbeddedState(dir);
  expect(() => takeRunLock(dir, 'mine')).toThrow(`${dir} is in use by another run: the first.`);
  expect(await state.feedStates.acquire(key, leaseFor('me'))).toEqual({ end: 'held', by: other.line });
  await state.settings.write('a', '1');
  state.close();
});

it('a killed process frees the run lock and all that it had in hand', async () => {
  const dir = await prepared();
  const killed = await child(runs, dir);
  await killed.kill();

  const state = openEmbeddedState(dir);
  const lock = takeRunLock(dir, 'the second');
  await state.beginRun();
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

it('a run ends when another begins in spite of its lock', () => {
  const dir = folder();
  const first = takeRunLock(dir, 'the first');
  const begun = Date.now();
  // As on a network share that is mounted without locks.
  writeFileSync(heartbeatFileIn(dir), 'the second');

  expect(first.beat(begun)).toBeUndefined();
  expect(first.beat(begun + 10_000)?.message).toMatch(/another run: the second\. .* a local disk$/);
  // One that is just beginning may be about to write it.
  writeFileSync(heartbeatFileIn(dir), '');
  expect(first.beat(begun + 20_000)).toBeUndefined();
  first.release();
});

it('an error names a run that stopped beating, and since when', () => {
  const dir = folder();
  const lock = takeRunLock(dir, 'the first');
  const begun = Date.now();
  lock.beat(begun + 60_000);

  expect(standstillIn(dir, begun + 90_000)).toBeUndefined();
  expect(standstillIn(dir, begun + 90_001)).toEqual({ run: 'the first', since: begun + 60_000 });
  // A clock that was set back by an hour.
  lock.beat(begun - 3_600_000);
  expect(standstillIn(dir, begun - 3_600_000)).toBeUndefined();
  lock.release();
  expect(standstillIn(dir, begun + 90_001)).toBeUndefined();
});

it.each([
  [
    'cut and without control characters, line breaks and bidi',
    `pid 1 (a\u009b31m\u202e\nforged${'x'.repeat(5_000)}`,
    /: pid 1 \(a\\u009b31m\\u202e\\u000aforgedx{100,200}\. Stop that run first$/,
  ],
  ['as one that is just starting while it has no name', '', /: one that is just starting\. Stop/],
])('the run lock shows its holder %s', (_case, holder, message) => {
  const dir = folder();
  const lock = takeRunLock(dir, holder);
  expect(() => takeRunLock(dir, 'mine')).toThrow(message);
  lock.release();
});

it('the run lock tells for how long no run was at work', () => {
  const dir = path.join(folder(), 'state');
  const first = takeRunLock(dir, 'first');
  first.beat(Date.now() - 3_600_000);
  first.release();

  const second = takeRunLock(dir, 'second');
  expect([first.idleMs, second.idleMs >= 3_600_000]).toEqual([0, true]);
  second.release();
});
