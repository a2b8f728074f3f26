import { describe, expect, it, vi } from 'vitest';
import { BridgeFault, type FaultKind } from '../../../shared/domain/faults.ts';
import { holdOf, withHold } from '../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import { createCachedAccounts, createCachedBudget } from '../../../shared/partner-api/cached-rows.ts';
import { createHoldKeeper } from '../../../shared/partner-api/hold-keeper.ts';
import { createInMemoryState } from '../../fakes/state.ts';
import { freeBridge, holdBridge, serviceHold, stopped } from '../../helpers/holds.ts';
import { createVirtualClock, startMs } from '../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';
import { partnerAccount } from '../../helpers/records.ts';

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
      retryAfterMs?: number,
    ) => {
      const fault = kind && new BridgeFault(kind, kind, retryAfterMs === undefined ? {} : { retryAfterMs });
      const sentAt = clock.now();
      clock.advance(1);
      const answer = { account, resource: `${account} ${object}`, fault, sentAt, isUndecided: false };
      await holds.answered(answer);
    };
    const admitTo = (account: PartnerAccount | undefined, resource: string, isForTokens = false) =>
      holds.admit({ account, resource, isForTokens }).then(
        () => 'admitted',
        (error: BridgeFault) => error.code,
      );
    const admit = async (resource: string) => admitTo(await stored.read('main'), resource);
    /** Through a hold of the bridge, which the rate limiter has just looked for. */
    const enter = async (resource: string, isForTokens = false) => {
      await budget.refresh();
      return admitTo(undefined, resource, isForTokens);
    };
    return { budget, partnerAccounts, holds, answered, admit, enter };
  };
  const main = async () => stored.read('main');
  return { clock, store, stored, observer, main, first: start(), second: start() };
}

describe('holds because of answers', () => {
  it('are of the bridge when two accounts answer 403, and at once for 429', async () => {
    const { clock, store, first, second } = await setUp();
    await first.answered('main', 1, 'forbidden');
    await first.answered('shop', 1, 'forbidden');
    await second.answered('main', 2, 'rate-limited', 3_000);

    expect((await store.read()).holds).toMatchObject([
      { kind: 'circuit', forMs: 1_800_000 },
      { kind: 'service', forMs: 3_000 },
    ]);
    clock.advance(1_001);
    expect(await first.enter('shop 2')).toBe('paused');
  });

  it('are made by the next answer where one could not be stored', async () => {
    const { clock, store, first } = await setUp();
    const fault = new BridgeFault('rate-limited', 'wait', { retryAfterMs: 3_000 });
    const answer = { account: 'main', fault, sentAt: clock.now(), isUndecided: false };
    vi.spyOn(first.budget, 'change').mockRejectedValueOnce(new Error('throttled'));

    await first.holds.answered({ ...answer, resource: 'main 1' });
    await first.holds.answered({ ...answer, resource: 'main 2' });

    expect((await store.read()).holds).toMatchObject([{ kind: 'service', forMs: 3_000 }]);
  });

  it('end with the success of one trial, which is claimed once and not by a blamed advert', async () => {
    const { clock, main, first, second } = await setUp();
    for (const advert of [1, 2, 3]) await first.answered('main', advert, 'token-rejected');
    clock.advance(5_000);

    expect(await second.admit('main 1')).toBe('account-paused');
    expect(await second.admit('main 9')).toBe('admitted');
    expect(await second.admit('main 9')).toBe('admitted');
    expect(await first.admit('main 8')).toBe('account-paused');

    await second.answered('main', 9);
    expect((await main())?.holds).toBeUndefined();
  });

  it('are twice as long after a trial with the same fault, and tried by a blamed advert if nothing else asks', async () => {
    const { clock, main, first } = await setUp();
    for (const advert of [1, 2, 3]) await first.answered('main', advert, 'transient');
    clock.advance(5_000 + 60_000);
    expect(await first.admit('main 1')).toBe('admitted');

    await first.answered('main', 1, 'transient');

    expect((await main())?.holds).toMatchObject([{ forMs: 10_000, until: clock.now() + 10_000 }]);
  });

  it('outlast successes of the feed, after which a blamed advert may try as soon as without them', async () => {
    const { clock, main, first } = await setUp();
    for (const advert of [1, 2, 3]) await first.answered('main', advert, 'transient');
    clock.advance(5_000);
    for (let round = 1; round <= 6; round += 1) {
      expect(await first.admit('main feed')).toBe('admitted');
      // The drain puts messages back at this moment, in each round.
      expect(holdOf(undefined, await main(), clock.now())).toBeUndefined();
      await first.answered('main', 'feed');
      expect(await first.admit('main 1')).toBe('account-paused');
      clock.advance(10_000);
    }

    expect(await first.admit('main 1')).toBe('admitted');
    await first.answered('main', 1);
    expect((await main())?.holds).toBeUndefined();
  });
});

describe('a rejected token in the request that tries the service', () => {
  it.each([
    ['ends a hold for another reason, so that the token can be renewed', 'rate-limited', undefined],
    ['leaves a hold because of rejected tokens', 'token-rejected', 'token-rejected'],
  ] as const)('%s', async (_title, held, left) => {
    const { clock, store, first } = await setUp();
    const hold = {
      kind: 'service',
      since: startMs,
      until: startMs + 1_000,
      forMs: 1_000,
      fault: held,
    } as const;
    await store.change((state) => ({ ...state, holds: [hold] }));
    clock.advance(2_000);
    expect(await first.enter('main 1')).toBe('admitted');

    const fault = new BridgeFault('token-rejected', 'token-rejected');
    const answer = { account: 'main', resource: 'main 1', fault, sentAt: clock.now() };
    await first.holds.answered({ ...answer, isUndecided: true });

    expect((await store.read()).holds?.[0]?.fault).toBe(left);
  });
});

describe('the answer of a trial', () => {
  it('is evidence like any other when the hold is over', async () => {
    const { clock, store, first } = await setUp();
    await holdBridge(store, serviceHold('service', startMs - 1));
    expect(await first.enter('main 1')).toBe('admitted');
    await freeBridge(store);
    clock.advance(1_001);
    expect(await first.enter('main 1')).toBe('admitted');

    await first.answered('main', 1, 'rate-limited', 9_000);

    expect((await store.read()).holds).toMatchObject([{ fault: 'rate-limited', forMs: 9_000 }]);
  });

  it('ends both of two holds by a success', async () => {
    const { store, first } = await setUp();
    for (const kind of ['circuit', 'service'] as const)
      await holdBridge(store, serviceHold(kind, startMs - 1));
    expect(await first.enter('main 1')).toBe('admitted');

    await first.answered('main', 1);

    expect((await store.read()).holds).toBeUndefined();
  });

  it('holds the whole bridge if it is a 429 for an account', async () => {
    const { clock, store, first } = await setUp();
    for (const advert of [1, 2, 3]) await first.answered('main', advert, 'transient');
    clock.advance(10_000);
    expect(await first.admit('main 4')).toBe('admitted');

    await first.answered('main', 4, 'rate-limited', 9_000);

    expect((await store.read()).holds).toMatchObject([{ fault: 'rate-limited', forMs: 9_000 }]);
  });
});

describe('a hold of the bridge', () => {
  const pause = (forMs: number) => serviceHold('service', startMs + forMs);

  it('stops every process within a second, and is over a second after it was ended early', async () => {
    const { clock, store, first, second } = await setUp();
    expect(await second.enter('main 1')).toBe('admitted');
    await first.budget.change((state) => withHold(state, pause(60_000)));
    expect(await first.enter('main 1')).toBe('paused');
    clock.advance(1_001);
    expect(await second.enter('main 1')).toBe('paused');

    await freeBridge(store);
    clock.advance(1_001);
    expect([await first.enter('main 1'), await second.enter('main 1')]).toEqual(['admitted', 'admitted']);
  });

  it('stands although a read of the store began before it', async () => {
    const { clock, store, first } = await setUp();
    store.read = async () => {
      await first.budget.change((state) => withHold(state, pause(90_000)));
      return { nextSlotMs: 0 };
    };
    clock.advance(1_001);

    expect(await first.enter('main 1')).toBe('paused');
  });

  it('holds here even if it cannot be stored, which is logged', async () => {
    const { store, observer, first } = await setUp();
    const error = new Error('table gone');
    await first.enter('main 1');
    store.change = () => Promise.reject(error);

    await first.answered('main', 1, 'rate-limited', 60_000);

    expect(await first.enter('main 2')).toBe('paused');
    expect(observer.lines).toContainEqual(
      expect.objectContaining({ fields: { error: expect.objectContaining({ cause: error }) } }),
    );
  });
});

describe('403 for the only account, as another process has listed', () => {
  /** @returns the holds of the bridge after three forbidden adverts, and what another process is answered about the feed */
  async function holdsAfter(feedAnswers: readonly (FaultKind | undefined)[]) {
    const { clock, store, stored, main, first, second } = await setUp();
    await stored.change('shop', (account) => ({ ...account, ...stopped('refresh-token-rejected') }));
    await first.partnerAccounts.list();
    await first.answered('main', 0);
    clock.advance(1_001);
    await second.enter('main 1');
    for (const advert of [1, 2, 3]) await second.answered('main', advert, 'forbidden');
    const own = (await main())?.holds;
    clock.advance(5_001);
    for (const answer of feedAnswers) {
      await first.partnerAccounts.read('main');
      expect(await first.admit('main feed')).toBe('admitted');
      await first.answered('main', 'feed', answer);
    }
    return { own, ofBridge: (await store.read()).holds };
  }

  it('holds only the account, and for seconds, while its feed is read', async () => {
    const { own, ofBridge } = await holdsAfter([undefined, 'forbidden']);

    expect(own).toMatchObject([{ kind: 'circuit', forMs: 5_000 }]);
    expect(ofBridge).toBeUndefined();
  });

  it('opens the circuit when its feed is forbidden too', async () => {
    const { ofBridge } = await holdsAfter(['forbidden']);

    expect(ofBridge).toMatchObject([{ kind: 'circuit', forMs: 1_800_000 }]);
  });
});
