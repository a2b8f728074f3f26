import { accessSync, chmodSync, closeSync, constants, mkdirSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { foreignEntry } from './foreign-schema.ts';
import { refuseForeignFolder } from './ownership.ts';
import { applicationId, migrations, schemaVersion } from './schema.ts';
import { guarded, StateError } from './state-error.ts';

/** How long a statement waits for another process; each holds the file for milliseconds. */
export const busyTimeoutMs = 5_000;

/** Pages of 4 KiB after which the write-ahead log is copied into the file: large, for each copy waits for the disk. */
const checkpointPages = 4_000;
const cacheKib = 8_192;

/** `DIR/bridge.db` */
export const stateFileIn = (dir: string): string => path.join(dir, 'bridge.db');

/**
 * Opens the state file of an embedded bridge, and makes it when it is not there.
 *
 * With a write-ahead log and `synchronous=NORMAL` a commit is a write to the operating system without waiting for the
 * disk: it survives the death of the process (kill -9), and after a power cut the file is whole but may lack the last
 * moments. What must not be lost then asks for a durable write (see store.ts).
 *
 * Checked here is what costs the same for every size: whose folder and files these are (ownership.ts), whether the file is
 * ours, its version, its length, and that it has our tables and nothing else that SQLite would run (foreign-schema.ts).
 * Damage further in shows when it is read.
 *
 * @throws {StateError} nothing is overwritten then
 * @see https://sqlite.org/wal.html
 */
export function openStateFile(dir: string): DatabaseSync {
  const file = stateFileIn(dir);
  return guarded(file, () => {
    prepareFile(dir, file);
    // SQLite would open a read-only file, and fail only with the first write.
    accessSync(file, constants.R_OK | constants.W_OK);
    const db = new DatabaseSync(file, { timeout: busyTimeoutMs, defensive: true });
    try {
      db.exec('PRAGMA trusted_schema=OFF');
      refuseForeign(db, file);
      useWriteAheadLog(db);
      db.exec(`PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=${checkpointPages};`);
      db.exec(`PRAGMA cache_size=-${cacheKib}; PRAGMA journal_size_limit=${2 * checkpointPages * 4096};`);
      // Zeroes what is deleted where that costs nothing: tokens that were replaced.
      db.exec('PRAGMA secure_delete=FAST;');
      makeTables(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/**
 * Makes `file`, and the folder `dir` that it is in, where they are not there; for their owner alone.
 *
 * @throws {StateError} when somebody else has a hand in the folder (ownership.ts); nothing is touched then
 */
export function prepareFile(dir: string, file: string): void {
  refuseForeignFolder(dir);
  makeFolder(dir);
  // Somebody else may have made it meanwhile.
  refuseForeignFolder(dir);
  makePrivate(file);
}

/** Makes the folder and those above it. Not by `recursive`, which never ends where the system denies that it is there. */
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
    // Somebody else was quicker.
    if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/**
 * Makes `file` readable for its owner alone; what SQLite puts beside it takes on its mode.
 *
 * A file that is there is never opened for this: closing it would drop the locks that this process holds on it.
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

function refuseForeign(db: DatabaseSync, file: string): void {
  // One moment for all of it: another process may be making the tables.
  db.exec('BEGIN');
  const { application_id: id } = db.prepare('PRAGMA application_id').get() as { application_id: number };
  const version = versionOf(db);
  const { tables } = db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number };
  const isEmpty = tables === 0 && version === 0;
  const isKnown = !isEmpty && id === applicationId && version <= schemaVersion;
  const foreign = isKnown ? foreignEntry(db, version) : undefined;
  db.exec('COMMIT');
  if (isEmpty) return;
  if (id !== applicationId) {
    throw new StateError(
      'state-damaged',
      `${file} is not the state of an Advert Bridge. Choose another folder`,
    );
  }
  if (version > schemaVersion) {
    throw new StateError(
      'state-newer',
      `${file} was written by a newer Advert Bridge (its version is ${version}, this one knows ${schemaVersion}). Use the newer one`,
    );
  }
  if (foreign !== undefined) {
    throw new StateError(
      'state-unsafe',
      `${file} is not as Advert Bridge made it: ${foreign}. Somebody else may have changed it to run SQL of theirs. ` +
        'Put a copy of the folder back, or move it away and connect the partner accounts again',
    );
  }
}

const versionOf = (db: DatabaseSync): number =>
  (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;

const attempts = 50;

// The change to a write-ahead log does not wait for others by itself; two processes may be making the file at once.
function useWriteAheadLog(db: DatabaseSync): void {
  for (let attempt = 1; ; attempt += 1) {
    try {
      db.exec('PRAGMA journal_mode=WAL');
      return;
    } catch (error) {
      const isBusy = ((error as { errcode?: number }).errcode ?? 0) % 256 === 5;
      if (!isBusy || attempt === attempts) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

function makeTables(db: DatabaseSync): void {
  if (versionOf(db) === schemaVersion) return;
  db.exec('BEGIN IMMEDIATE');
  // Another process may have come first.
  for (const migration of migrations.slice(versionOf(db))) db.exec(migration);
  db.exec(`PRAGMA application_id=${applicationId}; PRAGMA user_version=${schemaVersion};`);
  db.exec('COMMIT');
}
