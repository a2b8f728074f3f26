/**
 * The life of a bridge until its release is left for another: it has met everything that leaves a trace in what is stored,
 * and is in the middle of its work.
 */
import { audit } from '../../functions/audit/audit.ts';
import { backfill } from '../../operations/backfill.ts';
import { pause } from '../../operations/pause.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { createFakeService } from '../helpers/fake-service.ts';
import type { ManualClock } from '../helpers/manual-clock.ts';
import { startBridge } from './running.ts';
import type { Store } from './stores.ts';

/** What the service was told: the same again makes it what it was. */
export type Told =
  | readonly ['change', string, string]
  | readonly ['remove', string]
  | readonly ['list', string];

export const accountNames = ['main', 'resting', 'rejected', 'left'] as const;

export interface Lived {
  readonly told: readonly Told[];
  /** Events that the bus has accepted, oldest first. */
  readonly accepted: readonly string[];
  readonly now: number;
}

/** @param pass lets time pass for the queue, too, ms */
export async function live(
  store: Store,
  clock: ManualClock,
  pass: (ms: number) => Promise<void>,
): Promise<Lived> {
  const { state } = store;
  const service = createFakeService(clock);
  const told: Told[] = [];
  const tell = (...all: Told[]) => {
    for (const each of all) {
      told.push(each);
      const [what, id, status = ''] = each;
      if (what === 'change') service.change(id, status);
      else service[what](id);
    }
  };
  const bridge = startBridge(store, service, clock, 'then');
  const { events, options, round, work, connect, refreshToken } = bridge;

  await state.applicationSecret.write({
    clientId: new Secret('client'),
    clientSecret: new Secret('hush'),
  });
  for (const partnerAccount of accountNames) {
    await connect.connect({ partnerAccount, refreshToken: new Secret(`${partnerAccount}-0`) }, options());
    clock.advance(1_000);
  }
  // The first round registers the orders' feeds, the second reads them.
  tell(['change', '7', 'new'], ['change', '8', 'new'], ['list', 'no advert'], ['change', '7', 'new']);
  await round();
  await round();
  await work();
  tell(['change', '7', 'active'], ['remove', '8'], ['change', '9', 'new'], ['change', '10', 'new']);
  await round();
  await work();
  await connect.disconnect('left');

  // Dead letters: of a wrong request, and of one whose event the bus had refused before.
  events.refuse((envelope) => envelope.includes('"advertId":"9"'));
  tell(['change', '9', 'active']);
  await round();
  await work();
  await pass(3_000);
  service.state.beforeAdvert = (id) => {
    if (['9', '10'].includes(id)) throw new PartnerError('invalid-request', 'the service calls it wrong');
  };
  tell(['change', '10', 'sold']);
  await round();
  await work();
  // Tried once, and to be tried again; not there, and to be looked at again; written, and refused by the bus.
  service.state.beforeAdvert = (id) => {
    if (id === '11') throw new PartnerError('forbidden', 'not this one', { status: 403 });
  };
  tell(['change', '12', 'new'], ['change', '13', 'new']);
  await round();
  await work();
  events.refuse((envelope) => envelope.includes('"advertId":"13"'));
  tell(['change', '11', 'new'], ['remove', '12'], ['change', '13', 'active']);
  await round();
  await work(30);
  service.state.beforeAdvert = () => undefined;

  // Messages that wait outside the queue: for a person's pause, and for a refresh token that was rejected, of which the
  // bus does not take the event either.
  tell(['change', '14', 'new']);
  await round();
  const reason = 'their night';
  await pause({ accounts: state.partnerAccounts, budgetStore: state.budgetStore }, 'resting', {
    ...{ who: 'ana', since: clock.now(), reason },
  });
  events.refuse();
  const { tokens } = service.state;
  service.state.tokens = () => {
    throw new PartnerError('grant-rejected', 'invalid_grant', { status: 400 });
  };
  const rejected = await state.partnerAccounts.read('rejected');
  await refreshToken.refresh(
    {
      ...{ partnerAccount: 'rejected', because: 'token-rejected' },
      rejectedVersion: rejected?.value.token?.version ?? '',
    },
    options(),
  );
  service.state.tokens = tokens;
  events.accept();
  await work();

  // An audit that was stopped, a backfill that was, too, and a drain that died over its page.
  const { generation } = (await state.partnerAccounts.read('main'))?.value ?? { generation: 0 };
  const key = { partnerAccount: 'main', generation };
  const stop = new AbortController();
  const ids = {
    name: 'file ids',
    page: async (from: number) => ({ data: ['7', '10', '20'].slice(from, from + 2), next: from + 2 }),
  };
  await audit(
    {
      ...{ poll: bridge.drainDeps, audits: state.audits, histories: state.advertHistories, adverts: service },
      ...{ isSettled: async () => true, isDelivering: () => true },
    },
    key,
    {
      name: ids.name,
      async page(position = '0') {
        if (position !== '0') stop.abort();
        const page = await ids.page(Number(position));
        return { advertIds: page.data, next: String(page.next) };
      },
    },
    { signal: stop.signal, repair: undefined },
  );
  const stopBackfill = new AbortController();
  await backfill(
    {
      ...{
        ...bridge.drainDeps,
        backfills: state.backfills,
        onProgress: ({ position }: { position: number }) => position > 0 && stopBackfill.abort(),
      },
      settings: { maxWaiting: 1_000, lookMs: 1_000 },
    },
    key,
    ids,
    { signal: stopBackfill.signal, restart: false },
  );
  tell(['change', '7', 'sold'], ['change', '15', 'new'], ['change', '13', 'sold']);
  await round();
  await state.feedStates.acquire(
    { partnerAccount: 'main', feed: 'adverts' },
    'drain-dead',
    clock.now(),
    90_000,
  );
  await state.budgetStore.reserve({
    ...{ count: 5, intervalMs: 100, nowMs: clock.now(), trialMs: 10_000 },
  });
  await state.budgetStore.pause(clock.now() + 20_000, 'rate-limited');

  return { told, accepted: events.accepted, now: clock.now() };
}
