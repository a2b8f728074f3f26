import { randomUUID } from 'node:crypto';
import { noSubscriberYet } from '../../../embedded/connect.ts';
import { createLocalPartner } from '../../../embedded/partner.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { isRunning } from '../../../shared/sqlite/file/run-lock.ts';
import { silentObserver } from '../../shared/silent-observer.ts';
import { type CatchUp, concurrency } from '../ports/catch-up.ts';
import { baseUrlOf, type LocalBridge, settingsWith } from './bridge.ts';
import { readRunSettings } from './run-settings.ts';

/** Catching up on the embedded state, with or without a concurrent `run` of the same folder. */
export async function localCatchUp(bridge: LocalBridge): Promise<CatchUp> {
  const { state, target, onClose } = bridge;
  // The settings of the run, because its requests and these share one rate budget, one pause and the tokens.
  const settings = settingsWith(await readRunSettings(state));
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
    audits: state.audits,
    histories: state.advertHistories,
    publishedAdverts: state.publishedAdverts,
    lister: partner,
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
    depthLagMs: 0,
  };
}
