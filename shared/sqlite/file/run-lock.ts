import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { printableLine } from '../../domain/text/printable.ts';
import { refuseForeignFolder } from './ownership.ts';
import { preparePrivateFile } from './private-file.ts';
import { guarded, StateError } from './state-error.ts';
import { openStateFile, stateFileIn } from './state-file.ts';

export interface RunInfo {
  /** The command line, shown to a person who starts a second run. */
  readonly command: string;
  readonly startedAt: string;
}

const documentName = 'run';
const runPrefix = 'run-';

/** A name under which a run takes leases and locks: those of a run that died are recognized and freed by the next one. */
export const newRunId = (): string => `${runPrefix}${randomUUID()}`;

/**
 * Makes this process the only one that runs the bridge of `dir`, until it releases the lock or dies, however it dies: an
 * open transaction on `DIR/run.lock` holds a lock of the operating system.
 *
 * What an earlier run held is free at once: messages, leases of feeds, refresh locks.
 *
 * @param info who holds it; a dry run writes nothing, not even that
 *
 * @throws {StateError} `state-in-use`, naming the run that holds it
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
  const file = path.join(dir, 'run.lock');
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

/** Frees leases and locks of a run that died. Its messages need nothing: only its memory knew who had them. */
export function freeWhatWasHeld(db: DatabaseSync): void {
  db.exec('UPDATE feeds SET holder = NULL, leased_until = NULL WHERE holder IS NOT NULL');
  // Only locks of runs: a `connect` may be refreshing right now. A row that is not JSON is left for others to report.
  db.prepare(
    `UPDATE partner_accounts SET version = version + 1, account = json_remove(account, '$.refreshing')
     WHERE iif(json_valid(account), account ->> '$.refreshing.holder', NULL) LIKE ?`,
  ).run(`${runPrefix}%`);
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

/** Written by another process, which may be of another version; so it may have any contents. */
function shownHolder(text: string): string {
  try {
    const { pid, startedAt, command } = JSON.parse(text) as Holder;
    const words = `pid ${pid} since ${startedAt} (${command})`;
    const shown = printableLine(words.length > maxShownChars ? `${words.slice(0, maxShownChars)}…)` : words);
    // A dry run writes nothing: what is stored is of the run before it.
    return isGone(pid) ? `${shown}, or a dry run` : shown;
  } catch {
    return 'it did not say who it is';
  }
}

/** A process in another container is not seen either. */
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
 * @throws {StateError} when another user controls the folder (ownership.ts)
 */
export function isRunning(dir: string): boolean {
  const file = path.join(dir, 'run.lock');
  refuseForeignFolder(dir);
  if (!existsSync(file)) return false;
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    // A shared lock, which does not keep a run from starting.
    lock.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    return false;
  } catch {
    return true;
  } finally {
    lock.close();
  }
}
