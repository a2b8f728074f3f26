/** Opens an embedded bridge's folder for a command, even while a `run` uses the same folder. */
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import * as v from 'valibot';
import { createLocalConnect, createLocalPartner, noSubscriberYet } from '../../embedded/partner.ts';
import { answerConnect } from '../../functions/connect/connect.ts';
import { createDrain, pollAnswerOf } from '../../functions/drain/drain.ts';
import { type Bridge, type BridgeFunctions, once } from '../../operations/bridge.ts';
import { connectFunctions } from '../../operations/connect-functions.ts';
import { CommandError, UsageError } from '../../operations/errors.ts';
import { pollDepsOf, silentObserver } from '../../operations/poll-deps.ts';
import { bridgeSettingsSchema } from '../../shared/contract/settings.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { forgetExposure, stateFileIn } from '../../shared/sqlite/file/private-folder.ts';
import { readMark, reusedHistories } from '../../shared/sqlite/file/published-mark.ts';
import { isRunning } from '../../shared/sqlite/file/run-lock.ts';
import { type EmbeddedState, openEmbeddedState, openEmbeddedStateToRead } from '../../shared/sqlite/state.ts';
import { applicationCommand, type Place } from '../shared/explain.ts';
import type { LocalTarget } from '../shared/target.ts';
import type { Opening } from './opening.ts';
import { readRunSettings } from './run-settings.ts';

export interface FolderBridge extends Bridge, Pick<Opening<LocalTarget>, 'target' | 'onClose'> {
  readonly state: EmbeddedState;
  /** @throws {CommandError} if no application was stored yet */
  baseUrl(): string;
}

const baseUrlSetting = 'base-url';

const concurrency = 2;

/** @throws {CommandError | StateError} if there is none and it must not be created, or the state cannot be used */
export async function openFolder(opening: Opening<LocalTarget>): Promise<FolderBridge> {
  const { target, onClose, create = false, isReadOnly = false, onFault, settings: given } = opening;
  if (!create && isMissing(stateFileIn(target.dir))) {
    throw new CommandError(
      `there is no bridge in ${target.dir}. Begin one there: \`${applicationCommand(target)}\``,
    );
  }
  const state = isReadOnly ? openToRead(target.dir) : openEmbeddedState(target.dir, onFault && { onFault });
  onClose(() => state.close());
  opening.baseUrl = await state.settings.read(baseUrlSetting);

  function baseUrl(): string {
    if (opening.baseUrl !== undefined) return opening.baseUrl;
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
    ...{ target, state, onClose, baseUrl, settings, service },
    kind: 'local',
    name: target.dir,
    clock: systemClock,
    newId: randomUUID,
    who: async () => userName(),
    reusedHistories(accounts) {
      const mark = readMark(target.dir);
      return mark ? reusedHistories(mark, state.eventLog.ends().last, accounts) : [];
    },
    isDelivering: () => isRunning(target.dir),
    depthLagMs: 0,
    events: (name, watch) => tailFolder(state, name, watch),
  };
  return { ...bridge, functions: folderFunctions(bridge, opening) };
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

/** Time limit for all requests of one command to the service; the time for their slots of the rate budget is added. */
const serviceMs = 30_000;
/** A token request, and at most three of the feed. */
const slots = 4;
const pollMs = 45_000;

/** What a stack has its functions do, done in this process: with or without a `run` beside it. */
function folderFunctions(bridge: Omit<FolderBridge, 'functions'>, place: Place): BridgeFunctions {
  const { state } = bridge;
  const { partnerAccounts, advertHistories, aside, deadLetters } = state;

  return {
    ...connectFunctions({
      ...{ advertHistories, deadLetters },
      async invoke(event) {
        const settings = await bridge.settings();
        const isLocal = event.action === 'disconnect' || event.action === 'forget';
        const baseUrl = isLocal ? 'https://localhost' : bridge.baseUrl();
        const stage = createLocalConnect({ state, baseUrl, settings, observer: silentObserver });
        const deadlineMs = Date.now() + serviceMs + (slots * 1000) / settings.maxRequestsPerSecond;
        return answerConnect(stage, event, { deadlineMs }).finally(() => stage.close());
      },
    }),
    async storeApplication({ clientId, clientSecret, baseUrl }) {
      if (baseUrl === undefined)
        throw new UsageError('--base-url URL is needed: where the partner service is');
      await state.applicationSecret.write({ clientId: new Secret(clientId), clientSecret });
      await state.settings.write(baseUrlSetting, baseUrl);
      place.baseUrl = baseUrl;
      forgetExposure(bridge.target.dir);
    },
    async poll(only) {
      const deps = await pollDepsOf(bridge, 'poll');
      const drain = createDrain({
        ...deps,
        ...{ accounts: partnerAccounts, aside, queue: state.queue, budgetStore: state.budgetStore },
        settings: { ...deps.settings, pollSeconds: 60, feedsAtOnce: 10 },
      });
      const deadlineMs = bridge.clock.now() + pollMs;
      return pollAnswerOf(await drain.round({ deadlineMs, ...(only !== undefined && { only }) }));
    },
  };
}

const lookMs = 200;

/** Reads what a concurrent run adds to the state; changes nothing. */
export async function* tailFolder(
  { eventLog }: Pick<EmbeddedState, 'eventLog'>,
  name: Parameters<Bridge['events']>[0],
  { signal, say, recent = 0 }: Parameters<Bridge['events']>[1],
): AsyncGenerator<readonly string[]> {
  const ends = eventLog.ends();
  let last = Math.max(0, ends.first - 1, ends.last - recent);
  for (; !signal.aborted; await systemClock.sleep(lookMs, signal)) {
    for (let some = eventLog.after(last); some.length > 0; some = eventLog.after(last)) {
      const missed = eventLog.ends().first - last - 1;
      if (missed > 0) say(`${missed} events were published too fast to be shown.`);
      last = some.at(-1)?.number ?? last;
      yield some.map(({ envelope }) => envelope).filter((one) => isOf(name, one));
    }
  }
}

const isOf = (name: string | undefined, envelope: string): boolean =>
  name === undefined || JSON.parse(envelope).detail.metadata.partnerAccount === name;
