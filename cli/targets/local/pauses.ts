import { userInfo } from 'node:os';
import { createDrain } from '../../../functions/drain/drain.ts';
import { pollAnswerOf } from '../../../functions/drain/poll-answer.ts';
import { heldUntil } from '../../../shared/domain/rate-budget.ts';
import type { Pauses, Polls } from '../ports/pauses.ts';
import type { LocalBridge } from './bridge.ts';
import { localCatchUp } from './catch-up.ts';

export const localPauses = ({ state }: LocalBridge): Pauses => ({
  accounts: state.partnerAccounts,
  budgetStore: state.budgetStore,
  who: async () => userName(),
});

/** A user without an entry in the machine's user database, as in some containers, has only a number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

const pollMs = 45_000;

/**
 * Works with or without a concurrent `run` of the same folder: leases and rate budget are in the file that both have
 * open.
 */
export async function localPolls(bridge: LocalBridge): Promise<Polls> {
  const { state } = bridge;
  const { accounts, poll, isDelivering } = await localCatchUp(bridge);
  const drain = createDrain({
    ...poll,
    accounts,
    aside: state.aside,
    queue: state.queue,
    bridgePausedUntil: async () => heldUntil(await state.budgetStore.read(), poll.clock.now()),
    settings: { ...poll.settings, pollSeconds: 60, feedsAtOnce: 10 },
  });
  return {
    accounts,
    isDelivering,
    async poll(only) {
      const deadlineMs = poll.clock.now() + pollMs;
      return pollAnswerOf(await drain.round({ deadlineMs, ...(only !== undefined && { only }) }));
    },
  };
}
