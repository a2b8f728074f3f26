import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { noSubscriberYet } from '../../../embedded/connect.ts';
import { createLocalPartner } from '../../../embedded/partner.ts';
import { createDrain } from '../../../functions/drain/drain.ts';
import { pollAnswerOf } from '../../../functions/drain/poll-answer.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { quietUntil } from '../../../shared/domain/rate-budget.ts';
import { isRunning } from '../../../shared/sqlite/file/run-lock.ts';
import { silentObserver } from '../../shared/silent-observer.ts';
import type { Pauses, Polls } from '../ports/pauses.ts';
import { baseUrlOf, type LocalBridge, settingsWith } from './bridge.ts';

export const localPauses = ({ state }: LocalBridge): Pauses => ({
  accounts: state.partnerAccounts,
  budgetStore: state.budgetStore,
  who: async () => userName(),
});

/** A user without an entry among the machine's users, as in some containers, has a number alone. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

const pollMs = 45_000;

/** Beside a `run` of the same folder, or without one: the leases and the rate budget are in the file that both have open. */
export function localPolls(bridge: LocalBridge): Polls {
  const { state, target, onClose } = bridge;
  const settings = settingsWith();
  const newId = () => `poll-${randomUUID()}`;
  const partner = createLocalPartner({
    ...{ state, settings, newId, observer: silentObserver },
    baseUrl: baseUrlOf(bridge),
    // Events about an account stay owed until the bridge runs.
    events: noSubscriberYet,
  });
  onClose(() => partner.client.close());
  const drain = createDrain({
    accounts: partner.accounts,
    feedStates: state.feedStates,
    reader: partner,
    queue: state.queue,
    deadLetters: state.queue,
    parked: state.parked,
    bridgePausedUntil: async () => quietUntil(await state.budgetStore.read()),
    observer: silentObserver,
    clock: systemClock,
    newId: () => randomUUID().replaceAll('-', ''),
    holder: newId(),
    settings: { ...settings, leaseMs: 90_000, maxWaiting: 20_000, feedsAtOnce: 10 },
  });
  return {
    accounts: partner.accounts,
    poll: async (only) =>
      pollAnswerOf(
        await drain.round({
          deadlineMs: systemClock.now() + pollMs,
          ...(only !== undefined && { only }),
        }),
      ),
    isDelivering: () => isRunning(target.dir),
  };
}
