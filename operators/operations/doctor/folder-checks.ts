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
import { type BridgeFacts, bridgeChecks, findingCheck, pairCheck } from './bridge-checks.ts';
import { type Checks, type Coded, orSkip, SkippedError } from './check.ts';

interface Folder extends Pick<BridgeFacts, 'command'> {
  readonly dir: string;
}

interface FolderFacts extends BridgeFacts {
  readonly bridge: Bridge & { readonly state: EmbeddedState };
  /** @returns why an event bus cannot be seen */
  lookAtBus(arn: string): Promise<{ readonly reason: string; readonly isMissing: boolean } | undefined>;
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
    const facts = { version, oldest: `${oldestMajor}.${oldestMinor}`, script: quoted(process.argv[1] ?? '') };
    if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) report('old', facts);
    // Only even releases get security fixes for longer than half a year.
    else if (major % 2 === 1) report('odd', facts);
    return facts;
  },
  async folder({ dir }, report) {
    const file = stateFileIn(dir);
    const facts = { dir, file, quotedDir: quoted(dir), quotedFile: quoted(file) };
    if (existsSync(dir) && !statSync(dir).isDirectory()) report('is-file', facts);
    // Not `existsSync`, which says the same of a folder that this user may not enter.
    else if (!guarded(file, () => statSync(file, { throwIfNoEntry: false }))) report('empty', facts);
    else if (!allows(dir, 'R_OK')) report('unreadable', facts);
    else if (!allows(dir, 'W_OK')) report('read-only', facts);
    return { path: path.resolve(dir) };
  },
  async owner({ dir }) {
    refuseForeignFolder(dir);
    needFile(dir);
  },
  async 'file-modes'({ dir }, report) {
    needFile(dir);
    const exposure = exposureOf(dir);
    if (exposure) report({ result: 'fault', ...exposure });
  },
  async 'disk-space'({ dir }, report) {
    needFile(dir);
    const facts = { dir, free: Math.round(machineFacts.freeBytes(dir) / mebibyte) };
    if (facts.free < leastMiB) report('full', facts);
    else if (facts.free < enoughMiB) report('low', facts);
    return facts;
  },
  async 'state-file'({ dir }, report) {
    needFile(dir);
    const isOwn = async () => refuseForeignFolder(dir);
    await orSkip(isOwn(), 'needs-owner');
    const file = stateFileIn(dir);
    try {
      const db = openStateFileToRead(dir);
      try {
        const found = db.prepare('PRAGMA quick_check(1)').get();
        if (found?.quick_check !== 'ok') report('damaged', { file });
      } finally {
        db.close();
      }
    } catch (error) {
      if (!(error instanceof StateError)) throw error;
      const { code, says, mend: by } = error;
      report(code === 'state-outdated' ? 'outdated' : 'unusable', { says, by });
    }
    return { file };
  },
};

/** Of the bridge in it, once its state can be read. */
export const stateChecks: Checks<FolderFacts> = {
  run: findingCheck('run'),
  async application({ bridge, baseUrl }, report) {
    if (baseUrl === undefined) report('none');
    else await bridge.state.applicationSecret.read();
    return { baseUrl };
  },
  tokens: pairCheck(async (name, { bridge: { state, settings } }) => {
    const found = await state.vault.read(name).catch((error: unknown): Coded => {
      if (error instanceof ShapeError) return ['unreadable', { error: error.message }];
      throw error;
    });
    if (!found || !('pair' in found)) return found;
    const missing = missingScopes(found.pair.scope, (await settings()).requiredScope);
    return missing.length === 0 ? found.version : ['scope', { scopes: missing.join(' ') }];
  }),
  async 'event-buses'({ bridge: { state }, lookAtBus }, report) {
    for (const { url: arn } of state.webhooks.list()) {
      const failure = arn.startsWith('arn:') ? await lookAtBus(arn) : undefined;
      if (failure) report(failure.isMissing ? 'missing' : 'unseen', { arn, reason: failure.reason });
    }
    return {};
  },
  ...bridgeChecks,
};

function needFile(dir: string): void {
  if (!existsSync(stateFileIn(dir))) throw new SkippedError('needs-folder');
}
