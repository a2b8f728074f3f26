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

const documentName = 'run';
const runPrefix = 'run-';

/**
 * The name under which a run takes leases and locks. The next run recognizes those of a crashed run by it and frees
 * them.
 */
export const newRunId = (): string => `${runPrefix}${randomUUID()}`;

/**
 * Ensures that only this process runs the bridge of `dir`, until it releases the lock or ends for any reason. An open
 * transaction on `DIR/run.lock` holds a lock of the operating system.
 *
 * Everything that an earlier run held is free at once: messages, leases of feeds, refresh locks.
 *
 * @param info describes the holder; a dry run does not write it
 *
 * @throws {StateError} `state-in-use`, with the run that holds the lock
 * @see https://sqlite.org/lockingv3.html
 */
export function takeRunLock(dir: string, info: RunInfo | 'dry-run'): { release(): void } {
  const lock = lockFile(dir);
  if (info === 'dry-run') return { release: () => lock.close() };
  try {
    const db = openStateFile(dir);
    try {
      guarded(stateFileIn(dir), () => {
        db.exec('BEGIN IMMEDIATE');
        freeWhatWasHeld(db);
        const holder = JSON.stringify({ ...info, pid: process.pid } satisfies Holder);
        db.prepare('INSERT OR REPLACE INTO documents (name, text) VALUES (?, ?)').run(documentName, holder);
        db.exec('COMMIT');
      });
    } finally {
      db.close();
    }
  } catch (error) {
    lock.close();
    throw error;
  }
  return { release: () => lock.close() };
}

function lockFile(dir: string): DatabaseSync {
  const file = lockFileIn(dir);
  const lock = guarded(file, () => {
    preparePrivateFile(dir, file);
    return new DatabaseSync(file, { timeout: 0 });
  });
  try {
    guarded(file, () => lock.exec('BEGIN EXCLUSIVE'));
    return lock;
  } catch (error) {
    lock.close();
    throw error instanceof StateError && error.code === 'state-in-use' ? inUse(dir, error) : error;
  }
}

/**
 * Frees leases and locks of a crashed run. Its messages need no action, because their deliveries were only in its
 * memory.
 */
export function freeWhatWasHeld(db: DatabaseSync): void {
  // Only those of runs are freed, because a `connect` may be running now. A row that is not JSON is skipped; other code
  // reports it.
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

interface Holder extends RunInfo {
  readonly pid: number;
}

function inUse(dir: string, cause: StateError): StateError {
  const db = openStateFile(dir);
  const row = guarded(stateFileIn(dir), () =>
    db.prepare('SELECT text FROM documents WHERE name = ?').get(documentName),
  ) as { text: string } | undefined;
  db.close();
  const who = row ? shownHolder(row.text) : 'it is just starting, or a dry run';
  return new StateError('state-in-use', `${dir} is in use by another run: ${who}. Stop that run first`, {
    cause,
  });
}

const maxShownChars = 200;

/** Written by another process, possibly of another version, so it may have any contents. */
function shownHolder(text: string): string {
  try {
    const { pid, startedAt, command } = JSON.parse(text) as Holder;
    const words = `pid ${pid} since ${startedAt} (${command})`;
    const shown = printableLine(words.length > maxShownChars ? `${words.slice(0, maxShownChars)}…)` : words);
    // A dry run writes nothing, so the stored info belongs to an earlier run.
    return isGone(pid) ? `${shown}, or a dry run` : shown;
  } catch {
    return 'it did not say who it is';
  }
}

/** A process in another container is not visible either. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/**
 * Whether a bridge runs on `dir` now.
 *
 * @throws {StateError} when another user controls the folder (private-folder.ts)
 */
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
