import { lstatSync, realpathSync, type Stats } from 'node:fs';
import path from 'node:path';
import { StateError } from './state-error.ts';

/** Suffixes of a database file and of its companion files. */
const endings = ['', '-wal', '-shm', '-journal'];
const databases = ['bridge.db', 'run.lock'];

/**
 * Refuses a state folder that another user controls: the folder and the state files in it must belong to the user of
 * this process, and must not be symbolic links. This applies to root too: otherwise the owner of the folder could not
 * open files that root wrote there, and could redirect root with a link. Folders above it may be links (`/tmp` is one
 * on macOS). On Windows, where files have no user ID, only links are refused.
 *
 * @throws {StateError} `state-unsafe`, with what to do
 */
export function refuseForeignFolder(dir: string): void {
  // Resolved, because a trailing slash would make the system follow a link.
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
  // If this is a folder, opening it as a file fails later.
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

/** Ignores paths that cannot be inspected; opening them will report the error. */
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
