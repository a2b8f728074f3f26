/** Checks of an embedded bridge's folder, which is only read: not even SQLite's own files in it change. */
import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import path from 'node:path';
import { missingScopes } from '../../functions/refresh-token/token-pairs.ts';
import { ShapeError } from '../../shared/contract/checks.ts';
import { quoted } from '../../shared/domain/text.ts';
import { exposureOf, refuseForeignFolder, stateFileIn } from '../../shared/sqlite/file/private-folder.ts';
import { StateError } from '../../shared/sqlite/file/state-error.ts';
import { openStateFileToRead } from '../../shared/sqlite/file/state-file.ts';
import type { EmbeddedState } from '../../shared/sqlite/state.ts';
import type { Bridge } from '../bridge.ts';
import { applicationWords } from '../errors.ts';
import { type BridgeFacts, bridgeChecks, tokenPairs } from './bridge-checks.ts';
import { type Checks, fault, faultIn, judged, type Problem, SkippedError, warning } from './check.ts';

interface FolderFacts extends BridgeFacts {
  readonly dir: string;
  /** @throws {SkippedError} if it cannot be opened until another fault is fixed */
  readonly bridge: () => Promise<Bridge & { readonly state: EmbeddedState }>;
}

export const machineFacts = {
  nodeVersion: process.versions.node,
  freeBytes(dir: string): number {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize;
  },
};

/** The version with `node:sqlite` without a flag, as cli/advert-bridge.cjs requires. */
const oldestNode = [22, 13] as const;
/** Twice the size that the state file's write-ahead log may reach before it is copied into the file. */
const leastBytes = 64 * 1024 ** 2;
/** Room for a million adverts, each with its latest event. */
const enoughBytes = 1024 ** 3;

export function folderChecks(facts: FolderFacts): Checks {
  const { dir, command, baseUrl, bridge } = facts;
  const file = stateFileIn(dir);
  const { run, checks } = bridgeChecks(facts);
  const needFile = () => {
    if (!statOf(file)) throw new SkippedError('needs a bridge in the folder: see folder');
  };

  return {
    async node() {
      const { nodeVersion: version } = machineFacts;
      const [major = 0, minor = 0] = version.split('.').map(Number);
      const [oldestMajor, oldestMinor] = oldestNode;
      const isTooOld = major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
      const needed = `an embedded bridge needs Node ${oldestNode.join('.')} or later; this is ${version}`;
      // Not `npx … npx …`: an inner npx would use the package of the outer one.
      const newer = `Install a newer Node, or run the command with one: \`npx -p node@24 -- node ${quoted(process.argv[1] ?? '')} …\``;
      return judged(
        `Node ${version}`,
        isTooOld && fault(needed, newer),
        // Only even releases get security fixes for longer than half a year.
        !isTooOld && major % 2 === 1 && warning(`Node ${version} gets fixes for half a year only`, newer),
      );
    },
    async folder() {
      const isFile = statOf(dir)?.isDirectory() === false;
      const isThere = statOf(file) !== undefined;
      const closed = [dir, file].find((each) => !isUsable(each));
      const begin = `Begin one there: \`${command(applicationWords('local'))}\``;
      const open = `\`chmod u+rwX ${quoted(dir)} ${quoted(file)}\``;
      const problem = isFile
        ? fault(`${dir} is a file`, 'Name the folder of the bridge with --local')
        : isThere
          ? closed !== undefined && fault(`this user may not read and write ${closed}`, open)
          : fault(`there is no bridge in ${dir}`, begin);
      return judged(`${path.resolve(dir)} holds a bridge`, problem);
    },
    async owner() {
      refuseForeignFolder(dir);
      needFile();
      return judged('folder and files belong to the user that this runs as');
    },
    async 'file-modes'() {
      needFile();
      const exposure = exposureOf(dir);
      return judged('only their owner may read the files', exposure && fault(exposure.says, exposure.mend));
    },
    async 'disk-space'() {
      needFile();
      const free = machineFacts.freeBytes(dir);
      const says = `${Math.round(free / 1024 ** 2)} MiB are free on the disk of ${dir}`;
      const mend = 'Free space there, or move the folder to a larger disk while no run is at work';
      return judged(
        says,
        free < leastBytes
          ? fault(`${says}: the bridge stops when it is full`, mend)
          : free < enoughBytes && warning(says, mend),
      );
    },
    async 'state-file'() {
      needFile();
      try {
        refuseForeignFolder(dir);
      } catch (cause) {
        throw new SkippedError('needs a folder that nobody else controls: see owner', { cause });
      }
      return judged(`${file} is whole`, integrityOf(dir, command('status')));
    },
    run,
    async application() {
      const mend = `\`${command(applicationWords('local'))}\``;
      const { state } = await bridge();
      if (baseUrl() === undefined)
        return judged('', fault('the base URL of the partner service is not stored', mend));
      const flaw = await shapeErrorOf(state.applicationSecret.read());
      return judged(`credentials for ${baseUrl()} are stored`, flaw && fault(flaw.message, mend));
    },
    tokens: tokenPairs(facts, `\`${command('run')}\` takes it in`, async (name, connect) => {
      const { state, settings } = await bridge();
      const reading = state.vault.read(name);
      const flaw = await shapeErrorOf(reading);
      if (flaw) return fault(flaw.message, connect);
      const found = await reading;
      const missing = found ? missingScopes(found.pair.scope, (await settings()).requiredScope) : [];
      if (missing.length === 0) return found;
      const says = `${name} was not granted ${missing.join(' ')}, which a run requires`;
      return warning(says, `${connect}; or leave it out of \`run --required-scope\``);
    }),
    ...checks,
  };
}

const statOf = (place: string) => {
  try {
    return statSync(place, { throwIfNoEntry: false });
  } catch {
    // A file instead of a folder, or a folder without read permission.
    return undefined;
  }
};

function isUsable(place: string): boolean {
  try {
    accessSync(place, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** @param update brings the file up to date */
function integrityOf(dir: string, update: string): Problem | false {
  try {
    const db = openStateFileToRead(dir);
    try {
      const [first] = db.prepare('PRAGMA quick_check(1)').all() as { quick_check: string }[];
      if (first?.quick_check === 'ok') return false;
    } finally {
      db.close();
    }
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    return error.code === 'state-outdated' ? warning(error.message, `\`${update}\``) : faultIn(error.message);
  }
  return fault(
    `${stateFileIn(dir)} is damaged`,
    'Restore the folder from a backup (docs/operate/backup.md), or move it away and connect the partner accounts again',
  );
}

/** Why something stored cannot be read; undefined if it can. */
const shapeErrorOf = (reading: Promise<unknown>): Promise<ShapeError | undefined> =>
  reading.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ShapeError) return error;
      throw error;
    },
  );
