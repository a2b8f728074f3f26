/** The folder of an embedded bridge, which holds tokens: only its owner may read or control the files in it. */
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { StateError } from './state-error.ts';

/** A database file and its companion files. */
const withEndings = (file: string) => ['', '-wal', '-shm', '-journal'].map((ending) => file + ending);

export const stateFileIn = (dir: string): string => fileIn(dir, 'bridge.db');
export const lockFileIn = (dir: string): string => fileIn(dir, 'run.lock');
/** A file that stands for the fact that others could read the state, until the application's credentials are renewed. */
const exposedFileIn = (dir: string): string => fileIn(dir, 'was-readable');
/** See run-lock.ts. */
export const heartbeatFileIn = (dir: string): string => fileIn(dir, 'heartbeat');
/** See published-mark.ts. */
export const markFileIn = (dir: string): string => fileIn(dir, 'published.json');

/** The path as SQLite opens it too: it would take a relative path that begins with `file:` for a URI. */
function fileIn(dir: string, name: string): string {
  const file = path.join(dir, name);
  return file.startsWith('file:') ? `.${path.sep}${file}` : file;
}

export const unsafe = (message: string): StateError => new StateError('state-unsafe', message);

/** Undefined also where opening will report the error. */
function found<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
const statOf = (place: string) => found(() => lstatSync(place, { throwIfNoEntry: false }));
const realPathOf = (folder: string): string => found(() => realpathSync(folder)) ?? folder;

/**
 * Refuses a state folder that another user controls: it and its files must belong to the user of this process (root, too:
 * the owner could redirect what root writes) and be no symbolic links; and nobody else may be able to replace what is in
 * the folders above it, as OpenSSH requires for a key. On Windows, where files have no user ID, only links are refused.
 *
 * @throws {StateError} `state-unsafe`, with what to do
 */
export function refuseForeignFolder(dir: string): void {
  // Resolved, because a trailing slash would make the system follow a link.
  const folder = path.resolve(dir);
  const link = 'is a symbolic link, which somebody could point elsewhere.';
  refuseForeign(folder, folder, `${link} Give the folder itself: --local ${realPathOf(folder)}`);
  const databases = [stateFileIn(folder), lockFileIn(folder)].flatMap(withEndings);
  const others = [exposedFileIn, heartbeatFileIn, markFileIn].map((fileOf) => fileOf(folder));
  for (const file of [...databases, ...others])
    refuseForeign(file, folder, `${link} Put the file itself in its place, or choose another folder`);
  refuseOpen(realPathOf(existingAbove(folder)));
}

function existingAbove(folder: string): string {
  const parent = path.dirname(folder);
  return statOf(parent) || parent === folder ? parent : existingAbove(parent);
}

function refuseForeign(place: string, folder: string, linkFault: string): void {
  const stat = statOf(place);
  if (!stat) return;
  if (stat.isSymbolicLink()) throw unsafe(`${place} ${linkFault}`);
  // If a folder is in the place of a file, opening it fails later.
  if (!stat.isFile() && !stat.isDirectory())
    throw unsafe(`${place} is not a file. Remove it, or choose another folder`);
  const user = process.geteuid?.();
  if (user === undefined || stat.uid === user) return;
  throw unsafe(
    `${place} belongs to another user (user ID ${stat.uid}; this runs as ${user}${user === 0 ? ', root' : ''}). ` +
      `Run it as that user. Or, if nobody else can have put anything into the folder, make it yours: chown -R ${user} ${folder}`,
  );
}

const sticky = 0o1000;

/** Refuses a folder whose files, or a folder above it whose folders, others may replace. */
function refuseOpen(place: string): void {
  const [stat, user] = [statOf(place), process.geteuid?.()];
  if (!stat || user === undefined) return;
  const { uid, gid, mode } = stat;
  const says = `${place}, above the folder of the bridge,`;
  const mend = 'who could put another folder in its place. Choose a folder elsewhere';
  if (uid !== user && uid !== 0) throw unsafe(`${says} belongs to another user (user ID ${uid}), ${mend}`);
  // The group of that number is the user's own, where each user has one.
  if ((mode & (gid === uid ? 0o002 : 0o022)) !== 0 && (mode & sticky) === 0)
    throw unsafe(`${says} can be written by others, ${mend}, or: chmod go-w ${place}`);
  if (path.dirname(place) !== place) refuseOpen(path.dirname(place));
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
    throw new StateError('state-not-writable', `${dir} is a file, expected a folder. Name another one`);
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
      if ((stat.mode & 0o044) !== 0) closeSync(openSync(exposedFileIn(path.dirname(file)), 'a', 0o600));
      chmodSync(place, 0o600);
    }
  }
}

/** For when the credentials that others could have read were replaced. */
export const forgetExposure = (dir: string): void => rmSync(exposedFileIn(dir), { force: true });

/** Changes when another folder, or another file of these, is put in its place. Default: the state file. */
export const identityOf = (dir: string, files: readonly string[] = [stateFileIn(dir)]): string =>
  JSON.stringify([path.resolve(dir), ...files].map(statOf).map((stat) => [stat?.dev, stat?.ino]));

/** What other users may do with the state in a folder. Call it before the state is opened, which makes the file private. */
export function exposureOf(dir: string): { readonly says: string; readonly mend: string } | undefined {
  const folder = statOf(dir);
  // On Windows, file modes give no protection.
  if (process.platform === 'win32' || !folder?.isDirectory()) return undefined;
  const others = 'other users of this machine';
  const file = stateFileIn(dir);
  const open = [file, `${file}-wal`].find((place) => ((statOf(place)?.mode ?? 0) & 0o044) !== 0);
  if (open !== undefined) {
    return {
      says: `${others} can read ${open}, which contains the tokens`,
      mend: `\`chmod 600 ${open}\`. If somebody may have read it, have the client secret replaced and connect each partner account again`,
    };
  }
  if (statOf(exposedFileIn(dir))) {
    return {
      says: `${others} could read the tokens in ${dir} until a command prevented it`,
      mend: 'Have the client secret replaced, and store the new one: `application`. Then connect each partner account again',
    };
  }
  if ((folder.mode & 0o022) === 0) return undefined;
  const says = `${others} can replace the files in ${dir}, which contain the tokens`;
  return { says, mend: `\`chmod 700 ${dir}\`` };
}
