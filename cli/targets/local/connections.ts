import { createLocalConnect } from '../../../embedded/connect.ts';
import { UsageError } from '../../../operations/errors.ts';
import { once } from '../../../operations/once.ts';
import type { BridgeSettings } from '../../../shared/contract/settings.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { silentObserver } from '../../shared/silent-observer.ts';
import type { Applications, Connections, Disconnections } from '../ports/connections.ts';
import { baseUrlOf, baseUrlSetting, type LocalBridge, settingsWith } from './bridge.ts';
import { readRunSettings } from './run-settings.ts';
import { localLetters } from './stored-letters.ts';

/** Time limit for all requests of one command to the service; the time for their slots of the rate budget is added. */
const serviceMs = 30_000;
/** A token request, and at most three of the feed. */
const slots = 4;

export function localApplications(bridge: LocalBridge): Applications {
  const { state, place } = bridge;
  return {
    async store({ clientId, clientSecret, baseUrl }) {
      if (baseUrl === undefined)
        throw new UsageError('--base-url URL is needed: where the partner service is');
      await state.applicationSecret.write({ clientId: new Secret(clientId), clientSecret });
      await state.settings.write(baseUrlSetting, baseUrl);
      place.baseUrl = baseUrl;
    },
    check: async () => {
      const { local, deadline } = await asking(bridge, baseUrlOf(bridge));
      return local.check(deadline());
    },
  };
}

export function localConnections(bridge: LocalBridge, settings: Partial<BridgeSettings>): Connections {
  const baseUrl = baseUrlOf(bridge);
  const ask = once(() => asking(bridge, baseUrl, settings));
  return {
    authorizeUrl: async (request) => (await (await ask()).local.authorize(request)).url,
    connect: async (request) => {
      const { local, deadline } = await ask();
      return local.connect(request, deadline());
    },
    deadLetters: localLetters(bridge),
  };
}

export function localDisconnections(bridge: LocalBridge): Disconnections {
  const { partnerAccounts, advertHistories } = bridge.state;
  // No request is sent to the service, so its address does not matter.
  const local = service(bridge, bridge.place.baseUrl ?? 'https://localhost');

  /** All steps can be repeated as long as the name is known; `forget` removes the name last. */
  async function removeHistories(name: string, generation: number): Promise<void> {
    await advertHistories.remove(name, generation);
    const letters = localLetters(bridge);
    const { letters: all } = await letters.list({ partnerAccount: name });
    const old = all.filter(({ letter }) => (letter.message?.generation ?? 0) <= generation);
    await letters.drop({ ids: old.map(({ id }) => id) });
  }

  return {
    accounts: partnerAccounts,
    disconnect: (name, { forget }) =>
      forget ? local.forget(name, (generation) => removeHistories(name, generation)) : local.disconnect(name),
  };
}

/** The stages for commands that send requests. A concurrent `run` shares the rate budget, so its settings apply. */
async function asking(bridge: LocalBridge, baseUrl: string, given: Partial<BridgeSettings> = {}) {
  const { maxRequestsPerSecond, circuitSeconds, maxPauseSeconds } = await readRunSettings(bridge.state);
  const local = service(bridge, baseUrl, { maxRequestsPerSecond, circuitSeconds, maxPauseSeconds, ...given });
  const deadline = () => ({ deadlineMs: Date.now() + serviceMs + (slots * 1000) / maxRequestsPerSecond });
  return { local, deadline };
}

function service({ state, onClose }: LocalBridge, baseUrl: string, settings?: Partial<BridgeSettings>) {
  const local = createLocalConnect({
    state,
    baseUrl,
    settings: settingsWith(settings),
    observer: silentObserver,
  });
  onClose(() => local.close());
  return local;
}
