import { lstatSync, realpathSync, type Stats } from 'node:fs';
import path from 'node:path';
import { StateError } from './state-error.ts';

/** Endings of a database's file and of those that SQLite puts beside it. */
const endings = ['', '-wal', '-shm', '-journal'];
const databases = ['bridge.db', 'run.lock'];

/**
 * Refuses a state folder that another user controls: the folder and the state files in it have to belong to the user that
 * this process runs as, and must not be symbolic links. That applies to root, too: the owner of the folder could no longer
 * open what root writes there, and could redirect root by a link. Folders above it may be links (`/tmp` is one on macOS). On
 * Windows, where files have no user ID, only links are refused.
 *
 * @throws {StateError} `state-unsafe`, saying what to do
 */
export function refuseForeignFolder(dir: string): void {
  // Resolved, for a slash at the end would make the system follow a link.
  const folder = path.resolve(dir);
  const found = statOf(folder);
  if (found?.isSymbolicLink()) {
    throw unsafe(
      `${folder} is a symbolic link, which somebody could point elsewhere. Give the folder itself: --local ${realPathOf(folder)}`,
    );
  }
  refuseForeignOwner(folder, found, folder);
  for (const name of databases) for (const ending of endings) refuseForeignFile(folder, `${name}${ending}`);
}

function refuseForeignFile(folder: string, name: string): void {
  const file = path.join(folder, name);
  const found = statOf(file);
  if (found?.isSymbolicLink()) {
    throw unsafe(
      `${file} is a symbolic link, which somebody could point elsewhere. Put the file itself in its place, or choose another folder`,
    );
  }
  // A folder of this name is refused when it is opened as a file.
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
      `Run it as that user. Or, if nobody else can have put anything into the folder, make it yours: chown -R ${user} ${folder}`,
  );
}

const unsafe = (message: string): StateError => new StateError('state-unsafe', message);

/** Without an error for what cannot be looked at: opening it will give one. */
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
