/** Checks of an embedded bridge's folder, which is only read: not even SQLite's own files in it change. */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { freeBytesIn } from '../../../embedded/state/file/disk.ts';
import {
  allows,
  exposureOf,
  refuseForeignFolder,
  stateFileIn,
} from '../../../embedded/state/file/private-folder.ts';
import { guarded, StateError } from '../../../embedded/state/file/state-error.ts';
import { openStateFileToRead } from '../../../embedded/state/file/state-file.ts';
import type { EmbeddedState } from '../../../embedded/state/state.ts';
import { missingScopes } from '../../../functions/refresh-token/token-pairs.ts';
import { ShapeError } from '../../../shared/contract/checks.ts';
import { quoted } from '../../../shared/domain/text.ts';
import type { Bridge } from '../bridge.ts';
import { applicationWords } from '../errors.ts';
import { type BridgeFacts, bridgeChecks, findingCheck, pairCheck } from './bridge-checks.ts';
import { type Checks, fault, orSkip, SkippedError, warning } from './check.ts';

interface Folder extends Pick<BridgeFacts, 'command'> {
  readonly dir: string;
}

interface FolderFacts extends BridgeFacts {
  readonly bridge: Bridge & { readonly state: EmbeddedState };
}

export const machineFacts = {
  nodeVersion: process.versions.node,
  freeBytes: freeBytesIn,
};

/** The version with `node:sqlite` without a flag, as operators/cli/advert-bridge.cjs requires. */
const [oldestMajor, oldestMinor] = [22, 13];
const mebibyte = 1024 ** 2;
/** Twice the size that the state file's write-ahead log may reach before it is copied into the file. */
const leastMiB = 64;
/** Room for a million adverts, each with its latest event. */
const enoughMiB = 1024;

/** Of the folder itself, whether or not its state can be read. */
export const folderChecks: Checks<Folder> = {
  async node(_folder, report) {
    const { nodeVersion: version } = machineFacts;
    const [major = 0, minor = 0] = version.split('.').map(Number);
    // Not `npx … npx …`: an inner npx would use the package of the outer one.
    const newer = `Install a newer Node, or run the command with one: \`npx -p node@24 -- node ${quoted(process.argv[1] ?? '')} …\``;
    const needed = `an embedded bridge needs Node ${oldestMajor}.${oldestMinor} or later; this is ${version}`;
    if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) report(fault(needed, newer));
    // Only even releases get security fixes for longer than half a year.
    else if (major % 2 === 1) report(warning(`Node ${version} gets fixes for half a year only`, newer));
    return `Node ${version}`;
  },
  async folder({ dir, command }, report) {
    const file = stateFileIn(dir);
    const begin = `Begin one there: \`${command(applicationWords('local'))}\``;
    const open = `\`chmod u+rwX ${quoted(dir)} ${quoted(file)}\``;
    if (existsSync(dir) && !statSync(dir).isDirectory())
      report(fault(`${dir} is a file`, 'Name the folder of the bridge with --local'));
    // Not `existsSync`, which says the same of a folder that this user may not enter.
    else if (!guarded(file, () => statSync(file, { throwIfNoEntry: false })))
      report(fault(`there is no bridge in ${dir}`, begin));
    else if (!allows(dir, 'R_OK')) report(fault(`this user may not read ${file}`, open));
    else if (!allows(dir, 'W_OK'))
      report(
        warning(`this user may only read ${dir}: run, and what changes something, needs to write`, open),
      );
    return `${path.resolve(dir)} holds a bridge`;
  },
  async owner({ dir }) {
    refuseForeignFolder(dir);
    needFile(dir);
    return 'folder and files belong to the user that this runs as';
  },
  async 'file-modes'({ dir }, report) {
    needFile(dir);
    const exposure = exposureOf(dir);
    if (exposure) report(fault(exposure.says, exposure.mend));
    return 'only their owner may read the files';
  },
  async 'disk-space'({ dir }, report) {
    needFile(dir);
    const free = Math.round(machineFacts.freeBytes(dir) / mebibyte);
    const says = `${free} MiB are free on the disk of ${dir}`;
    const mend = 'Free space there, or move the folder to a larger disk while no run is at work';
    if (free < leastMiB) report(fault(`${says}: the bridge stands still when it is full`, mend));
    else if (free < enoughMiB) report(warning(says, mend));
    return says;
  },
  async 'state-file'({ dir, command }, report) {
    needFile(dir);
    const isOwn = async () => refuseForeignFolder(dir);
    await orSkip(isOwn(), 'needs a folder that nobody else controls: see owner');
    const file = stateFileIn(dir);
    const restore =
      'Restore the folder from a backup (docs/operate/backup.md), or move it away and connect the partner accounts again';
    try {
      const db = openStateFileToRead(dir);
      try {
        const found = db.prepare('PRAGMA quick_check(1)').get();
        if (found?.quick_check !== 'ok') report(fault(`${file} is damaged`, restore));
      } finally {
        db.close();
      }
    } catch (error) {
      if (!(error instanceof StateError)) throw error;
      const isOutdated = error.code === 'state-outdated';
      report(isOutdated ? warning(error.says, `\`${command('status')}\``) : fault(error.says, error.mend));
    }
    return `${file} is whole`;
  },
};

/** Of the bridge in it, once its state can be read. */
export const stateChecks: Checks<FolderFacts> = {
  run: findingCheck('run', 'a run is at work, or nothing waits for one'),
  async application({ bridge, baseUrl, command }, report) {
    const mend = `\`${command(applicationWords('local'))}\``;
    if (baseUrl === undefined) report(fault('the base URL of the partner service is not stored', mend));
    else await bridge.state.applicationSecret.read();
    return `credentials for ${baseUrl} are stored`;
  },
  tokens: pairCheck(
    ({ command }) => `\`${command('run')}\` takes it in`,
    async (name, { bridge: { state, settings } }, connect) => {
      const found = await state.vault.read(name).catch((error: unknown) => {
        if (error instanceof ShapeError) return fault(error.message, connect);
        throw error;
      });
      if (!found || 'says' in found) return found;
      const missing = missingScopes(found.pair.scope, (await settings()).requiredScope);
      if (missing.length === 0) return found.version;
      const says = `${name} was not granted ${missing.join(' ')}, which a run requires`;
      return warning(says, `${connect}; or leave it out of \`run --required-scope\``);
    },
  ),
  ...bridgeChecks,
};

function needFile(dir: string): void {
  if (!existsSync(stateFileIn(dir))) throw new SkippedError('needs a bridge in the folder: see folder');
}
