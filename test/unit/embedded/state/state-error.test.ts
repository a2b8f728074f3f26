import { expect, it } from 'vitest';
import { guarded } from '../../../../embedded/state/file/state-error.ts';

/** @see https://sqlite.org/rescode.html */
it.each([
  ['SQLite’s BUSY_SNAPSHOT', { errcode: 517 }, 'state-in-use', /bridge\.db is locked by another process/],
  ['SQLite’s IOERR_WRITE', { errcode: 778 }, 'state-not-writable', /bridge\.db cannot be written/],
  ['SQLite’s FULL', { errcode: 13 }, 'state-full', /bridge\.db cannot be written, because its disk is full/],
  ['SQLite’s IOERR_SHMSIZE', { errcode: 4874 }, 'state-full', /free space/],
  ['SQLite’s IOERR_LOCK', { errcode: 3850 }, 'state-not-local', /no file locks .* a local disk$/],
  ['SQLite’s IOERR_SHMMAP', { errcode: 5386 }, 'state-not-local', /no shared memory/],
  ['a write to a full disk', { syscall: 'write', code: 'ENOSPC' }, 'state-full', /free space/],
  ['SQLite’s CORRUPT_VTAB', { errcode: 267 }, 'state-damaged', /bridge\.db is damaged/],
  [
    'the file system',
    { syscall: 'mkdir' },
    'state-not-writable',
    /\(what it says\)\. Check .* free space on the disk$/,
  ],
  ['SQLite’s CONSTRAINT', { errcode: 19, syscall: 'open' }, undefined, /^what it says$/],
])('an error of %s about the state file says what to do', (_of, fields, code, message) => {
  const cause = Object.assign(new Error('what it says'), fields);
  const failing = () =>
    guarded('/state/bridge.db', () => {
      throw cause;
    });
  expect(failing).toThrow(message);
  expect(failing).toThrow(code ? expect.objectContaining({ name: 'StateError', code, cause }) : cause);
});
