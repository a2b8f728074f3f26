import { describe, expect, it } from 'vitest';
import { asStateError, guarded, StateError } from '../../../shared/sqlite/file/state-error.ts';

const file = '/state/bridge.db';
const sqlite = (errcode: number) =>
  Object.assign(new Error('SQL failed'), { errcode, errstr: 'what SQLite says' });

/** @see https://sqlite.org/rescode.html */
describe('an error of the state file', () => {
  it.each([
    ['PERM', 3, 'state-not-writable', 'cannot be written'],
    ['BUSY', 5, 'state-in-use', 'is locked by another process'],
    ['BUSY_SNAPSHOT', 517, 'state-in-use', 'is locked by another process'],
    ['LOCKED', 6, 'state-in-use', 'is locked by another process'],
    ['READONLY', 8, 'state-not-writable', 'cannot be written'],
    ['IOERR_WRITE', 778, 'state-not-writable', 'cannot be written'],
    ['CORRUPT', 11, 'state-damaged', 'is damaged'],
    ['FULL', 13, 'state-not-writable', 'free space on the disk'],
    ['CANTOPEN', 14, 'state-not-writable', 'cannot be written'],
    ['NOTADB', 26, 'state-damaged', 'is damaged'],
  ])('says what to do about %s (%i)', (_name, errcode, code, advice) => {
    const cause = sqlite(errcode);
    const error = asStateError(cause, file);
    expect(error).toBeInstanceOf(StateError);
    expect(error).toMatchObject({ name: 'StateError', code, cause });
    expect(String(error)).toContain(`${file} ${advice.startsWith('free') ? 'cannot' : advice}`);
    expect(String(error)).toMatch(/\(what SQLite says\)$/);
    expect(String(error)).toContain(advice);
  });

  it('of the file system is one of writing, in its own words', () => {
    const cause = Object.assign(new Error('EROFS: read-only file system'), { syscall: 'mkdir' });
    const error = asStateError(cause, file);
    expect(error).toMatchObject({ code: 'state-not-writable', cause });
    expect(String(error)).toMatch(/\(EROFS: read-only file system\)$/);
  });

  it.each([
    new StateError('state-newer', 'newer'),
    sqlite(1),
    Object.assign(sqlite(19), { syscall: 'open' }),
    new Error('another'),
    'no error',
    undefined,
  ])('stays what it is when the file is not to blame: %s', (error) => {
    expect(asStateError(error, file)).toBe(error);
  });

  it('is made of what a piece of work throws', () => {
    expect(guarded(file, () => 7)).toBe(7);
    expect(() =>
      guarded(file, () => {
        throw sqlite(11);
      }),
    ).toThrow(expect.objectContaining({ code: 'state-damaged' }));
  });
});
