import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { refuseForeignFolder } from './ownership.ts';
import { StateError } from './state-error.ts';

/**
 * The path of `name` in `dir`, as SQLite opens it too: it would take a relative path that begins with `file:` for a URI,
 * and so open a file that was not checked.
 */
export function fileIn(dir: string, name: string): string {
  const file = path.join(dir, name);
  return file.startsWith('file:') ? `.${path.sep}${file}` : file;
}

/**
 * Creates `file` and its folder `dir` if they do not exist, accessible only to their owner.
 *
 * @throws {StateError} when another user controls the folder (ownership.ts); then nothing is changed
 */
export function preparePrivateFile(dir: string, file: string): void {
  refuseForeignFolder(dir);
  makeFolder(dir);
  // Check again, because another user may have created it in between.
  refuseForeignFolder(dir);
  makePrivate(file);
}

/**
 * Creates the folder and its parents. `recursive` is not used, because with it Node never returns if the system denies
 * that the parent exists, as in `/proc`.
 */
function makeFolder(dir: string): void {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (found)
    throw new StateError('state-not-writable', `${dir} is a file, expected a folder. Name another one`);
  const parent = path.dirname(dir);
  if (parent !== dir) makeFolder(parent);
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it first.
    if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/**
 * Makes `file` accessible only to its owner; SQLite gives its companion files the same mode.
 *
 * An existing file is not opened for this, because closing it would release the locks of this process on it.
 *
 * @see https://sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
 */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    for (const each of [file, `${file}-wal`, `${file}-shm`]) {
      const found = statSync(each, { throwIfNoEntry: false });
      if (found?.isFile() && (found.mode & 0o077) !== 0) chmodSync(each, 0o600);
    }
  }
}
