/** Opens an embedded bridge's folder for a command, even while a `run` uses the same folder. */
import { randomBytes, randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import * as v from 'valibot';
import {
  bridgeNameIn,
  bridgeNameSetting,
  createLocalConnect,
  createLocalPartner,
  noSubscriberYet,
} from '../../../embedded/partner.ts';
import { isDiskFull } from '../../../embedded/state/file/disk.ts';
import { allows, forgetExposure, stateFileIn } from '../../../embedded/state/file/private-folder.ts';
import { readMark, reusedHistories } from '../../../embedded/state/file/published-mark.ts';
import { isRunning, standstillIn } from '../../../embedded/state/file/run-lock.ts';
import { guarded } from '../../../embedded/state/file/state-error.ts';
import {
  type EmbeddedState,
  type EmbeddedStateOptions,
  openEmbeddedState,
  openEmbeddedStateToRead,
} from '../../../embedded/state/state.ts';
import { answerConnect } from '../../../functions/connect/connect.ts';
import { createDrain, pollAnswerOf } from '../../../functions/drain/drain.ts';
import { checkedJson } from '../../../shared/contract/checks.ts';
import { type BridgeSettings, bridgeSettingsSchema } from '../../../shared/contract/settings.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { type Bridge, type LocalHost, once, silentObserver } from '../../operations/bridge.ts';
import { applicationWords, failed, UsageError } from '../../operations/errors.ts';
import { movedTo } from '../../operations/move/moved-to.ts';
import { pollDepsOf } from '../../operations/resync.ts';
import { type LocalTarget, localTarget, stackTarget } from '../shared/target.ts';
import { idleRunsIn } from './idle-runs.ts';

export interface OpenOptions extends Pick<EmbeddedStateOptions, 'onFault'> {
  /** Creates the folder if it does not exist. By default its name may be a mistake. */
  readonly create?: boolean;
  /** By default, a folder whose accounts were moved to a stack is refused. */
  readonly isMoving?: boolean;
  /** No byte of the folder changes. */
  readonly isReadOnly?: boolean;
  /** Given on the command line. */
  readonly settings?: Partial<BridgeSettings>;
}

export interface FolderBridge extends Bridge {
  readonly host: LocalHost;
  readonly state: EmbeddedState;
  /** Of the partner service; undefined until the application is stored. */
  baseUrl(): string | undefined;
  /** @throws {CommandError} if no application was stored yet */
  requireBaseUrl(): string;
  readonly idleRuns: ReturnType<typeof idleRunsIn>;
  /** Stores the settings of a run for other commands. */
  storeSettings(run: BridgeSettings): Promise<void>;
  /** Closes its state, after the refreshes that run. */
  close(): Promise<void>;
}

const baseUrlSetting = 'base-url';
const runSetting = 'published-events';
const concurrency = 2;

/** Time limit for all requests of one command to the service; the time for their slots of the rate budget is added. */
const serviceMs = 30_000;
/** A token request, and at most three of the feed. */
const slots = 4;
const pollMs = 45_000;
/** How often a tail looks for new events. */
const lookMs = 200;

/** @throws {CommandError | StateError} if there is none and it must not be created, or the state cannot be used */
export async function openFolder(
  { dir, command }: LocalTarget,
  { create, isReadOnly, isMoving, onFault, settings: given = {} }: OpenOptions,
): Promise<FolderBridge> {
  const file = stateFileIn(dir);
  const application = applicationWords('local');
  if (!create && !guarded(file, () => statSync(file, { throwIfNoEntry: false })))
    throw failed('no-folder', { dir, application }, { command });
  const state = openState(dir, { create, isReadOnly, onFault });
  if (!isMoving)
    await refuseMoved(state, dir).catch((error: unknown) => {
      state.close();
      throw error;
    });
  let baseUrl = await state.settings.read(baseUrlSetting);

  function requireBaseUrl(): string {
    if (baseUrl !== undefined) return baseUrl;
    throw failed('no-application', { application }, { command });
  }

  // Those of the run: its requests and these share one rate budget, one pause and the tokens, and a refresh with another
  // `requiredScope` would stop its partner account.
  const settings = async () => {
    const stored = (await state.settings.read(runSetting)) ?? '{}';
    const chosen = Object.entries(given).filter(([, value]) => value !== undefined);
    return v.parse(bridgeSettingsSchema, {
      ...checkedJson(bridgeSettingsSchema, stored, 'settings of the latest run'),
      ...Object.fromEntries(chosen),
    });
  };

  let partner: ReturnType<typeof createLocalPartner> | undefined;
  const service = once(async () => {
    partner = createLocalPartner({
      state,
      settings: await settings(),
      concurrency,
      observer: silentObserver,
      bridge: await bridgeNameIn(state),
      baseUrl: requireBaseUrl(),
      // Events about an account remain owed until the bridge runs.
      events: noSubscriberYet,
      newId: () => `catch-up-${randomUUID()}`,
    });
    return partner;
  });

  const idleRuns = idleRunsIn(state.settings);
  const bridge: FolderBridge = {
    ...state,
    state,
    idleRuns,
    requireBaseUrl,
    settings,
    service,
    baseUrl: () => baseUrl,
    name: dir,
    clock: systemClock,
    newId: randomUUID,
    who: async () => userName(),
    host: {
      kind: 'local',
      isRunning: () => isRunning(dir),
      idleRun: idleRuns.last,
      standstill: (nowMs) => standstillIn(dir, nowMs),
      fullDisk: () => (isDiskFull(dir) ? {} : undefined),
      reusedHistories(accounts) {
        const mark = readMark(dir);
        return mark ? reusedHistories(mark, state.eventLog.ends().last, accounts) : [];
      },
      webhooks: state.webhooks,
      outputTrouble: state.outputTrouble,
      outputEvents: state.outputEvents,
    },
    depthLagMs: 0,
    async close() {
      await partner?.close();
      state.close();
    },
    eventsOf: state.eventLog.ofAdvert,
    storeSettings: (run) => state.settings.write(runSetting, JSON.stringify(run)),
    /** Reads what a concurrent run adds to the state; changes nothing. */
    async *events(name, { signal, say, recent = 0 }) {
      const { eventLog } = state;
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
    },
    async storeApplication(application, url, bridgeName) {
      if (url === undefined) throw new UsageError('--base-url URL is needed: where the partner service is');
      // First, for a folder with an application and without a name is one from before folders had names.
      const own =
        bridgeName ?? (baseUrl === undefined ? `bridge-${randomBytes(4).toString('hex')}` : undefined);
      if (own !== undefined) await state.settings.write(bridgeNameSetting, own);
      await state.applicationSecret.write(application);
      await state.settings.write(baseUrlSetting, url);
      baseUrl = url;
      forgetExposure(dir);
    },
    async askConnect(event, given) {
      // Somebody may have logged in meanwhile.
      await refuseMoved(state, dir);
      const isLocal = event.action === 'disconnect' || event.action === 'forget';
      const chosen = await settings();
      const stage = createLocalConnect({
        state,
        settings: chosen,
        observer: silentObserver,
        bridge: await bridgeNameIn(state),
        baseUrl: given ?? (isLocal ? 'https://localhost' : requireBaseUrl()),
      });
      const deadlineMs = Date.now() + serviceMs + (slots * 1000) / chosen.maxRequestsPerSecond;
      return answerConnect(stage, event, { deadlineMs }).finally(() => stage.close());
    },
    async poll(only) {
      const deps = await pollDepsOf(bridge, 'poll');
      const drain = createDrain({
        ...deps,
        ...state,
        settings: { ...deps.settings, pollSeconds: 60 },
      });
      const deadlineMs = systemClock.now() + pollMs;
      return pollAnswerOf(await drain.round({ deadlineMs, ...(only !== undefined && { only }) }));
    },
  };
  return bridge;
}

/** A folder that this user may only read is read: a command that has to write fails when it does. */
function openState(dir: string, { create, isReadOnly, onFault }: OpenOptions): EmbeddedState {
  if (isReadOnly) return openToRead(dir);
  if (!create && !allows(dir, 'W_OK')) return openEmbeddedStateToRead(dir);
  return openEmbeddedState(dir, onFault && { onFault });
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

/** @throws {CommandError} if the accounts belong to a stack */
async function refuseMoved(state: EmbeddedState, dir: string): Promise<void> {
  const to = await movedTo(state);
  if (!to) return;
  const { stack, isDone } = to;
  if (!isDone) throw failed('moving', { dir, stack }, localTarget(dir));
  throw failed('moved', { dir, stack, status: stackTarget(stack).command('status') });
}

/** A user without an entry in the machine's user database, as in some containers, has only a number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

const isOf = (name: string | undefined, envelope: string): boolean =>
  name === undefined || JSON.parse(envelope).detail.metadata.partnerAccount === name;
