import { randomUUID } from 'node:crypto';
import { noSubscriberYet, refreshLockMs } from '../../../embedded/connect.ts';
import { createRefreshToken } from '../../../functions/refresh-token/refresh-token.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { createPartnerService } from '../../../shared/partner-api/partner-service.ts';
import { isRunning } from '../../../shared/sqlite/file/run-lock.ts';
import { silentObserver } from '../../shared/silent-observer.ts';
import type { CatchUp } from '../ports/catch-up.ts';
import { baseUrlOf, type LocalBridge, settingsWith } from './bridge.ts';

/** Catching up on the embedded state, beside a `run` of the same folder or without one. */
export function localCatchUp(bridge: LocalBridge): CatchUp {
  const { state, target, onClose } = bridge;
  const settings = settingsWith();
  const edges = { observer: silentObserver, clock: systemClock, random: Math.random };
  const partner = createPartnerService({
    ...edges,
    baseUrl: baseUrlOf(bridge),
    settings,
    budgetStore: state.budgetStore,
    accounts: state.partnerAccounts,
    tokenReader: state.vault,
    requester: { refresh: (request, options) => refreshToken.refresh(request, options) },
  });
  onClose(() => partner.client.close());
  const refreshToken = createRefreshToken({
    ...edges,
    accounts: state.partnerAccounts,
    vault: state.vault,
    application: state.applicationSecret,
    endpoint: partner.client,
    // Events about an account stay owed until the bridge runs.
    events: noSubscriberYet,
    newId: () => `catch-up-${randomUUID()}`,
    settings: { requiredScope: settings.requiredScope, lockMs: refreshLockMs },
  });
  return {
    accounts: partner.accounts,
    backfills: state.backfills,
    lister: partner,
    poll: {
      feedStates: state.feedStates,
      reader: partner,
      queue: state.queue,
      deadLetters: state.queue,
      observer: silentObserver,
      clock: systemClock,
      newId: () => randomUUID().replaceAll('-', ''),
      holder: `resync-${randomUUID()}`,
      settings: { overlapSeconds: settings.overlapSeconds, leaseMs: 90_000, maxWaiting: 20_000 },
    },
    isDelivering: () => isRunning(target.dir),
  };
}
