import { randomUUID } from 'node:crypto';
import { noSubscriberYet } from '../../../embedded/connect.ts';
import { createLocalPartner } from '../../../embedded/partner.ts';
import { settledBy } from '../../../functions/audit/confirm.ts';
import type { BridgeSettings } from '../../../shared/contract/settings.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { isRunning } from '../../../shared/sqlite/file/run-lock.ts';
import { silentObserver } from '../../shared/silent-observer.ts';
import { type Auditing, type CatchUp, concurrency } from '../ports/catch-up.ts';
import { baseUrlOf, type LocalBridge, settingsWith } from './bridge.ts';
import { readRunSettings } from './run-settings.ts';

/** Catching up on the embedded state, with or without a concurrent `run` of the same folder. */
export async function localCatchUp(
  bridge: LocalBridge,
  given: Partial<BridgeSettings> = {},
): Promise<CatchUp> {
  const { state, target, onClose } = bridge;
  // The settings of the run, because its requests and these share one rate budget, one pause and the tokens.
  const settings = settingsWith({ ...(await readRunSettings(state)), ...given });
  const partner = createLocalPartner({
    state,
    baseUrl: baseUrlOf(bridge),
    settings,
    // Events about an account remain owed until the bridge runs.
    events: noSubscriberYet,
    observer: silentObserver,
    newId: () => `catch-up-${randomUUID()}`,
    concurrency,
  });
  onClose(() => partner.client.close());
  return {
    accounts: partner.accounts,
    backfills: state.backfills,
    lister: partner,
    adverts: partner,
    poll: {
      feedStates: state.feedStates,
      reader: partner,
      queue: state.queue,
      deadLetters: state.deadLetters,
      observer: silentObserver,
      clock: systemClock,
      newId: () => randomUUID().replaceAll('-', ''),
      holder: `resync-${randomUUID()}`,
      settings: {
        overlapSeconds: settings.overlapSeconds,
        maxRequestsPerSecond: settings.maxRequestsPerSecond,
        leaseMs: 90_000,
        maxWaiting: 20_000,
      },
    },
    isDelivering: () => isRunning(target.dir),
  };
}

/** Auditing the embedded state, in the same way. */
export async function localAuditing(
  bridge: LocalBridge,
  settings: Partial<BridgeSettings>,
): Promise<Auditing> {
  const { audits, advertHistories, publishedAdverts, waitingMessages } = bridge.state;
  return {
    ...(await localCatchUp(bridge, settings)),
    ...{ audits, publishedAdverts, histories: advertHistories },
    isSettled: settledBy(waitingMessages),
  };
}
