import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, vi } from 'vitest';
import { stateFileIn } from '../../../../embedded/state/file/private-folder.ts';
import { isRunning, takeRunLock } from '../../../../embedded/state/file/run-lock.ts';
import { migrate, refusedVersion, versionOf } from '../../../../embedded/state/file/schema.ts';
import { busyTimeoutMs, openStateFile } from '../../../../embedded/state/file/state-file.ts';
import { openEmbeddedState } from '../../../../embedded/state/state.ts';
import { childProcesses } from '../../../helpers/child-process.ts';
import { changedAdvert } from '../../../helpers/records.ts';
import { scratchFolders } from '../../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const child = childProcesses();
const mode = (file: string): number => statSync(file).mode & 0o777;

/** A folder with a closed state file of some size. */
async function filled(): Promise<string> {
  const dir = folder();
  const state = openEmbeddedState(dir);
  await state.queue.send(
    Array.from({ length: 500 }, (_, index) => changedAdvert({ advertId: String(index) })),
  );
  state.close();
  return dir;
}

const opening = (dir: string) => () => openEmbeddedState(dir).close();

it('only its owner may read the state file and what lies beside it', () => {
  const dir = path.join(folder(), 'new', 'state');
  for (const next of [0o644, 0o600]) {
    const state = openEmbeddedState(dir);
    expect(mode(dir)).toBe(0o700);
    for (const end of ['', '-wal', '-shm']) expect(mode(stateFileIn(dir) + end)).toBe(0o600);
    state.close();
    chmodSync(stateFileIn(dir), next);
  }
});

it('the state file is refused when its folder was replaced meanwhile', () => {
  const dir = path.join(folder(), 'state');
  openEmbeddedState(dir).close();
  const setTrusted = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementationOnce(() => {
    renameSync(dir, `${dir}-old`);
    cpSync(`${dir}-old`, dir, { recursive: true });
  });
  expect(opening(dir)).toThrow(expect.objectContaining({ code: 'state-unsafe' }));
  expect(setTrusted).toHaveBeenCalledOnce();
});

it('a folder whose name looks like a URI to SQLite gets the state file', () => {
  const dir = mkdtempSync('file:bridge-');
  try {
    const lock = takeRunLock(dir, 'test');
    openEmbeddedState(dir).close();
    expect(isRunning(dir)).toBe(true);
    lock.release();
    expect(statSync(path.join(dir, 'bridge.db')).size).toBeGreaterThan(0);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

it('an older state file gets the new tables once, and keeps its rows', () => {
  const db = new DatabaseSync(':memory:');
  const steps = ["CREATE TABLE a (id TEXT); INSERT INTO a VALUES ('kept')", 'CREATE TABLE b (id TEXT)'];
  migrate(db, steps.slice(0, 1));

  migrate(db, steps);
  migrate(db, steps);

  expect(db.prepare('SELECT a.id, count(b.id) AS more FROM a LEFT JOIN b').get()).toEqual({
    id: 'kept',
    more: 0,
  });
  expect(versionOf(db)).toBe(refusedVersion + 2);
  db.close();
});

it('one state file is made when processes come at the same time', async () => {
  const dir = path.join(folder(), 'state');
  const code = `
    import { openEmbeddedState } from './embedded/state/state.ts';
    const state = openEmbeddedState(process.argv[1]);
    await state.settings.write(process.argv[2], 'here');
    state.close();
    console.log('ok');`;
  const names = ['a', 'b', 'c', 'd'];
  const children = await Promise.all(names.map((name) => child(code, dir, name)));
  expect(children.map(({ line }) => line)).toEqual(names.map(() => 'ok'));
  const state = openEmbeddedState(dir);
  for (const name of names) expect(await state.settings.read(name)).toBe('here');
  state.close();
});

it('acknowledged changes are kept when the process is killed', async () => {
  const dir = folder();
  const code = `
    import { openEmbeddedState } from './embedded/state/state.ts';
    const state = openEmbeddedState(process.argv[1]);
    await state.settings.write('a', '1');
    console.log('written');
    setInterval(() => {}, 1000);`;
  const writer = await child(code, dir);
  expect(writer.line).toBe('written');
  await writer.kill();
  const state = openEmbeddedState(dir);
  expect(await state.settings.read('a')).toBe('1');
  state.close();
});

it('a connection commits fast, bounds its log and zeroes deleted data', () => {
  const db = openStateFile(folder());
  const pragma = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  const names = ['journal_mode', 'synchronous', 'wal_autocheckpoint', 'journal_size_limit', 'cache_size'];
  expect(names.map(pragma)).toEqual(['wal', 1, 4_000, 2 * 4_000 * 4_096, -8_192]);
  // 2: FAST. https://sqlite.org/pragma.html#pragma_secure_delete
  expect(['secure_delete', 'trusted_schema'].map(pragma)).toEqual([2, 0]);
  expect(pragma('busy_timeout')).toBe(busyTimeoutMs);
  db.close();
});

const damaged = expect.objectContaining({ name: 'StateError', code: 'state-damaged' });

it.each([
  [
    'holds something else',
    () => Buffer.from('not a database, but long enough to have a header: '.repeat(40)),
  ],
  ['is cut off', (whole: Buffer) => whole.subarray(0, whole.length / 2)],
  [
    'has a broken list of tables',
    (whole: Buffer) => Buffer.concat([whole.subarray(0, 100), Buffer.alloc(3996, 7), whole.subarray(4096)]),
  ],
])('a state file stays as it is when it %s', async (_, damage) => {
  const dir = await filled();
  writeFileSync(stateFileIn(dir), damage(readFileSync(stateFileIn(dir))));
  const before = readFileSync(stateFileIn(dir));
  expect(opening(dir)).toThrow(damaged);
  expect(opening(dir)).toThrow(/bridge\.db is damaged \(.+\)\. Restore the folder from a backup/);
  expect(readFileSync(stateFileIn(dir)).equals(before)).toBe(true);
});

it('damage of the state file is reported when it shows later', async () => {
  const dir = await filled();
  const whole = readFileSync(stateFileIn(dir));
  // Everything but the header and the list of tables.
  writeFileSync(
    stateFileIn(dir),
    Buffer.concat([whole.subarray(0, 8192), Buffer.alloc(whole.length - 8192, 7)]),
  );
  const state = openEmbeddedState(dir);
  await expect(state.queue.receive({ maxGroups: 1, maxPerGroup: 1, visibilityMs: 1 })).rejects.toEqual(
    damaged,
  );
  await expect(state.queue.send([changedAdvert()])).rejects.toEqual(damaged);
  state.close();
});

it.each([
  ['damaged', 'of something else', 'PRAGMA application_id = 7', /is not the state of an Advert Bridge/],
  ['newer', 'of a newer bridge', 'PRAGMA user_version = 99', /its version is 99/],
  ['older', 'of release 0.1', 'PRAGMA user_version = 1', /was written by Advert Bridge 0\.1 or 0\.2/],
  ['older', 'of release 0.2', 'PRAGMA user_version = 2', /was written by Advert Bridge 0\.1 or 0\.2/],
])('a state file is refused as %s, unchanged, when it is that %s', async (code, _of, change, message) => {
  const dir = await filled();
  const db = new DatabaseSync(stateFileIn(dir));
  db.exec(change);
  db.close();
  const before = readFileSync(stateFileIn(dir));
  expect(opening(dir)).toThrow(expect.objectContaining({ code: `state-${code}` }));
  expect(opening(dir)).toThrow(message);
  expect(readFileSync(stateFileIn(dir)).equals(before)).toBe(true);
});

it('an empty state file is made again', () => {
  const dir = folder();
  writeFileSync(stateFileIn(dir), '');
  truncateSync(stateFileIn(dir));
  expect(opening(dir)).not.toThrow();
});

const notWritable = expect.objectContaining({ name: 'StateError', code: 'state-not-writable' });

it('an error names a folder in place of the file, or the reverse', () => {
  const dir = folder();
  writeFileSync(path.join(dir, 'file'), '');
  expect(opening(path.join(dir, 'file', 'state'))).toThrow(notWritable);
  expect(opening(path.join(dir, 'file'))).toThrow(notWritable);
  mkdirSync(stateFileIn(dir));
  expect(opening(dir)).toThrow(notWritable);
});

it.skipIf(!existsSync('/proc/self'))('an error says so when the system makes no folders', () => {
  expect(opening('/proc/advert-bridge/state')).toThrow(notWritable);
});

it.skipIf(process.getuid?.() === 0)('an error says so when the folder is read-only', () => {
  const dir = folder();
  chmodSync(dir, 0o500);
  expect(opening(dir)).toThrow(notWritable);
  chmodSync(dir, 0o700);
});

it.skipIf(process.getuid?.() === 0)('an error says so when the file is read-only', async () => {
  const dir = await filled();
  chmodSync(stateFileIn(dir), 0o400);
  expect(opening(dir)).toThrow(notWritable);
});
