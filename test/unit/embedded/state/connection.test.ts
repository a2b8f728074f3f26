import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createConnection } from '../../../../embedded/state/file/connection.ts';
import { scratchFolders } from '../../../helpers/scratch-folder.ts';

const folder = scratchFolders();

function make() {
  const file = path.join(folder(), 'test.db');
  const open = () => new DatabaseSync(file, { timeout: 0 });
  const db = open();
  db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; CREATE TABLE rows (value TEXT) STRICT;');
  const other = open();
  const insert = db.prepare('INSERT INTO rows VALUES (?)');
  const faults: string[] = [];
  const put = (value: string) => insert.run(value).changes;
  return {
    ...{ db, other, put, faults },
    connection: createConnection(db, file, ({ code }) => faults.push(code)),
    failHalfway: () => {
      put('half');
      throw new Error('on purpose');
    },
    /** The state as another process sees it. */
    seen: () =>
      other
        .prepare('SELECT value FROM rows')
        .all()
        .map(({ value }) => value),
  };
}

it('changes of one turn are committed together, and resolve after that', async () => {
  const { connection, put, seen, db } = make();
  const all = ['a', 'b', 'c'];
  const writes = all.map((value) =>
    connection
      .write(() => {
        expect([db.isTransaction, seen()]).toEqual([true, []]);
        return put(value);
      })
      .then((changes) => [changes, seen()]),
  );
  expect(seen()).toEqual([]);
  expect(await Promise.all(writes)).toEqual(all.map(() => [1, all]));
  expect(db.isTransaction).toBe(false);
});

it('a change that fails is undone, and it alone', async () => {
  const { connection, put, seen, failHalfway, faults } = make();
  const [first, failing, last] = [
    connection.write(() => put('a')),
    connection.write(failHalfway),
    connection.write(() => put('b')),
  ];
  await expect(failing).rejects.toThrow('on purpose');
  expect(await Promise.all([first, last])).toEqual([1, 1]);
  expect(seen()).toEqual(['a', 'b']);
  expect(faults).toEqual([]);
});

it('a full disk is reported, and writing goes on when there is room', async () => {
  const { connection, put, seen, db, faults } = make();
  db.exec('PRAGMA max_page_count = 4');
  const large = connection.write(() => put('x'.repeat(50_000)));
  const small = connection.write(() => put('a'));
  await expect(large).rejects.toThrow(/test\.db cannot be written.*free space/);
  expect(await small).toBe(1);
  expect(new Set(faults)).toEqual(new Set(['state-full']));
  db.exec('PRAGMA max_page_count = 1000');
  await connection.write(() => put('b'));
  expect(seen()).toEqual(['a', 'b']);
});

describe('that waits for room', () => {
  afterEach(() => void vi.useRealTimers());

  async function fullDisk() {
    const made = make();
    const stopped = new AbortController();
    const changes: boolean[] = [];
    const onChange = (isFull: boolean) => changes.push(isFull);
    made.connection.waitForRoom({ stopped: stopped.signal, onChange });
    made.db.exec('PRAGMA max_page_count = 4');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const large = made.connection.write(() => made.put('x'.repeat(50_000)));
    const small = made.connection.write(() => made.put('a'));
    await turn();
    return { ...made, stopped, changes, turn, large, small };
  }

  it('keeps writes on a full disk in order, and goes on when there is room', async () => {
    const { connection, db, seen, changes, turn, put, large, small, faults } = await fullDisk();
    const later = connection.write(() => put('b'));
    await turn();
    vi.advanceTimersByTime(5_000);
    expect([seen(), changes, connection.fullSince()]).toEqual([[], [true], expect.any(Number)]);

    db.exec('PRAGMA max_page_count = 1000');
    vi.advanceTimersByTime(1_000);

    expect(await Promise.all([large, small, later])).toEqual([1, 1, 1]);
    expect(seen().slice(1)).toEqual(['a', 'b']);
    expect([changes, connection.fullSince(), faults]).toEqual([[true, false], undefined, []]);
  });

  it('a write that may not wait fails at once, and all do after a stop', async () => {
    const { connection, stopped, put, large, small, faults } = await fullDisk();
    const isFull = expect.objectContaining({ code: 'state-full' });
    const urgent = connection.write(() => put('b'), { waits: false });
    vi.advanceTimersByTime(1_000);
    await expect(urgent).rejects.toEqual(isFull);
    expect(faults).toEqual([]);

    stopped.abort();

    await expect(large).rejects.toEqual(isFull);
    expect(await small).toBe(1);
    expect(new Set(faults)).toEqual(new Set(['state-full']));
  });
});

it('another process with the file is waited for once in a turn', async () => {
  const { connection, put, seen, other, faults } = make();
  other.exec('BEGIN IMMEDIATE');
  const writes = ['a', 'b'].map((value) => connection.write(() => put(value)));
  for (const write of writes) await expect(write).rejects.toMatchObject({ code: 'state-in-use' });
  // Each fault is one attempt to begin a transaction, which waits for seconds.
  expect(faults).toEqual(['state-in-use']);
  other.exec('COMMIT');
  await connection.write(() => put('c'));
  expect(seen()).toEqual(['c']);
});

it('only a durable write waits for the disk, also when that fails', async () => {
  const { connection, db, failHalfway } = make();
  const level = () => db.prepare('PRAGMA synchronous').get()?.synchronous;
  expect(await connection.write(level, { durable: true })).toBe(2);
  expect(level()).toBe(1);
  await expect(connection.write(failHalfway, { durable: true })).rejects.toThrow('on purpose');
  expect(level()).toBe(1);
});

it('closing writes what waits and refuses what comes later', async () => {
  const { connection, put, seen } = make();
  const waiting = connection.write(() => put('a'));
  connection.close();
  expect(await waiting).toBe(1);
  expect(seen()).toEqual(['a']);
  for (const durable of [false, true])
    await expect(connection.write(() => put('b'), { durable })).rejects.toThrow(/not open|finalized/);
});

it('other errors are passed on as they are, without reporting a fault', () => {
  const { connection, db, faults } = make();
  const wrong = expect.objectContaining({ name: 'Error', errcode: 1 });
  expect(() => connection.prepare('SELECT nothing')).toThrow(wrong);
  expect(() => connection.read(() => db.prepare('SELECT nothing'))).toThrow(wrong);
  expect(faults).toEqual([]);
});
