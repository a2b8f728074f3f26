import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { PartnerAccount } from '../../domain/partner-account.ts';
import { printableLine } from '../../domain/text/printable.ts';
import { refuseForeignFolder } from './ownership.ts';
import { preparePrivateFile } from './private-file.ts';
import { guarded, StateError } from './state-error.ts';
import { openStateFile, stateFileIn } from './state-file.ts';

export interface RunInfo {
  /** The command line, to be shown to whoever wants to run a second one. */
  readonly command: string;
  readonly startedAt: string;
}

export interface RunLock {
  /** Under this name the run takes feed leases and refresh locks: those of a dead run are known by it. */
  readonly holder: string;
  release(): void;
}

const documentName = 'run';
const holderPrefix = 'run-';

/**
 * Makes this process the only one that runs the bridge of `dir`, until it releases the lock or dies, however it dies:
 * the lock is one of the operating system's on `DIR/run.lock`, held by an open transaction.
 *
 * What an earlier run had in hand is free at once: messages, leases of feeds, refresh locks.
 *
 * @throws {StateError} `state-in-use`, naming the run that has it
 * @see https://sqlite.org/lockingv3.html
 */
export function takeRunLock(dir: string, info: RunInfo): RunLock {
  const lock = lockFile(dir);
  try {
    const db = openStateFile(dir);
    try {
      guarded(stateFileIn(dir), () => {
        db.exec('BEGIN IMMEDIATE');
        freeWhatWasHeld(db);
        writeHolder(db, { ...info, pid: process.pid });
        db.exec('COMMIT');
      });
    } finally {
      db.close();
    }
  } catch (error) {
    lock.close();
    throw error;
  }
  return { holder: `${holderPrefix}${randomUUID()}`, release: () => lock.close() };
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

/** What a dead run left in hand in the file. Messages that it had in hand are free with its death. */
function freeWhatWasHeld(db: DatabaseSync): void {
  db.exec('UPDATE feeds SET holder = NULL, leased_until = NULL WHERE holder IS NOT NULL');
  const rows = db.prepare('SELECT account FROM partner_accounts').all() as { account: string }[];
  const update = db.prepare('UPDATE partner_accounts SET version = version + 1, account = ? WHERE name = ?');
  for (const row of rows) {
    const { refreshing, ...account } = JSON.parse(row.account) as PartnerAccount;
    // A `connect` may be refreshing right now: only runs hold under this prefix.
    if (refreshing?.holder.startsWith(holderPrefix)) update.run(JSON.stringify(account), account.name);
  }
}

interface Holder extends RunInfo {
  readonly pid: number;
}

function writeHolder(db: DatabaseSync, holder: Holder): void {
  db.prepare('INSERT OR REPLACE INTO documents (name, text) VALUES (?, ?)').run(
    documentName,
    JSON.stringify(holder),
  );
}

function inUse(dir: string, cause: StateError): StateError {
  const db = openStateFile(dir);
  const row = guarded(stateFileIn(dir), () =>
    db.prepare('SELECT text FROM documents WHERE name = ?').get(documentName),
  ) as { text: string } | undefined;
  db.close();
  const who = row ? shownHolder(row.text) : 'one that is just starting';
  return new StateError('state-in-use', `${dir} is in use by another run: ${who}. Stop that one first`, {
    cause,
  });
}

/** How much of a holder's own words is shown. */
const maxShownChars = 200;

/** The words of another process, which may be of another version, or damaged. */
function shownHolder(text: string): string {
  try {
    const { pid, startedAt, command } = JSON.parse(text) as Holder;
    const words = `pid ${pid} since ${startedAt} (${command})`;
    return printableLine(words.length > maxShownChars ? `${words.slice(0, maxShownChars)}…)` : words);
  } catch {
    return 'one that did not say who it is';
  }
}

/**
 * Whether a bridge runs on `dir` now.
 *
 * @throws {StateError} when somebody else has a hand in the folder
 */
export function isRunning(dir: string): boolean {
  const file = path.join(dir, 'run.lock');
  refuseForeignFolder(dir);
  if (!existsSync(file)) return false;
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    // Shared, so that it is in nobody's way.
    lock.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    return false;
  } catch {
    return true;
  } finally {
    lock.close();
  }
}
