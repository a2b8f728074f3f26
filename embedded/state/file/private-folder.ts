/** The folder of an embedded bridge, which holds tokens: only its owner may read or control the files in it. */
import { accessSync, chmodSync, closeSync, constants, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { onVolumes, othersIn, realPathOf, refuseOpenPath, statOf, unsafe } from './open-path.ts';
import { StateError } from './state-error.ts';

/** A database file and its companion files. */
const withEndings = (file: string) => ['', '-wal', '-shm', '-journal'].map((ending) => file + ending);

export const stateFileIn = (dir: string): string => fileIn(dir, 'bridge.db');
export const lockFileIn = (dir: string): string => fileIn(dir, 'run.lock');
/** A file that stands for the fact that others could read the state, until the application's credentials are renewed. */
const exposedFileIn = (dir: string): string => fileIn(dir, 'was-readable');
export const heartbeatFileIn = (dir: string): string => fileIn(dir, 'heartbeat');
export const markFileIn = (dir: string): string => fileIn(dir, 'published.json');

export const reserveFileIn = (dir: string): string => fileIn(dir, 'reserved');

/** The path as SQLite opens it too: it would take a relative path that begins with `file:` for a URI. */
function fileIn(dir: string, name: string): string {
  const file = path.join(dir, name);
  return file.startsWith('file:') ? `.${path.sep}${file}` : file;
}

/**
 * Refuses a state folder that another user controls: it and its files must belong to the user of this process (root, too:
 * the owner could redirect what root writes) and be no symbolic links; and nobody else may be able to put others in their
 * place. On Windows, where files have no user ID, only links are refused.
 *
 * @throws {StateError} `state-unsafe`, with what to do
 */
export function refuseForeignFolder(dir: string): void {
  // Resolved, because a trailing slash would make the system follow a link.
  const folder = path.resolve(dir);
  refuseForeign(folder, folder, `Give the folder itself: --local ${realPathOf(folder)}`);
  const databases = [stateFileIn(folder), lockFileIn(folder)].flatMap(withEndings);
  const others = [exposedFileIn, heartbeatFileIn, markFileIn, reserveFileIn].map((fileOf) => fileOf(folder));
  for (const file of [...databases, ...others])
    refuseForeign(file, folder, 'Put the file itself in its place, or choose another folder');
  refuseOpenPath(folder);
}

function refuseForeign(place: string, folder: string, mendLink: string): void {
  const stat = statOf(place);
  if (!stat) return;
  if (stat.isSymbolicLink())
    throw unsafe(`${place} is a symbolic link, which somebody could point elsewhere`, mendLink);
  // If a folder is in the place of a file, opening it fails later.
  if (!stat.isFile() && !stat.isDirectory())
    throw unsafe(`${place} is not a file`, 'Remove it, or choose another folder');
  const user = process.geteuid?.();
  if (user === undefined || stat.uid === user) return;
  throw unsafe(
    `${place} belongs to another user (user ID ${stat.uid}; this runs as ${user}${user === 0 ? ', root' : ''})`,
    `Run it as that user. Or, if nobody else can have put anything into the folder, make it yours: chown -R ${user} ${folder}. ${onVolumes}`,
  );
}

/** Creates `file` and its folder `dir`, accessible only to their owner. @throws {StateError} see refuseForeignFolder */
export function preparePrivateFile(dir: string, file: string): void {
  refuseForeignFolder(dir);
  makeFolder(dir);
  // Check again, because another user may have created it in between.
  refuseForeignFolder(dir);
  makePrivate(file);
}

/** Not by `recursive`, with which Node never returns if the system denies that the parent exists, as in `/proc`. */
function makeFolder(dir: string): void {
  const stat = statSync(dir, { throwIfNoEntry: false });
  if (stat?.isDirectory()) return;
  if (stat)
    throw new StateError('state-not-writable', `${dir} is a file, expected a folder`, {
      mend: 'Name another one',
    });
  makeFolder(path.dirname(dir));
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * Makes `file` accessible only to its owner; SQLite gives its companion files the same mode. An existing file is not
 * opened, because closing it would release the locks of this process on it (https://sqlite.org/howtocorrupt.html).
 */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    for (const place of withEndings(file)) {
      const stat = statOf(place);
      if (!stat?.isFile() || (stat.mode & 0o077) === 0) continue;
      if (isReadable(place)) closeSync(openSync(exposedFileIn(path.dirname(file)), 'a', 0o600));
      chmodSync(place, 0o600);
    }
  }
}

function isReadable(file: string): boolean {
  const stat = statOf(file);
  return stat !== undefined && (stat.mode & 0o044 & othersIn(file, stat)) !== 0;
}

/** Whether this user may do that with both the folder and the state file. */
export const allows = (dir: string, mode: 'R_OK' | 'W_OK'): boolean =>
  [dir, stateFileIn(dir)].every((place) => {
    try {
      accessSync(place, constants[mode]);
      return true;
    } catch {
      return false;
    }
  });

/** For when the credentials that others could have read were replaced. */
export const forgetExposure = (dir: string): void => rmSync(exposedFileIn(dir), { force: true });

/** Changes when another folder, or another file of these, is put in its place. Default: the state file. */
export const identityOf = (dir: string, files: readonly string[] = [stateFileIn(dir)]): string =>
  JSON.stringify([path.resolve(dir), ...files].map(statOf).map((stat) => [stat?.dev, stat?.ino]));

/** What other users can read of the state in a folder. Call it before the state is opened, which makes the file private. */
export function exposureOf(dir: string): { readonly says: string; readonly mend: string } | undefined {
  // On Windows, file modes give no protection.
  if (process.platform === 'win32' || !statOf(dir)?.isDirectory()) return undefined;
  const others = 'other users of this machine';
  const file = stateFileIn(dir);
  const open = [file, `${file}-wal`].find(isReadable);
  if (open !== undefined) {
    return {
      says: `${others} can read ${open}, which contains the tokens`,
      mend: `\`chmod 600 ${open}\`. If somebody may have read it, have the client secret replaced and connect each partner account again`,
    };
  }
  if (!statOf(exposedFileIn(dir))) return undefined;
  return {
    says: `${others} could read the tokens in ${dir} until a command prevented it`,
    mend: 'Have the client secret replaced, and store the new one: `application`. Then connect each partner account again',
  };
}
