import { expect, it } from 'vitest';
import { asStateError, guarded, StateError } from '../../../shared/sqlite/file/state-error.ts';

const file = '/state/bridge.db';
const sqlite = (errcode: number) =>
  Object.assign(new Error('SQL failed'), { errcode, errstr: 'what SQLite says' });

/** @see https://sqlite.org/rescode.html */
it.each([
  [
    'BUSY_SNAPSHOT',
    sqlite(517),
    'state-in-use',
    /bridge\.db is locked by another process.*\(what SQLite says\)$/,
  ],
  ['IOERR_WRITE', sqlite(778), 'state-not-writable', /bridge\.db cannot be written/],
  ['CORRUPT', sqlite(11), 'state-damaged', /bridge\.db is damaged/],
  [
    'of the file system',
    Object.assign(new Error('EROFS: read-only file system'), { syscall: 'mkdir' }),
    'state-not-writable',
    /free space on the disk \(EROFS: read-only file system\)$/,
  ],
])('an error %s of the file says what to do', (_name, cause, code, message) => {
  const failing = () =>
    guarded(file, () => {
      throw cause;
    });
  expect(failing).toThrow(message);
  expect(failing).toThrow(expect.objectContaining({ name: 'StateError', code, cause }));
});

it.each([
  new StateError('state-newer', 'newer'),
  sqlite(1),
  Object.assign(sqlite(19), { syscall: 'open' }),
  new Error('another'),
  'no error',
  undefined,
])('an error stays what it is when the file is not to blame: %s', (error) => {
  expect(asStateError(error, file)).toBe(error);
});
