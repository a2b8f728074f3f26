import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { printableLine } from '../../domain/text.ts';
import { lockFileIn, preparePrivateFile, refuseForeignFolder } from './private-folder.ts';
import { guarded, StateError } from './state-error.ts';

const runPrefix = 'run-';

/** The name under which a run takes leases and locks, by which the next run frees those of a crashed run. */
export const newRunId = (): string => `${runPrefix}${randomUUID()}`;

/**
 * Ensures that only this process runs the bridge of `dir`, until it releases the lock or ends for any reason: an open
 * transaction on `DIR/run.lock` holds a lock of the operating system.
 *
 * @param lastRun the name of the run that began last
 * @throws {StateError} `state-in-use`, with that name
 * @see https://sqlite.org/lockingv3.html
 */
export function takeRunLock(dir: string, lastRun: () => string | undefined): { release(): void } {
  const file = lockFileIn(dir);
  const lock = guarded(file, () => {
    preparePrivateFile(dir, file);
    return new DatabaseSync(file, { timeout: 0 });
  });
  try {
    guarded(file, () => lock.exec('BEGIN EXCLUSIVE'));
    return { release: () => lock.close() };
  } catch (error) {
    lock.close();
    const isTaken = error instanceof StateError && error.code === 'state-in-use';
    throw isTaken ? inUse(dir, lastRun(), error) : error;
  }
}

const maxShownChars = 200;

/** A dry run leaves no name, so the holder may also be one. */
function inUse(dir: string, name: string | undefined, cause: StateError): StateError {
  const who = name ? printableLine(name).slice(0, maxShownChars) : 'one that is just starting';
  const says = `${dir} is in use by another run: ${who}, or a dry run. Stop that run first`;
  return new StateError('state-in-use', says, { cause });
}

/**
 * Frees the leases and refresh locks of earlier runs, whose process has ended: its deliveries were only in its memory.
 * A `connect` may be running now, so only those of runs. A row that is not JSON is skipped; other code reports it.
 */
export function freeWhatWasHeld(db: Pick<DatabaseSync, 'prepare'>): void {
  for (const [kind, field] of [
    ['feed', '$.lease'],
    ['account', '$.refreshing'],
  ] as const) {
    db.prepare(
      `UPDATE rows SET etag = hex(randomblob(9)), value = json_remove(value, ?)
       WHERE kind = ? AND iif(json_valid(value), value ->> ?, NULL) LIKE ?`,
    ).run(field, kind, `${field}.holder`, `${runPrefix}%`);
  }
}

/** Whether a bridge runs on `dir` now. @throws {StateError} when another user controls the folder */
export function isRunning(dir: string): boolean {
  const file = lockFileIn(dir);
  refuseForeignFolder(dir);
  if (!existsSync(file)) return false;
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    // A shared lock does not prevent a run from starting.
    lock.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    return false;
  } catch {
    return true;
  } finally {
    lock.close();
  }
}
