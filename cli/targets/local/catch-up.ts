import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { createLocalClient, noSubscriberYet, refreshLockMs } from '../../../embedded/connect.ts';
import { createRefreshToken } from '../../../functions/refresh-token/refresh-token.ts';
import { bridgeSettings } from '../../../shared/contract/settings.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { createAdvertLister, createPartnerReaders } from '../../../shared/partner-api/readers.ts';
import { createViewedAccounts } from '../../../shared/partner-api/tokens/account-views.ts';
import { createTokenSource } from '../../../shared/partner-api/tokens/token-source.ts';
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
    const edges = { clock: systemClock, random: Math.random };
    const client = createLocalClient({ ...edges, state, baseUrl, settings, observer: silent });
    const refreshToken = createRefreshToken({
      ...edges,
      accounts: state.partnerAccounts,
      vault: state.vault,
      application: state.applicationSecret,
      endpoint: client,
      // Events about an account stay owed until the bridge runs.
      events: noSubscriberYet,
      observer: silent,
      newId: () => `catch-up-${randomUUID()}`,
      settings: { requiredScope: settings.requiredScope, lockMs: refreshLockMs },
    });
    const accounts = createViewedAccounts(state.partnerAccounts);
    const tokens = createTokenSource({
      reader: state.vault,
      requester: {
        refresh: (partnerAccount, rejectedVersion, because, deadlineMs) =>
          refreshToken.refresh({ partnerAccount, rejectedVersion, because }, { deadlineMs }),
      },
      accounts,
      clock: systemClock,
    });
    return {
      accounts,
      backfills: state.backfills,
      lister: createAdvertLister({ client, tokens }),
      poll: {
        feedStates: state.feedStates,
        reader: createPartnerReaders({ client, tokens }),
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
        client.close();
        state.close();
      },
    };
  } catch (error) {
    state.close();
    throw error;
  }
}
