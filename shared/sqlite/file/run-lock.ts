import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { printableLine } from '../../domain/text.ts';
import { lockFileIn, preparePrivateFile, refuseForeignFolder, stateFileIn } from './private-folder.ts';
import { guarded, StateError } from './state-error.ts';
import { openStateFile } from './state-file.ts';

export interface RunInfo {
  /** The command line, shown to a person who starts a second run. */
  readonly command: string;
  readonly startedAt: string;
}

const runPrefix = 'run-';

/** The name under which a run takes leases and locks, by which the next run frees those of a crashed run. */
export const newRunId = (): string => `${runPrefix}${randomUUID()}`;

/**
 * Ensures that only this process runs the bridge of `dir`, until it releases the lock or ends for any reason: an open
 * transaction on `DIR/run.lock` holds a lock of the operating system. Frees what an earlier run held.
 *
 * @param info describes the holder; a dry run does not write it
 * @throws {StateError} `state-in-use`, with the run that holds the lock
 * @see https://sqlite.org/lockingv3.html
 */
export function takeRunLock(dir: string, info: RunInfo | 'dry-run'): { release(): void } {
  const file = lockFileIn(dir);
  const lock = guarded(file, () => {
    preparePrivateFile(dir, file);
    return new DatabaseSync(file, { timeout: 0 });
  });
  try {
    guarded(file, () => lock.exec('BEGIN EXCLUSIVE'));
    if (info !== 'dry-run') beginRun(dir, `pid ${process.pid} since ${info.startedAt} (${info.command})`);
    return { release: () => lock.close() };
  } catch (error) {
    const isTaken = !lock.isTransaction && error instanceof StateError && error.code === 'state-in-use';
    lock.close();
    throw isTaken ? inUse(dir, error) : error;
  }
}

function inState<T>(dir: string, work: (db: DatabaseSync) => T): T {
  const db = openStateFile(dir);
  try {
    return guarded(stateFileIn(dir), () => work(db));
  } finally {
    db.close();
  }
}

const beginRun = (dir: string, holder: string): void =>
  inState(dir, (db) => {
    db.exec('BEGIN IMMEDIATE');
    freeWhatWasHeld(db);
    const insert = "INSERT OR REPLACE INTO rows (kind, name, etag, value) VALUES ('document', 'run', '', ?)";
    db.prepare(insert).run(holder);
    db.exec('COMMIT');
  });

/**
 * Frees the leases and refresh locks of earlier runs, whose process has ended: its deliveries were only in its memory.
 * A `connect` may be running now, so only those of runs. A row that is not JSON is skipped; other code reports it.
 */
export function freeWhatWasHeld(db: DatabaseSync): void {
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

const maxShownChars = 200;

/** A dry run leaves no name, so the holder may also be one. */
function inUse(dir: string, cause: unknown): StateError {
  const select = "SELECT value FROM rows WHERE kind = 'document' AND name = 'run'";
  const { value } = inState(dir, (db) => db.prepare(select).get()) ?? {};
  const who = value ? printableLine(String(value)).slice(0, maxShownChars) : 'one that is just starting';
  const says = `${dir} is in use by another run: ${who}, or a dry run. Stop that run first`;
  return new StateError('state-in-use', says, { cause });
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
