/** Opens an embedded bridge's folder for a command, even while a `run` uses the same folder. */
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import * as v from 'valibot';
import { noSubscriberYet } from '../../embedded/connect.ts';
import { createLocalPartner } from '../../embedded/partner.ts';
import { once } from '../../operations/ask.ts';
import { CommandError } from '../../operations/errors.ts';
import { silentObserver } from '../../operations/poll-deps.ts';
import { bridgeSettingsSchema } from '../../shared/contract/settings.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import { stateFileIn } from '../../shared/sqlite/file/private-folder.ts';
import { readMark, reusedHistories } from '../../shared/sqlite/file/published-mark.ts';
import { isRunning } from '../../shared/sqlite/file/run-lock.ts';
import { type EmbeddedState, openEmbeddedState, openEmbeddedStateToRead } from '../../shared/sqlite/state.ts';
import { applicationCommand } from '../shared/explain.ts';
import type { LocalTarget } from '../shared/target.ts';
import { baseUrlSetting, type FolderBridge } from './folder.ts';
import { folderFunctions } from './folder-functions.ts';
import { tailFolder } from './folder-tail.ts';
import type { Opening } from './opening.ts';
import { readRunSettings } from './run-settings.ts';

/** Number of connections to the partner service. */
const concurrency = 2;

/**
 * @throws {StateError} if the state cannot be used
 * @throws {CommandError} if there is none and it must not be created
 */
export async function openFolder(opening: Opening<LocalTarget>): Promise<FolderBridge> {
  const { target, place, onClose, create = false, isReadOnly = false, onFault, settings: given } = opening;
  if (!create && isMissing(stateFileIn(target.dir))) {
    throw new CommandError(
      `there is no bridge in ${target.dir}. Begin one there: \`${applicationCommand(target)}\``,
    );
  }
  const state = isReadOnly ? openToRead(target.dir) : openEmbeddedState(target.dir, onFault && { onFault });
  onClose(() => state.close());
  place.baseUrl = await state.settings.read(baseUrlSetting);

  function baseUrl(): string {
    if (place.baseUrl !== undefined) return place.baseUrl;
    throw new CommandError(
      `the application is not known yet. Store it first: \`${applicationCommand(target)}\``,
    );
  }

  // The settings of the run, because its requests and these share one rate budget, one pause and the tokens.
  const settings = async () => {
    const ofRun: Record<string, unknown> = await readRunSettings(state);
    const chosen = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
    return v.parse(bridgeSettingsSchema, { ...ofRun, ...Object.fromEntries(chosen) });
  };

  const service = once(async () => {
    const { client, ...readers } = createLocalPartner({
      state,
      baseUrl: baseUrl(),
      settings: await settings(),
      // Events about an account remain owed until the bridge runs.
      events: noSubscriberYet,
      observer: silentObserver,
      newId: () => `catch-up-${randomUUID()}`,
      concurrency,
    });
    onClose(() => client.close());
    return readers;
  });

  const bridge: Omit<FolderBridge, 'functions'> = {
    ...state,
    ...{ target, place, state, onClose, baseUrl, settings, service },
    kind: 'local',
    name: target.dir,
    clock: systemClock,
    newId: randomUUID,
    who: async () => userName(),
    isRunning: () => isRunning(target.dir),
    reusedHistories(accounts) {
      const mark = readMark(target.dir);
      return mark ? reusedHistories(mark, state.eventLog.ends().last, accounts) : [];
    },
    isDelivering: () => isRunning(target.dir),
    depthLagMs: 0,
    events: (name, watch) => tailFolder(state, name, watch),
  };
  return { ...bridge, functions: folderFunctions(bridge) };
}

/**
 * What a request to the partner service reserves of the rate budget is not stored: it waits for its turn, but a
 * concurrent `run` does not know about it.
 */
function openToRead(dir: string): EmbeddedState {
  const state = openEmbeddedStateToRead(dir);
  const { read } = state.budgetStore;
  return { ...state, budgetStore: { ...state.budgetStore, change: async (rule) => rule(await read()) } };
}

/** A user without an entry in the machine's user database, as in some containers, has only a number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

function isMissing(file: string): boolean {
  try {
    statSync(file);
    return false;
  } catch (error) {
    // For any other error, opening the file gives a better message.
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}
