/** What a stack has its functions do, done in this process for an embedded bridge: with or without a `run` beside it. */
import { createLocalConnect } from '../../embedded/connect.ts';
import { createDrain } from '../../functions/drain/drain.ts';
import { pollAnswerOf } from '../../functions/drain/poll-answer.ts';
import type { BridgeFunctions } from '../../operations/bridge.ts';
import { forgetDeadLetters } from '../../operations/dead-letters.ts';
import { UsageError } from '../../operations/errors.ts';
import { pollDepsOf, silentObserver } from '../../operations/poll-deps.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { forgetExposure } from '../../shared/sqlite/file/private-folder.ts';
import { heldUntil } from '../../shared/state/budget.ts';
import { baseUrlSetting, type FolderBridge } from './folder.ts';

/** Time limit for all requests of one command to the service; the time for their slots of the rate budget is added. */
const serviceMs = 30_000;
/** A token request, and at most three of the feed. */
const slots = 4;
const pollMs = 45_000;

export function folderFunctions(bridge: Omit<FolderBridge, 'functions'>): BridgeFunctions {
  const { state, place } = bridge;
  const { partnerAccounts, advertHistories, aside } = state;

  async function stages(baseUrl: string) {
    const settings = await bridge.settings();
    const local = createLocalConnect({ state, baseUrl, settings, observer: silentObserver });
    bridge.onClose(() => local.close());
    const deadlineMs = Date.now() + serviceMs + (slots * 1000) / settings.maxRequestsPerSecond;
    return { local, limits: { deadlineMs } };
  }

  /** All steps can be repeated as long as the name is known; `forget` removes the name last. */
  async function removeHistories(partnerAccount: string, generation: number): Promise<void> {
    await advertHistories.remove(partnerAccount, generation);
    await forgetDeadLetters(bridge, partnerAccount, generation);
  }

  return {
    async storeApplication({ clientId, clientSecret, baseUrl }) {
      if (baseUrl === undefined)
        throw new UsageError('--base-url URL is needed: where the partner service is');
      await state.applicationSecret.write({ clientId: new Secret(clientId), clientSecret });
      await state.settings.write(baseUrlSetting, baseUrl);
      place.baseUrl = baseUrl;
      forgetExposure(bridge.target.dir);
    },
    async checkApplication() {
      const { local, limits } = await stages(bridge.baseUrl());
      return local.check(limits);
    },
    async authorizeUrl(request) {
      const { local } = await stages(bridge.baseUrl());
      return (await local.authorize(request)).url;
    },
    async connect(request) {
      const { local, limits } = await stages(bridge.baseUrl());
      return local.connect(request, limits);
    },
    async disconnect(name, { forget }) {
      // No request is sent to the service, so its address does not matter.
      const { local } = await stages(place.baseUrl ?? 'https://localhost');
      return forget
        ? local.forget(name, (generation) => removeHistories(name, generation))
        : local.disconnect(name);
    },
    async poll(only) {
      const deps = await pollDepsOf(bridge, 'poll');
      const drain = createDrain({
        ...deps,
        ...{ accounts: partnerAccounts, aside, queue: state.queue },
        bridgePausedUntil: async () => heldUntil(await state.budgetStore.read(), bridge.clock.now()),
        settings: { ...deps.settings, pollSeconds: 60, feedsAtOnce: 10 },
      });
      const deadlineMs = bridge.clock.now() + pollMs;
      return pollAnswerOf(await drain.round({ deadlineMs, ...(only !== undefined && { only }) }));
    },
  };
}
