import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { refuseForeignFolder } from './ownership.ts';
import { StateError } from './state-error.ts';

/**
 * Makes `file`, and the folder `dir` that it is in, where they do not exist; accessible to their owner alone.
 *
 * @throws {StateError} when another user has access to the folder (ownership.ts); nothing is touched then
 */
export function preparePrivateFile(dir: string, file: string): void {
  refuseForeignFolder(dir);
  makeFolder(dir);
  // Again, for another user may have made it in between.
  refuseForeignFolder(dir);
  makePrivate(file);
}

/**
 * Makes the folder and those above it. Not with `recursive`: Node never returns from that where the system denies that
 * the folder above exists, as in `/proc`.
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
    // Another process may have made it first.
    if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/**
 * Makes `file` accessible to its owner alone; SQLite gives the files beside it the same mode.
 *
 * An existing file is not opened for this: closing it would drop the locks that this process holds on it.
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
