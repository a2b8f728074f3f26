import { createConnect } from '../../functions/connect/connect.ts';
import { createDrain } from '../../functions/drain/drain.ts';
import { redeliveryLimits } from '../../functions/fan-out/advert.ts';
import { createFanOut } from '../../functions/fan-out/fan-out.ts';
import { createRefreshToken } from '../../functions/refresh-token/refresh-token.ts';
import type { AdvertEvent, Envelope } from '../../shared/contract/events.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { createCachedAccounts } from '../../shared/partner-api/cached-rows.ts';
import { createInMemoryEvents } from '../fakes/event-publisher.ts';
import { createInMemoryState } from '../fakes/state.ts';
import { createFakeService } from './fake-service.ts';
import { createManualClock } from './manual-clock.ts';
import { createRecordingObserver } from './recording-observer.ts';

/** The three use cases over the in-memory ports and a fake service; `main` is connected. */
export async function createWorld() {
  const clock = createManualClock();
  const service = createFakeService(clock);
  const observer = createRecordingObserver();
  const state = createInMemoryState({ clock });
  const events = createInMemoryEvents();
  let ids = 0;
  const newId = () => `id${++ids}`;
  const random = () => 0.5;
  const partnerAccounts = state.partnerAccounts;
  await state.applicationSecret.write({ clientId: new Secret('client'), clientSecret: new Secret('hush') });

  const settings = {
    overlapSeconds: 300,
    maxWaiting: 20_000,
    maxRequestsPerSecond: 10,
    pollSeconds: 60,
  };
  const drainDeps = {
    ...state,
    ...{ reader: service, observer, clock, newId, settings },
    holder: 'drain-1',
  };
  const fanOutDeps = {
    ...state,
    partnerAccounts: createCachedAccounts(partnerAccounts, clock),
    adverts: service,
    events,
    observer,
    clock,
    random,
    settings: {
      ...redeliveryLimits,
      bridge: 'AdvertBridge',
      advertTries: 5,
      confirmUnavailableSeconds: 30,
      confirmUnchangedSeconds: 0,
      fetchMs: 10_000,
    },
  };
  const tokenDeps = {
    partnerAccounts,
    budgetStore: state.budgetStore,
    vault: state.vault,
    applicationSecret: state.applicationSecret,
    client: service,
    events,
    observer,
    clock,
    newId,
    settings: { requiredScope: 'v2 read write', bridge: 'AdvertBridge' },
  };
  const drain = createDrain(drainDeps);
  const fanOut = createFanOut(fanOutDeps);
  const refreshToken = createRefreshToken(tokenDeps);
  let connects = 0;
  const connectDeps = {
    ...state,
    ...tokenDeps,
    newId: () => `connect-${++connects}`,
    settings: { ...tokenDeps.settings, overlapSeconds: 300 },
  };
  const connect = createConnect(connectDeps);
  const options = () => ({ deadlineMs: clock.now() + 60_000 });

  await connect.connect({ partnerAccount: 'main', refreshToken: new Secret('refresh-0') }, options());

  return {
    clock,
    service,
    observer,
    state,
    partnerAccounts,
    events,
    drain,
    drainDeps,
    fanOut,
    fanOutDeps,
    refreshToken,
    tokenDeps,
    connect,
    connectDeps,
    options,
    round: () => drain.round(options()),
    /** Takes one batch, has it handled and settled, and returns what was decided. */
    async handleBatch(maxGroups = 10, { handle } = fanOut) {
      const batch = await state.queue.receive({ maxGroups, maxPerGroup: 10, visibilityMs: 60_000 });
      const settlements = await handle(batch, options());
      await state.queue.settle(settlements);
      return settlements;
    },
    /** Every event accepted, oldest first, parsed. */
    published: () => events.accepted.map((text) => JSON.parse(text) as Envelope),
    advertEvents: () =>
      events.accepted
        .map((text) => JSON.parse(text) as AdvertEvent)
        .filter(({ detail }) => 'advertId' in detail.data),
    books: async (name = 'main') => {
      const account = await partnerAccounts.read(name);
      return state.bookKeeper.read(name, account?.generation ?? 0);
    },
    account: async (name = 'main') => await partnerAccounts.read(name),
    feed: async (name = 'main') =>
      (await state.feedStates.list()).find(({ partnerAccount }) => partnerAccount === name),
  };
}

export type World = Awaited<ReturnType<typeof createWorld>>;
