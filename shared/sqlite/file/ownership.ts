import { lstatSync, realpathSync, type Stats } from 'node:fs';
import path from 'node:path';
import { StateError } from './state-error.ts';

/** SQLite's files beside a database. */
const besides = ['', '-wal', '-shm', '-journal'];
const databases = ['bridge.db', 'run.lock'];

/**
 * Refuses a state folder that somebody else has a hand in: the folder and each state file in it that is there has to be
 * the user's that this process runs as, and no symbolic link. That holds for root too: what root writes into somebody's
 * folder its owner could not open any more, and who owns the folder could lead root elsewhere. Folders above it may be links
 * (`/tmp` is one on macOS). On Windows, where files have no user ID, links alone are refused.
 *
 * @throws {StateError} `state-unsafe`, saying what to do
 */
export function refuseForeignFolder(dir: string): void {
  // Without a slash at its end, which would follow a link.
  const folder = path.resolve(dir);
  const found = statOf(folder);
  if (found?.isSymbolicLink()) {
    throw unsafe(
      `${folder} is a symbolic link, which may be led elsewhere. Give the folder itself: --local ${realPathOf(folder)}`,
    );
  }
  refuseForeignOwner(folder, found, folder);
  for (const name of databases) for (const end of besides) refuseForeignFile(folder, `${name}${end}`);
}

function refuseForeignFile(folder: string, name: string): void {
  const file = path.join(folder, name);
  const found = statOf(file);
  if (found?.isSymbolicLink()) {
    throw unsafe(
      `${file} is a symbolic link, which may be led elsewhere. Put the file itself in its place, or choose another folder`,
    );
  }
  // A folder in its place is refused by whoever opens it.
  if (found && !found.isFile() && !found.isDirectory()) {
    throw unsafe(`${file} is not a file. Remove it, or choose another folder`);
  }
  refuseForeignOwner(file, found, folder);
}

function refuseForeignOwner(place: string, found: Stats | undefined, folder: string): void {
  const user = process.geteuid?.();
  if (user === undefined || found === undefined || found.uid === user) return;
  throw unsafe(
    `${place} belongs to another user (user ID ${found.uid}; this runs as ${user}${user === 0 ? ', root' : ''}). ` +
      `Run it as that user, or make the folder this one's, if nobody else can have put anything into it: chown -R ${user} ${folder}`,
  );
}

const unsafe = (message: string): StateError => new StateError('state-unsafe', message);

/** Not there, or not to be looked at: opening it says so in its own words. */
function statOf(place: string): Stats | undefined {
  try {
    return lstatSync(place, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function realPathOf(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return 'DIR';
  }
}
