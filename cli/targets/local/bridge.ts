/** The embedded bridge whose state is in a folder, as the commands see it. Works beside a `run` of the same folder. */
import { statSync } from 'node:fs';
import * as v from 'valibot';
import { createLocalConnect } from '../../../embedded/connect.ts';
import { CommandError, UsageError } from '../../../operations/errors.ts';
import { readStatus } from '../../../operations/status.ts';
import { type BridgeSettings, bridgeSettings } from '../../../shared/contract/settings.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import type { Observer } from '../../../shared/ports/observer.ts';
import { stateFileIn } from '../../../shared/sqlite/file/state-file.ts';
import {
  type EmbeddedState,
  type EmbeddedStateOptions,
  openEmbeddedState,
} from '../../../shared/sqlite/state.ts';
import type { ApplicationInput, Bridge, OpenBridge } from '../../shared/bridge.ts';
import { applicationCommand } from '../../shared/explain.ts';
import type { Target } from '../../shared/target.ts';
import { createLocalLetters } from './dead-letters.ts';

export interface LocalOptions {
  /** Default: the design's. */
  readonly settings?: Partial<BridgeSettings>;
  /** Makes the folder when there is none. */
  readonly create?: boolean;
}

type LocalTarget = Extract<Target, { kind: 'local' }>;

/** Under this name the base URL of the partner service stands among the state's settings. */
const baseUrlSetting = 'base-url';
/** For all that `connect` asks of the service. */
const connectMs = 30_000;

/**
 * @throws {StateError} when the state cannot be used as it is
 * @throws {CommandError} when there is none, and none is to be made
 */
export async function openLocalBridge(target: LocalTarget, options: LocalOptions = {}): Promise<OpenBridge> {
  const state = openState(target, options);
  const baseUrl = await state.settings.read(baseUrlSetting);
  return {
    bridge: createLocalBridge(target, state, options),
    place: { target, ...(baseUrl === undefined ? {} : { baseUrl }) },
  };
}

/** The state of the folder; a folder with none is left as it is, for its name may be a slip. */
export function openState(
  target: LocalTarget,
  { create = false, ...options }: EmbeddedStateOptions & { readonly create?: boolean } = {},
): EmbeddedState {
  if (!create && isMissing(stateFileIn(target.dir))) {
    throw new CommandError(
      `there is no bridge in ${target.dir}. Begin one there: \`${applicationCommand(target)}\``,
    );
  }
  return openEmbeddedState(target.dir, options);
}

function isMissing(file: string): boolean {
  try {
    statSync(file);
    return false;
  } catch (error) {
    // Whatever else it is, opening it says so in its own words.
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** @throws {CommandError} when no application was stored yet */
export async function baseUrlOf(state: EmbeddedState, target: LocalTarget): Promise<string> {
  const baseUrl = await state.settings.read(baseUrlSetting);
  if (baseUrl !== undefined) return baseUrl;
  throw new CommandError(
    `the application is not known yet. Store it first: \`${applicationCommand(target)}\``,
  );
}

function createLocalBridge(target: LocalTarget, state: EmbeddedState, options: LocalOptions): Bridge {
  const clock = systemClock;
  const { partnerAccounts, advertHistories } = state;
  const deadLetters = createLocalLetters(state.deadLetters);
  const settings = v.parse(v.object(bridgeSettings), options.settings ?? {});
  const connectTo = (baseUrl: string) => createLocalConnect({ state, baseUrl, settings, observer: silent });

  async function storeApplication({ clientId, clientSecret, baseUrl }: ApplicationInput): Promise<void> {
    if (baseUrl === undefined) throw new UsageError('--base-url URL is needed: where the partner service is');
    await state.applicationSecret.write({ clientId: new Secret(clientId), clientSecret });
    await state.settings.write(baseUrlSetting, baseUrl);
  }

  /** As long as the name is known all of it can be done again; so that it is known goes last. */
  async function removeHistories(name: string, generation: number): Promise<void> {
    await advertHistories.remove(name, generation);
    const { letters } = await deadLetters.list({ partnerAccount: name });
    const old = letters.filter(({ letter }) => (letter.message?.generation ?? 0) <= generation);
    await deadLetters.drop({ ids: old.map(({ id }) => id) });
  }

  /** @throws {CommandError} when no application was stored yet */
  async function withService<T>(work: (local: ReturnType<typeof connectTo>) => Promise<T>): Promise<T> {
    const local = connectTo(await baseUrlOf(state, target));
    try {
      return await work(local);
    } finally {
      local.close();
    }
  }

  return {
    storeApplication,
    authorizeUrl: (request) => withService(async (local) => (await local.authorize(request)).url),
    checkApplication: () => withService((local) => local.check({ deadlineMs: clock.now() + connectMs })),
    connect: (input) => withService((local) => local.connect(input, { deadlineMs: clock.now() + connectMs })),
    deadLetters,
    names: async () => (await partnerAccounts.list()).map(({ name }) => name),
    async disconnect(name, { forget }) {
      if (!(await partnerAccounts.read(name))) return false;
      // Nothing is asked of the service, wherever it is.
      const local = connectTo((await state.settings.read(baseUrlSetting)) ?? 'https://localhost');
      try {
        if (forget) return await local.forget(name, (generation) => removeHistories(name, generation));
        return await local.disconnect(name);
      } finally {
        local.close();
      }
    },
    status: (partnerAccount) => readStatus(state, clock.now(), partnerAccount),
    close: async () => state.close(),
  };
}

/** What came of a command is told by the command. */
const silent: Observer = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  count: () => undefined,
};
