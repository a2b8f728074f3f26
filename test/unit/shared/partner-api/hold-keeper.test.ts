import { expect, it, vi } from 'vitest';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import { withHold } from '../../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { createCachedAccounts, createCachedBudget } from '../../../../shared/partner-api/cached-rows.ts';
import { createHoldKeeper } from '../../../../shared/partner-api/hold-keeper.ts';
import { createInMemoryState } from '../../../fakes/state.ts';
import { freeBridge, holdBridge, serviceHold, stopped } from '../../../helpers/holds.ts';
import { faultOf } from '../../../helpers/partner-api/fixtures.ts';
import { createVirtualClock, startMs } from '../../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { partnerAccount } from '../../../helpers/records.ts';

/** Two processes with one state, and two partner accounts. */
async function setUp() {
  const clock = createVirtualClock();
  const { partnerAccounts: stored, budgetStore: store } = createInMemoryState({ clock });
  await stored.add(partnerAccount());
  await stored.add(partnerAccount({ name: 'shop' }));
  const observer = createRecordingObserver();
  const start = () => {
    const budget = createCachedBudget(store, clock);
    const partnerAccounts = createCachedAccounts(stored, clock);
    const holds = createHoldKeeper({ budget, partnerAccounts, circuitSeconds: 1_800, clock, observer });
    const answered = async (
      account: string,
      object: number | 'feed',
      kind?: FaultKind,
      waits?: Pick<BridgeFault, 'retryAfterMs' | 'askedToWaitMs'>,
    ) => {
      const fault = kind && new BridgeFault(kind, kind, waits);
      await partnerAccounts.recent(account);
      const sentAt = clock.now();
      clock.advance(1);
      const answer = { account, resource: `${account} ${object}`, fault, sentAt };
      await holds.answered(answer);
    };
    const admitTo = (account: PartnerAccount | undefined, resource: string, isForTokens = false) =>
      holds.ready({ account, resource, isForTokens, isNext: true }).then(
        () => 'admitted',
        (error: BridgeFault) => error.code,
      );
    const admit = async (resource: string) => admitTo(await partnerAccounts.read('main'), resource);
    /** Through a hold of the bridge, which the rate limiter has just looked for. */
    const enter = async (resource: string, isForTokens = false) => {
      await budget.refresh();
      return admitTo(undefined, resource, isForTokens);
    };
    return { budget, partnerAccounts, holds, answered, admitTo, admit, enter };
  };
  const main = async () => stored.read('main');
  return { clock, store, stored, observer, main, start, first: start(), second: start() };
}

it('a hold is of the bridge when two accounts answer 403, or one 429', async () => {
  const { clock, store, first, second } = await setUp();
  await first.answered('main', 1, 'forbidden');
  await second.answered('shop', 1, 'forbidden');
  await second.answered('main', 2, 'rate-limited', { retryAfterMs: 3_000 });

  // From the answer on, each a millisecond after its request.
  expect((await store.read()).holds).toMatchObject([
    { kind: 'circuit', since: startMs + 2, until: startMs + 1_800_002, forMs: 1_800_000 },
    { kind: 'service', since: startMs + 3, until: startMs + 3_003, forMs: 3_000 },
  ]);
  clock.advance(1_001);
  expect(await first.enter('shop 2')).toBe('paused');
});

it('a hold is made of evidence from several processes with one answer each', async () => {
  const { main, start } = await setUp();
  for (const advert of [1, 2, 3]) {
    const process = start();
    expect(await process.admit(`main ${advert}`)).toBe('admitted');
    await process.answered('main', advert, 'transient');
  }

  const sinceMs = startMs + 3;
  expect((await main())?.holds).toMatchObject([{ kind: 'service', fault: 'transient', since: sinceMs }]);
  expect(await start().admit('main 4')).toBe('admitted');
  expect(await start().admit('main 5')).toBe('account-paused');
});

it('a hold that could not be stored is made by the next answer', async () => {
  const { clock, store, first } = await setUp();
  const fault = new BridgeFault('rate-limited', 'wait', { retryAfterMs: 3_000 });
  const answer = { account: 'main', fault, sentAt: clock.now() };
  vi.spyOn(first.budget, 'change').mockRejectedValueOnce(new Error('throttled'));

  await first.holds.answered({ ...answer, resource: 'main 1' });
  clock.advance(5_000);
  await first.holds.answered({ ...answer, resource: 'main 2', sentAt: clock.now() });

  expect((await store.read()).holds).toMatchObject([{ kind: 'service' }]);
});

it('a hold lets one request try, claimed once, and ends with its success', async () => {
  const { clock, main, first, second } = await setUp();
  for (const advert of [1, 2, 3]) await first.answered('main', advert, 'token-rejected');
  clock.advance(5_000);

  expect(await second.admit('main 9')).toBe('admitted');
  expect(await second.admit('main 9')).toBe('admitted');
  expect(await first.admit('main 8')).toBe('account-paused');
  expect(await first.admit('main feed')).toBe('admitted');

  await second.answered('main', 9);
  expect((await main())?.holds).toBeUndefined();
  expect(await first.admit('main 8')).toBe('admitted');
});

it('a hold gives the trial to another process when the first is silent', async () => {
  const { clock, first, second } = await setUp();
  for (const advert of [1, 2, 3]) await first.answered('main', advert, 'transient');
  clock.advance(5_000);
  expect(await first.admit('main 8')).toBe('admitted');

  clock.advance(29_999);
  expect(await second.admit('main 9')).toBe('account-paused');
  clock.advance(1);
  expect(await second.admit('main 9')).toBe('admitted');
});

it('a hold lets no request try when the claim cannot be stored', async () => {
  const { clock, stored, first, second } = await setUp();
  for (const advert of [1, 2, 3]) await first.answered('main', advert, 'transient');
  clock.advance(5_000);
  stored.change = () => Promise.reject(new BridgeFault('transient', 'throttled'));

  expect(await second.admit('main 9')).toBe('transient');
});

it('good answers need no write', async () => {
  const { store, stored, observer, first } = await setUp();
  await first.partnerAccounts.list();
  await first.answered('main', 1);
  store.change = () => Promise.reject(new Error('nothing is to be written'));
  stored.change = () => Promise.reject(new Error('nothing is to be written'));

  for (const advert of [2, 3, 'feed'] as const) await first.answered('main', advert);

  expect(observer.lines).toEqual([]);
});

it('a hold is logged with what the service has answered', async () => {
  const { clock, store, observer, first, second } = await setUp();
  await first.answered('main', 1, 'forbidden');
  await first.answered('main', 2, 'transient');
  expect(observer.lines).toEqual([]);
  await first.answered('shop', 1, 'forbidden');
  clock.advance(1_800_000);
  await first.enter('main 9');
  await first.answered('main', 9, 'rate-limited', { retryAfterMs: 3_600_000, askedToWaitMs: 7_200_000 });
  await first.answered('shop', 'feed', 'not-found');
  // Nor is what another process has stored meanwhile.
  await second.answered('main', 1, 'forbidden');
  await store.change((state) => withHold(state, pause(9e9)));
  await second.answered('main', 1);
  for (const advert of [7, 8, 9]) await first.answered('shop', advert, 'transient');

  const asked = { seconds: 3_600, askedSeconds: 7_200 };
  expect(observer.lines).toEqual(
    [
      { fault: 'forbidden', reason: 'the service answers 403 to different requests', seconds: 1_800 },
      { fault: 'rate-limited', reason: 'the service asked for a pause', ...asked },
      {
        partnerAccount: 'shop',
        fault: 'transient',
        reason: 'its adverts are answered badly, each of the last ones',
        seconds: 0,
      },
    ].map((fields) => ({
      level: 'warn',
      message: 'requests are on hold because of the answers of the service',
      fields: { partnerAccount: undefined, answer: fields.fault, ...fields },
    })),
  );
  expect(observer.counts).toEqual([
    [metrics.circuitOpened, 1],
    [metrics.needsAttention, 1],
    [metrics.needsAttention, 1],
  ]);
});

it('a trial’s success ends both of two holds', async () => {
  const { store, first } = await setUp();
  for (const kind of ['circuit', 'service'] as const) await holdBridge(store, serviceHold(kind, startMs - 1));
  expect(await first.enter('main 1')).toBe('admitted');

  await first.answered('main', 1);

  expect((await store.read()).holds).toBeUndefined();
});

it('a token request waits for no trial, and is none', async () => {
  const { clock, store, first, second } = await setUp();
  await holdBridge(store, serviceHold('circuit', startMs - 1));

  expect(await first.enter('token', true)).toBe('admitted');
  // Nor is a look of a request that goes on to wait for its turn.
  await first.holds.ready({ resource: 'main 2', isNext: false });
  expect(await second.enter('main 1')).toBe('admitted');
  clock.advance(1_001);
  expect(await first.enter('token', true)).toBe('admitted');
});

it('a trial’s 429 for an account holds the whole bridge', async () => {
  const { clock, store, first } = await setUp();
  for (const advert of [1, 2, 3]) await first.answered('main', advert, 'transient');
  clock.advance(10_000);
  expect(await first.admit('main 4')).toBe('admitted');

  await first.answered('main', 4, 'rate-limited', { retryAfterMs: 9_000 });

  expect((await store.read()).holds).toMatchObject([{ fault: 'rate-limited', forMs: 9_000 }]);
});

const pause = (forMs: number) => serviceHold('service', startMs + forMs);

it('a bridge hold stops all processes within a second, and ends as fast', async () => {
  const { clock, store, first, second } = await setUp();
  expect(await second.enter('main 1')).toBe('admitted');
  await first.budget.change((state) => withHold(state, pause(60_000)));
  expect(await first.enter('main 1')).toBe('paused');
  clock.advance(1_001);
  expect(await second.enter('main 1')).toBe('paused');
  expect((await faultOf(second.holds.ready({ resource: 'main 1', isNext: false }))).code).toBe('paused');

  await freeBridge(store);
  clock.advance(1_001);
  // Slots show the row; a request that waits for none looks for itself.
  await second.holds.ready({ resource: 'main 1', isNext: false });
  expect([await first.enter('main 1'), await second.enter('main 1')]).toEqual(['admitted', 'admitted']);
});

it('a bridge hold stands although a read of the store began before it', async () => {
  const { clock, store, first } = await setUp();
  store.read = async () => {
    await first.budget.change((state) => withHold(state, pause(90_000)));
    return { nextSlotMs: 0 };
  };
  clock.advance(1_001);

  expect(await first.enter('main 1')).toBe('paused');
});

it('a bridge hold holds here even if it cannot be stored, which is logged', async () => {
  const { store, observer, first } = await setUp();
  const error = new Error('table gone');
  await first.enter('main 1');
  store.change = () => Promise.reject(error);

  await first.answered('main', 1, 'rate-limited', { retryAfterMs: 60_000 });

  expect(await first.enter('main 2')).toBe('paused');
  expect(observer.lines).toContainEqual(
    expect.objectContaining({ fields: { error: expect.objectContaining({ cause: error }) } }),
  );
});

/** @returns the holds after three forbidden adverts, and what another process is answered about the feed */
async function holdsAfter(feedAnswers: readonly (FaultKind | undefined)[]) {
  const { clock, store, stored, main, first, second } = await setUp();
  await stored.change('shop', (account) => ({ ...account, ...stopped('refresh-token-rejected') }));
  await first.partnerAccounts.list();
  await first.answered('main', 0);
  clock.advance(1_001);
  await second.enter('main 1');
  for (const advert of [1, 2, 3]) await second.answered('main', advert, 'forbidden');
  clock.advance(1_001);
  await first.enter('main feed');
  for (const answer of feedAnswers) await first.answered('main', 'feed', answer);
  return { own: (await main())?.holds, ofBridge: (await store.read()).holds };
}

it('a 403 for the only account holds its adverts while its feed is read', async () => {
  const { own, ofBridge } = await holdsAfter([undefined, 'forbidden']);

  expect(own).toMatchObject([{ kind: 'service', fault: 'forbidden' }]);
  expect(ofBridge).toBeUndefined();
});

it('a 403 for the only account opens the circuit when its feed fails too', async () => {
  const { ofBridge } = await holdsAfter(['forbidden']);

  expect(ofBridge).toMatchObject([{ kind: 'circuit', forMs: 1_800_000 }]);
});

it('a hold is looked for where it can be, without a read of what is known', async () => {
  const { store, stored, first } = await setUp();
  const account = await first.partnerAccounts.read('main');
  const held = { ...partnerAccount(), holds: [{ kind: 'operator', since: 1, who: 'ann' } as const] };
  store.read = () => Promise.reject(new Error('the bridge holds nothing'));
  stored.change = () => Promise.reject(new Error('nothing is claimed'));

  expect(await first.admitTo(undefined, 'main 1')).toBe('admitted');
  expect(await first.admitTo(account, 'main 1')).toBe('admitted');
  expect(await first.admitTo(held, 'main 1')).toBe('operator-paused');
  expect(await first.admitTo(held, 'token', true)).toBe('admitted');
  await first.budget.change((state) => withHold(state, pause(60_000)));
  expect(await first.admitTo(account, 'main 1')).toBe('admitted');
});

it('a trial is claimed by one of two processes that know the same row', async () => {
  const { clock, main, first, second } = await setUp();
  for (const advert of [1, 2, 3]) await first.answered('main', advert, 'transient');
  clock.advance(1);
  const account = await main();

  expect(await first.admitTo(account, 'main 8')).toBe('admitted');
  expect((await main())?.holds).toMatchObject([{ tried: { by: 'main 8', until: clock.now() + 30_000 } }]);
  expect(await second.admitTo(account, 'main 9')).toBe('account-paused');
});

it('evidence of the bridge knows how many accounts a process has listed', async () => {
  const { store, stored, first, second } = await setUp();
  await first.answered('main', 1, 'forbidden');
  expect((await store.read()).connected).toBeUndefined();

  await first.partnerAccounts.list();
  await first.answered('main', 1);
  expect(await store.read()).toStrictEqual({ nextSlotMs: 0, connected: 2 });
  // Another one has listed none.
  await second.answered('main', 1, 'forbidden');
  expect(await store.read()).toStrictEqual({ nextSlotMs: 0, connected: 2, failing: ['main 1'] });

  await stored.add(partnerAccount({ name: 'third' }));
  await first.partnerAccounts.list();
  await first.answered('main', 1);
  expect(await store.read()).toStrictEqual({ nextSlotMs: 0, connected: 3 });
});

it('an answer without a partner account is one about the bridge alone', async () => {
  const { clock, store, observer, first } = await setUp();
  const sentAt = clock.now();
  const fault = new BridgeFault('rate-limited', 'wait');
  const holds = createHoldKeeper({ budget: first.budget, circuitSeconds: 1, clock, observer });
  await holds.answered({ account: 'main', resource: 'main 1', fault, sentAt });
  const { holds: before } = await store.read();
  clock.advance(1_001);

  await first.holds.answered({ account: undefined, resource: 'token', fault, sentAt: clock.now() });

  const lengths = [before, (await store.read()).holds].map((all) => all?.map(({ forMs }) => forMs));
  expect(lengths).toEqual([[1_000], [2_000]]);
  expect(observer.lines.map(({ fields }) => fields.partnerAccount)).toEqual([undefined, undefined]);
  expect(observer.counts).toEqual([]);
});

it.each<[string, () => Promise<undefined>, lines: object[]]>([
  [
    'cannot be written',
    () => Promise.reject(new Error('throttled')),
    [
      {
        message: 'a hold could not be stored: other processes may go on sending',
        fields: { partnerAccount: 'main', error: new Error('throttled') },
      },
    ],
  ],
  ['is gone', async () => undefined, []],
])('a hold of an account whose row %s fails no request', async (_case, change, lines) => {
  const { observer, stored, first } = await setUp();
  for (const advert of [1, 2]) await first.answered('main', advert, 'transient');
  stored.change = change;

  await first.answered('main', 3, 'transient');

  expect(observer.lines).toEqual(lines.map((line) => ({ level: 'warn', ...line })));
});
