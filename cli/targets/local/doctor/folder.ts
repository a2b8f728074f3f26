import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import path from 'node:path';
import { check, fault, ok, SkippedError, warning } from '../../../../operations/doctor.ts';
import { quoted } from '../../../../shared/domain/text/printable.ts';
import {
  exposureOf,
  refuseForeignFolder,
  stateFileIn,
} from '../../../../shared/sqlite/file/private-folder.ts';
import { applicationCommand } from '../../../shared/explain.ts';
import type { LocalTarget } from '../../../shared/target.ts';

/** Twice the size that the state file's write-ahead log may reach before it is copied into the file. */
const leastBytes = 64 * 1024 ** 2;
/** Room for a million adverts, each with its latest event. */
const enoughBytes = 1024 ** 3;

/** @param freeBytes free space for an unprivileged user on the file system of a folder */
export function folderChecks(target: LocalTarget, freeBytes = freeBytesOf) {
  const { dir } = target;
  const file = stateFileIn(dir);

  /** @throws {SkippedError} if there is nothing to check */
  const needFile = () => {
    if (!isThere(file)) throw new SkippedError('needs a bridge in the folder: see folder');
  };

  return [
    check('folder', async () => {
      if (statOf(dir)?.isDirectory() === false) {
        return fault(`${dir} is a file`, 'Name the folder of the bridge with --local');
      }
      if (!isThere(file)) {
        return fault(`there is no bridge in ${dir}`, `Begin one there: \`${applicationCommand(target)}\``);
      }
      const closed = [dir, file].find((each) => !isUsable(each));
      if (closed !== undefined) {
        return fault(
          `this user may not read and write ${closed}`,
          `\`chmod u+rwX ${quoted(dir)} ${quoted(file)}\``,
        );
      }
      return ok(`${path.resolve(dir)} holds a bridge`);
    }),
    check('owner', async () => {
      refuseForeignFolder(dir);
      needFile();
      return ok('folder and files belong to the user that this runs as');
    }),
    check('file-modes', async () => {
      needFile();
      const exposure = exposureOf(dir);
      return exposure ? fault(exposure.says, exposure.mend) : ok('only their owner may read the files');
    }),
    check('disk-space', async () => {
      needFile();
      const free = freeBytes(dir);
      const says = `${Math.round(free / 1024 ** 2)} MiB are free on the disk of ${dir}`;
      const mend = 'Free space there, or move the folder to a larger disk while no run is at work';
      if (free < leastBytes) return fault(`${says}: the bridge stops when it is full`, mend);
      return free < enoughBytes ? warning(says, mend) : ok(says);
    }),
  ];
}

const statOf = (place: string) => {
  try {
    return statSync(place, { throwIfNoEntry: false });
  } catch {
    // A file instead of a folder, or a folder without read permission.
    return undefined;
  }
};

export const isThere = (place: string): boolean => statOf(place) !== undefined;

function isUsable(place: string): boolean {
  try {
    accessSync(place, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function freeBytesOf(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}
