import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { printableLine } from '../../../shared/domain/text.ts';
import { heartbeatFileIn, lockFileIn, preparePrivateFile, refuseForeignFolder } from './private-folder.ts';
import { guarded, StateError } from './state-error.ts';

const runPrefix = 'run-';

/** The name under which a run takes leases and locks, by which the next run frees those of a crashed run. */
export const newRunId = (): string => `${runPrefix}${randomUUID()}`;

/** Few, because each is a write to the disk. */
const beatMs = 10_000;
/** A disk or a checkpoint keeps a run from its next beat for less than this. */
const standstillMs = 30_000;

export interface RunLock {
  /**
   * Shows others that this process is at work; to be called at least every {@link beatMs}.
   *
   * @returns a fault once another run has begun, as it can where file locks do nothing
   */
  beat(nowMs: number): StateError | undefined;
  /** How long no run has been at work, or by how much the clock is ahead: nobody can tell these apart. */
  readonly idleMs: number;
  release(): void;
}

/**
 * Ensures that only this process runs the bridge of `dir`, until it releases the lock or ends for any reason: an open
 * transaction on `DIR/run.lock` holds a lock of the operating system. `DIR/heartbeat` contains the name of the run; its
 * time is that of the latest beat.
 *
 * @param name shown to a person who starts a second run
 * @throws {StateError} `state-in-use`, with the name of the other run
 * @see https://sqlite.org/lockingv3.html
 */
export function takeRunLock(dir: string, name: string): RunLock {
  const file = lockFileIn(dir);
  const lock = guarded(file, () => {
    preparePrivateFile(dir, file);
    return new DatabaseSync(file, { timeout: 0 });
  });
  try {
    guarded(file, () => lock.exec('BEGIN EXCLUSIVE'));
    const idleMs = Math.max(0, Date.now() - (heartIn(dir)?.beatAt ?? Date.now()));
    return { idleMs, beat: startHeart(dir, name), release: () => lock.close() };
  } catch (error) {
    lock.close();
    const isTaken = error instanceof StateError && error.code === 'state-in-use';
    throw isTaken ? inUse(dir, { mend: 'Stop that run first', cause: error }) : error;
  }
}

function startHeart(dir: string, name: string): RunLock['beat'] {
  const file = heartbeatFileIn(dir);
  guarded(file, () => {
    if (existsSync(file)) unlinkSync(file);
    writeFileSync(file, name, { mode: 0o600, flag: 'wx' });
  });
  const own = heartIn(dir)?.run;
  let beatAt = Date.now();
  return (nowMs) => {
    if (Math.abs(nowMs - beatAt) < beatMs) return undefined;
    beatAt = nowMs;
    if ((heartIn(dir)?.run || own) !== own) return inUse(dir, { mend: shared });
    try {
      utimesSync(file, nowMs / 1000, nowMs / 1000);
    } catch {
      // If the file is missing, nobody takes this process for one that stands still.
    }
    return undefined;
  };
}

const shared =
  'This run ended, because file locks should have kept that one from beginning. Choose a folder on a local disk';

const maxShownChars = 200;

/** The name of the run that has the lock, or had it last, and the time of its latest beat, ms since 1970. */
function heartIn(dir: string): { readonly run: string; readonly beatAt: number } | undefined {
  const file = heartbeatFileIn(dir);
  try {
    const run = printableLine(readFileSync(file, 'utf8')).slice(0, maxShownChars);
    return { run, beatAt: statSync(file).mtimeMs };
  } catch {
    return undefined;
  }
}

function inUse(dir: string, about: { readonly mend: string } & ErrorOptions): StateError {
  const who = heartIn(dir)?.run || 'one that is just starting';
  return new StateError('state-in-use', `${dir} is in use by another run: ${who}`, about);
}

/**
 * The run that has the lock, but does not come to its work: its process was stopped, or its event loop is blocked.
 *
 * @returns its name, and the time of its last beat; undefined if there is none
 */
export function standstillIn(dir: string, nowMs: number): { run: string; since: number } | undefined {
  const heart = heartIn(dir);
  // One in the future is from before the clock was set back.
  if (!heart || Math.abs(nowMs - heart.beatAt) <= standstillMs || !isRunning(dir)) return undefined;
  return { run: heart.run, since: heart.beatAt };
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
