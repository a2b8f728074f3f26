import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, vi } from 'vitest';
import { createConnection } from '../../../shared/sqlite/file/connection.ts';
import type { StateError } from '../../../shared/sqlite/file/state-error.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();

function make(onFault?: (fault: StateError) => void) {
  const file = path.join(folder(), 'test.db');
  const open = () => new DatabaseSync(file, { timeout: 0 });
  const db = open();
  db.exec('PRAGMA journal_mode=WAL; CREATE TABLE rows (value TEXT) STRICT;');
  const other = open();
  const insert = db.prepare('INSERT INTO rows VALUES (?)');
  return {
    db,
    other,
    connection: createConnection(db, file, onFault),
    put: (value: string) => insert.run(value).changes,
    /** The state as another process sees it. */
    seen: () =>
      other
        .prepare('SELECT value FROM rows')
        .all()
        .map(({ value }) => value),
  };
}

describe('the connection', () => {
  it('commits together what is asked for in one turn, and resolves after that', async () => {
    const { connection, put, seen, db } = make();
    const writes = ['a', 'b', 'c'].map((value) =>
      connection
        .write(() => {
          expect(db.isTransaction).toBe(true);
          expect(seen()).toEqual([]);
          return put(value);
        })
        .then((changes) => [changes, seen()]),
    );
    expect(seen()).toEqual([]);
    const all = ['a', 'b', 'c'];
    expect(await Promise.all(writes)).toEqual(all.map(() => [1, all]));
  });

  it('leaves no transaction open between turns', async () => {
    const { connection, put, db } = make();
    await connection.write(() => put('a'));
    expect(db.isTransaction).toBe(false);
  });

  it('undoes a change that fails, and it alone', async () => {
    const { connection, put, seen } = make();
    const first = connection.write(() => put('a'));
    const failing = connection.write(() => {
      put('half');
      throw new Error('on purpose');
    });
    const last = connection.write(() => put('b'));
    await expect(failing).rejects.toThrow('on purpose');
    expect(await Promise.all([first, last])).toEqual([1, 1]);
    expect(seen()).toEqual(['a', 'b']);
  });

  it('says that the disk is full, undoes what did not fit, and goes on when there is room', async () => {
    const { connection, put, seen, db } = make();
    db.exec('PRAGMA max_page_count = 4');
    const large = connection.write(() => put('x'.repeat(50_000)));
    const small = connection.write(() => put('a'));
    await expect(large).rejects.toMatchObject({ name: 'StateError', code: 'state-not-writable' });
    await expect(large).rejects.toThrow(/test\.db cannot be written.*free space/);
    expect(await small).toBe(1);
    db.exec('PRAGMA max_page_count = 1000');
    await connection.write(() => put('b'));
    expect(seen()).toEqual(['a', 'b']);
  });

  it('says that another process has the file, and waits for it once', async () => {
    // Each fault is one attempt to begin a transaction, which waits for seconds: one for all changes of a turn.
    const onFault = vi.fn();
    const { connection, put, seen, other } = make(onFault);
    other.exec('BEGIN IMMEDIATE');
    const writes = await Promise.allSettled([
      connection.write(() => put('a')),
      connection.write(() => put('b')),
    ]);
    expect(onFault).toHaveBeenCalledTimes(1);
    const inUse = expect.objectContaining({ code: 'state-in-use' });
    expect(writes).toEqual([inUse, inUse].map((reason) => ({ status: 'rejected', reason })));
    other.exec('COMMIT');
    await connection.write(() => put('c'));
    expect(seen()).toEqual(['c']);
  });

  it('goes back to not waiting for the disk after a durable write, also when that fails', async () => {
    const { connection, put, db } = make();
    const level = () => db.prepare('PRAGMA synchronous').get();
    db.exec('PRAGMA synchronous=NORMAL');
    await connection.write(() => put('a'), { durable: true });
    expect(level()).toEqual({ synchronous: 1 });
    const durableWithin = connection.write(() => level(), { durable: true });
    expect(await durableWithin).toEqual({ synchronous: 2 });
    const failing = connection.write(
      () => {
        throw new Error('on purpose');
      },
      { durable: true },
    );
    await expect(failing).rejects.toThrow('on purpose');
    expect(level()).toEqual({ synchronous: 1 });
  });

  it('writes what waits before it closes, and refuses what comes later', async () => {
    const { connection, put, seen } = make();
    const waiting = connection.write(() => put('a'));
    connection.close();
    expect(await waiting).toBe(1);
    expect(seen()).toEqual(['a']);
    await expect(connection.write(() => put('b'))).rejects.toThrow(/not open|finalized/);
    await expect(connection.write(() => put('b'), { durable: true })).rejects.toThrow(/not open|finalized/);
  });

  it('passes other errors on as they are', () => {
    const { connection } = make();
    expect(() => connection.prepare('SELECT nothing')).toThrow(
      expect.objectContaining({ name: 'Error', errcode: 1 }),
    );
  });

  it('tells of each fault of the file, and of nothing else', async () => {
    const faults: string[] = [];
    const { connection, put, other, db } = make(({ code }) => faults.push(code));
    const failing = connection.write(() => {
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    expect(() => connection.read(() => db.prepare('SELECT nothing'))).toThrow('nothing');
    expect(faults).toEqual([]);
    other.exec('BEGIN IMMEDIATE');
    await expect(connection.write(() => put('a'))).rejects.toMatchObject({ code: 'state-in-use' });
    other.exec('COMMIT');
    expect(faults).toEqual(['state-in-use']);
  });
});
