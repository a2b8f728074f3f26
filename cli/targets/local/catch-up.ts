import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { noSubscriberYet, refreshLockMs } from '../../../embedded/connect.ts';
import { createRefreshToken } from '../../../functions/refresh-token/refresh-token.ts';
import { bridgeSettings } from '../../../shared/contract/settings.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { createPartnerService } from '../../../shared/partner-api/partner-service.ts';
import { isRunning } from '../../../shared/sqlite/file/run-lock.ts';
import { type CatchUp, silent } from '../../shared/catch-up.ts';
import type { Target } from '../../shared/target.ts';
import { baseUrlOf, openState } from './bridge.ts';

/** Catching up on the embedded state, beside a `run` of the same folder or without one. */
export async function openLocalCatchUp(target: Extract<Target, { kind: 'local' }>): Promise<CatchUp> {
  const state = openState(target);
  try {
    const baseUrl = await baseUrlOf(state, target);
    const settings = v.parse(v.object(bridgeSettings), {});
    const edges = { observer: silent, clock: systemClock, random: Math.random };
    const partner = createPartnerService({
      ...edges,
      baseUrl,
      settings,
      budgetStore: state.budgetStore,
      accounts: state.partnerAccounts,
      tokenReader: state.vault,
      requester: { refresh: (request, options) => refreshToken.refresh(request, options) },
    });
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
        observer: silent,
        clock: systemClock,
        newId: () => randomUUID().replaceAll('-', ''),
        holder: `resync-${randomUUID()}`,
        settings: { overlapSeconds: settings.overlapSeconds, leaseMs: 90_000, maxWaiting: 20_000 },
      },
      isDelivering: () => isRunning(target.dir),
      place: { target, baseUrl },
      close() {
        partner.client.close();
        state.close();
      },
    };
  } catch (error) {
    state.close();
    throw error;
  }
}
