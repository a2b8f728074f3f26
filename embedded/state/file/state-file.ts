import { accessSync, constants, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { unsafe } from './open-path.ts';
import { identityOf, preparePrivateFile, refuseForeignFolder, stateFileIn } from './private-folder.ts';
import { applicationId, latestVersion, migrate, refusedVersion, versionOf } from './schema.ts';
import { guarded, isBusy, StateError, type StateErrorCode } from './state-error.ts';

/** How long a statement waits for another process; each transaction takes milliseconds. */
export const busyTimeoutMs = 5_000;

/** After so many pages of 4 KiB, SQLite copies its log into the file. Large, because each copy waits for the disk. */
const checkpointPages = 4_000;
const cacheKib = 8_192;

/** A commit survives a crash of the process; connection.ts says what a power cut may lose. */
const settings = `
  PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=${checkpointPages};
  PRAGMA cache_size=-${cacheKib}; PRAGMA journal_size_limit=${2 * checkpointPages * 4096};
  -- Overwrites deleted tokens with zeros if that costs no additional write.
  PRAGMA secure_delete=FAST;`;

/**
 * Opens the state file of an embedded bridge, and creates it if it does not exist. The checks do not depend on the size
 * of the file: damage within it shows when that part is read.
 *
 * @throws {StateError} nothing is overwritten then
 */
export function openStateFile(dir: string): DatabaseSync {
  const file = stateFileIn(dir);
  return guarded(file, () => {
    preparePrivateFile(dir, file);
    // Otherwise SQLite would open a read-only file and fail only at the first write.
    accessSync(file, constants.R_OK | constants.W_OK);
    const before = identityOf(dir);
    const db = new DatabaseSync(file, { timeout: busyTimeoutMs, defensive: true });
    return closedUnless(db, () => {
      refuseForeignFolder(dir);
      if (identityOf(dir) !== before)
        throw unsafe(
          `${dir} was replaced while it was being opened`,
          'Find out by whom before you run this again',
        );
      checkIsOurs(db, file);
      useWriteAheadLog(db);
      db.exec(settings);
      migrate(db);
    });
  });
}

/**
 * The same for reading, without changing any byte of the folder, including SQLite's companion files. If the index of the
 * log (`-shm`) exists, another process has the file open or has crashed with it open; then the log is read too.
 *
 * @throws {StateError} `state-outdated` if only a writing process could read the file
 * @see https://sqlite.org/wal.html#read_only_databases
 */
export function openStateFileToRead(dir: string): DatabaseSync {
  const file = stateFileIn(dir);
  return guarded(file, () => {
    refuseForeignFolder(dir);
    const sizeOf = (place: string) => statSync(place, { throwIfNoEntry: false })?.size;
    const isOpen = sizeOf(`${file}-shm`) !== undefined;
    if (!isOpen && (sizeOf(`${file}-wal`) ?? 0) > 0)
      throw outdated(file, 'what is in its log is not in it yet');
    const url = pathToFileURL(file);
    url.search = isOpen ? 'readonly_shm=1' : 'immutable=1';
    const db = new DatabaseSync(url, { readOnly: true, timeout: busyTimeoutMs, defensive: true });
    return closedUnless(db, () => {
      checkIsOurs(db, file);
      if (versionOf(db) < latestVersion) throw outdated(file, 'an earlier Advert Bridge wrote it');
    });
  });
}

const outdated = (file: string, why: string): StateError =>
  new StateError('state-outdated', `${file} has to be brought up to date: ${why}`, {
    mend: 'The next command that may write to the folder does that, such as status',
  });

/** Closes the file if `prepare` throws. */
function closedUnless(db: DatabaseSync, prepare: () => void): DatabaseSync {
  try {
    db.exec('PRAGMA trusted_schema=OFF');
    prepare();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function checkIsOurs(db: DatabaseSync, file: string): void {
  // One statement for a consistent view, because another process may be creating the tables.
  const { id, version, tables } = db
    .prepare(
      `SELECT application_id AS id, user_version AS version, (SELECT count(*) FROM sqlite_schema) AS tables
       FROM pragma_application_id, pragma_user_version`,
    )
    .get() as Record<'id' | 'version' | 'tables', number>;
  const refuse = (code: StateErrorCode, says: string, mend: string) => {
    throw new StateError(code, `${file} ${says}`, { mend });
  };
  if (tables === 0 && version === 0) return;
  if (id !== applicationId)
    refuse('state-damaged', 'is not the state of an Advert Bridge', 'Choose another folder');
  if (version <= refusedVersion)
    refuse(
      'state-older',
      'was written by Advert Bridge 0.1 or 0.2, whose state this version cannot read',
      'Choose another folder and connect the partner accounts again',
    );
  if (version > latestVersion)
    refuse(
      'state-newer',
      `was written by a newer Advert Bridge (its version is ${version}, this one knows ${latestVersion})`,
      'Use the newer one',
    );
}

const maxWalAttempts = 50;
const walRetryMs = 20;

/** Retried, because two processes may be creating the file at once, and SQLite's busy timeout does not apply here. */
function useWriteAheadLog(db: DatabaseSync): void {
  for (let attempt = 1; ; attempt += 1) {
    try {
      db.exec('PRAGMA journal_mode=WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || attempt === maxWalAttempts) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, walRetryMs);
    }
  }
}
