/** Who else could put something in place of an embedded bridge's folder, or into it. */
import { lstatSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import path from 'node:path';
import { StateError } from './state-error.ts';

export const unsafe = (says: string, mend: string): StateError =>
  new StateError('state-unsafe', says, { mend });

/** Undefined also where opening will report the error. */
function found<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
export const statOf = (place: string): Stats | undefined =>
  found(() => lstatSync(place, { throwIfNoEntry: false }));
export const realPathOf = (folder: string): string => found(() => realpathSync(folder)) ?? folder;

/** Names the folder of a volume, such as one of Kubernetes, as one that everybody who may write into it may share. */
const volumeKey = 'ADVERT_BRIDGE_VOLUME';
export const onVolumes = 'On a volume of a container: docs/operate/service.md#kubernetes';

/** The named volume, if it contains `place`. */
function volumeOf(place: string): string | undefined {
  const named = process.env[volumeKey];
  if (!named) return undefined;
  const volume = realPathOf(named);
  return path.isAbsolute(named) && `${realPathOf(place)}/`.startsWith(`${volume}/`) ? volume : undefined;
}

/**
 * The bits of a mode that concern other users. On a named volume, these are not its group's: Kubernetes gives files and
 * folders to the `fsGroup` with each mount.
 */
export function othersIn(place: string, { gid }: Stats): number {
  const volume = volumeOf(place);
  return volume !== undefined && statOf(volume)?.gid === gid ? 0o007 : 0o077;
}

const sticky = 0o1000;
/** The bits by which others write. The group of that number is the user's own, where each user has one. */
const writersOf = ({ gid, uid }: Stats): number => (gid === uid ? 0o002 : 0o022);
/** Linux follows as many. */
const maxLinks = 40;

/**
 * Refuses a folder that others could replace, or whose files they could: as OpenSSH requires for a key, each folder above
 * it, and each link that leads to it, must belong to this user or to root, and nobody else may write there. A sticky
 * folder above, as `/tmp`, or a named volume may have other writers, who cannot make a folder of this user.
 *
 * @throws {StateError} `state-unsafe`, with what to do
 */
export function refuseOpenPath(folder: string): void {
  // On Windows, files have no user ID.
  if (process.geteuid?.() === undefined) return;
  const { root } = path.parse(folder);
  refuseOpenAbove(root);
  follow(root, namesIn(path.dirname(folder)), 0);
  const stat = statOf(folder);
  if (stat?.isDirectory() && (stat.mode & writersOf(stat) & othersIn(folder, stat)) !== 0)
    throw unsafe(
      `${folder} can be written by others, who could replace the files in it`,
      `Choose a folder of its own below it, or: chmod go-w ${folder}`,
    );
}

const namesIn = (place: string): string[] => place.split(path.sep).filter((name) => name !== '');

/** @param names what follows `place`, which has no link in it */
function follow(place: string, names: readonly string[], links: number): void {
  const [name, ...rest] = names;
  if (name === undefined) return;
  const next = path.join(place, name);
  const stat = statOf(next);
  // What does not exist yet will be this user's.
  if (!stat) return;
  if (!stat.isSymbolicLink()) {
    refuseOpenAbove(next);
    follow(next, rest, links);
    return;
  }
  refuseOthers(next, stat, 'a link on the way to the folder of the bridge,');
  const target = readlinkSync(next);
  const from = path.isAbsolute(target) ? path.parse(target).root : place;
  if (links < maxLinks) follow(from, [...namesIn(target), ...rest], links + 1);
}

const risk = 'who could put another folder in its place';
const mend = 'Choose a folder elsewhere';

function refuseOthers(place: string, { uid }: Stats, what: string): void {
  if (uid !== process.geteuid?.() && uid !== 0)
    throw unsafe(`${place}, ${what} belongs to another user (user ID ${uid}), ${risk}`, mend);
}

function refuseOpenAbove(place: string): void {
  const stat = statOf(place);
  if (!stat) return;
  const what = 'above the folder of the bridge,';
  refuseOthers(place, stat, what);
  if ((stat.mode & writersOf(stat)) !== 0 && (stat.mode & sticky) === 0 && volumeOf(place) === undefined)
    throw unsafe(
      `${place}, ${what} can be written by others, ${risk}`,
      `${mend}, or: chmod go-w ${place}. ${onVolumes}`,
    );
}
