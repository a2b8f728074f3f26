/** A bridge at work over a store: today's use cases, a partner service in memory, and a bus that keeps what it accepts. */
import { connectPorts, createConnect } from '../../functions/connect/connect.ts';
import { createDrain } from '../../functions/drain/drain.ts';
import { createFanOut } from '../../functions/fan-out/fan-out.ts';
import { createRefreshToken } from '../../functions/refresh-token/refresh-token.ts';
import { quietUntil } from '../../shared/domain/rate-budget.ts';
import { ViewedAccounts } from '../../shared/partner-api/tokens/account-views.ts';
import { createInMemoryEvents } from '../fakes/event-publisher.ts';
import type { createFakeService } from '../helpers/fake-service.ts';
import type { ManualClock } from '../helpers/manual-clock.ts';
import type { Store } from './stores.ts';

export type Service = ReturnType<typeof createFakeService>;

/** @param run tells this process's IDs from those of any other */
export function startBridge({ state, observer }: Store, service: Service, clock: ManualClock, run: string) {
  const events = createInMemoryEvents();
  const accounts = state.partnerAccounts;
  let ids = 0;
  const newId = () => `${run}-${++ids}`;
  const random = () => 0.5;
  const bridgePausedUntil = async () => quietUntil(await state.budgetStore.read());
  const common = { accounts, observer, clock, random, newId, bridgePausedUntil, events };
  const tokens = {
    ...{ ...common, vault: state.vault, application: state.applicationSecret, endpoint: service },
    settings: { bridge: 'AdvertBridge', requiredScope: 'v2 read write', lockMs: 90_000, overlapSeconds: 300 },
  };
  const drainDeps = {
    ...{ ...common, feedStates: state.feedStates, reader: service, parked: state.parked },
    ...{ queue: state.queue, deadLetters: state.malformed, holder: `drain-${run}` },
    settings: {
      ...{ overlapSeconds: 300, leaseMs: 90_000, maxWaiting: 20_000, pollSeconds: 60, feedsAtOnce: 10 },
      feeds: ['adverts', 'orders'] as const,
    },
  };
  const drain = createDrain(drainDeps);
  const options = () => ({ deadlineMs: clock.now() + 60_000 });

  return {
    events,
    drainDeps,
    refreshToken: createRefreshToken(tokens),
    connect: createConnect({ ...tokens, ...connectPorts(state, service) }),
    options,
    /** A minute later the drain asks every feed. */
    round() {
      clock.advance(60_000);
      return drain.round(options());
    },
    /** Fan-out takes what the queue gives out now. @returns how many messages */
    async work(confirmUnavailableSeconds = 0): Promise<number> {
      const fanOut = createFanOut({
        ...{ ...common, histories: state.advertHistories, adverts: service },
        accounts: new ViewedAccounts(accounts, clock),
        settings: {
          bridge: 'AdvertBridge',
          advertTries: 5,
          maxAgeMs: 86_400_000,
          confirmUnavailableSeconds,
          fetchMs: 10_000,
        },
      });
      const batch = await state.inbox.receive({ maxGroups: 50, maxPerGroup: 10, visibilityMs: 60_000 });
      await state.inbox.settle(await fanOut.handle(batch, options()));
      return batch.length;
    },
  };
}
