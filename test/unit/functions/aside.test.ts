import { beforeEach, describe, expect, it } from 'vitest';
import { createDrain } from '../../../functions/drain/drain.ts';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import { pause, resume } from '../../../operations/pause.ts';
import { BridgeFault } from '../../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { CachedAccounts } from '../../../shared/partner-api/cached-rows.ts';
import type { Delivery } from '../../../shared/ports/queue.ts';
import { freeBridge, holdBridge, serviceHold, tokenHold } from '../../helpers/holds.ts';
import { createWorld, type World } from '../../helpers/world.ts';

const minuteMs = 60_000;
const many = { maxGroups: 10, maxPerGroup: 10, visibilityMs: minuteMs };

describe('messages that wait outside the queue', () => {
  let world: World;
  beforeEach(async () => {
    world = await createWorld();
    world.service.change('1', 'active');
    await world.round();
  });

  const kinds = async () => (await world.handleBatch()).map(({ verdict }) => verdict.kind);
  const rest = (forMs: number) =>
    world.accounts.change('main', (account) => ({
      ...account,
      holds: [tokenHold(world.clock.now() + forMs)],
    }));
  const endRest = () =>
    world.accounts.change('main', ({ holds: _over, ...account }): PartnerAccount => account);
  const connect = () =>
    world.connect.connect(
      { partnerAccount: 'main', refreshToken: new Secret('refresh-0'), sameUser: true },
      world.options(),
    );
  const block = (forMs: number) => {
    world.service.state.beforeAdvert = () => {
      const retryAfterMs = forMs;
      throw new BridgeFault('paused', 'not sent', { retryAfterMs });
    };
    return holdBridge(world.state.budgetStore, serviceHold('circuit', world.clock.now() + forMs));
  };
  const unblock = () => {
    world.service.state.beforeAdvert = () => undefined;
    return freeBridge(world.state.budgetStore);
  };
  const rows = () =>
    world.state.advertHistories.read({
      partnerAccount: 'main',
      generation: 1,
      feed: 'adverts',
      advertId: '1',
    });

  it('are those of a stopped partner account, until it is connected again', async () => {
    await world.connect.disconnect('main');
    expect(await kinds()).toEqual(['hold']);
    world.clock.advance(2 * 24 * 60 * minuteMs);
    await world.round();
    expect(await kinds()).toEqual([]);

    await connect();
    await world.round();

    expect(await kinds()).toEqual(['done']);
    expect(await world.books()).toMatchObject({ listed: 1, events: 1, inFlight: 0 });
    expect(await rows()).toBeUndefined();
  });

  it('are those of an account that is paused for longer than a minute, until somebody ends that', async () => {
    await rest(30 * minuteMs);
    expect(await kinds()).toEqual(['hold']);
    await endRest();
    await world.round();
    expect(await kinds()).toEqual(['done']);
  });

  it.each([
    ['its partner account', 'main'],
    ['the whole bridge', undefined],
  ])(
    'are those of what an operator has paused (%s), however old they are and however short it is',
    async (_what, name) => {
      const bridge = { ...world.state, clock: world.clock, who: async () => 'ann' };
      world.clock.advance(3 * 24 * 60 * minuteMs);
      await pause(bridge, name, { forMs: 2_000 });
      // The rate limiter says so of the whole bridge.
      world.service.state.beforeAdvert = () => {
        if (name === undefined)
          throw new BridgeFault('operator-paused', 'paused by ann', { retryAfterMs: 2_000 });
      };

      expect(await kinds()).toEqual(['hold']);
      await world.drain.release(world.clock.now() + minuteMs);
      expect(await kinds()).toEqual([]);
      world.clock.advance(1_000);
      await resume(bridge, name, { early: false });
      world.service.state.beforeAdvert = () => undefined;
      await world.drain.release(world.clock.now() + minuteMs);

      expect(await kinds()).toEqual(['done']);
    },
  );

  it('come back by themselves when the pause runs out', async () => {
    await rest(30 * minuteMs);
    await kinds();
    world.clock.advance(29 * minuteMs);
    await world.drain.release(world.clock.now() + minuteMs);
    expect(await kinds()).toEqual([]);
    world.clock.advance(minuteMs);
    await world.drain.release(world.clock.now() + minuteMs);
    expect(await kinds()).toEqual(['done']);
  });

  it('are those that meet a pause of the whole bridge, until that ends, be it early', async () => {
    await block(30 * minuteMs);
    expect(await kinds()).toEqual(['hold']);
    await world.drain.release(world.clock.now() + minuteMs);
    expect(await kinds()).toEqual([]);

    world.clock.advance(2 * minuteMs);
    await unblock();
    await world.drain.release(world.clock.now() + minuteMs);

    expect(await kinds()).toEqual(['done']);
  });

  it('come back when the pause of an open circuit runs out: one of them is the trial that may close it', async () => {
    await block(30 * minuteMs);
    await kinds();
    world.clock.advance(30 * minuteMs);
    // As many wait as make the drain leave the feed alone.
    const settings = { ...world.drainDeps.settings, maxWaiting: 0 };
    const { polls } = await createDrain({
      ...world.drainDeps,
      settings: { ...settings, maxWaiting: 0 },
    }).round(world.options());
    expect(polls.map(({ end }) => end)).toEqual(['backlog']);
    await world.drain.release(world.clock.now() + minuteMs);
    world.service.state.beforeAdvert = () => undefined;
    expect(await kinds()).toEqual(['done']);
  });

  it('are none when the wait is shorter: they are hidden, for a minute at most', async () => {
    await block(minuteMs);
    expect((await world.handleBatch()).map(({ verdict }) => verdict)).toEqual([
      { kind: 'retry', delayMs: minuteMs },
    ]);
  });

  it('are none when only the rate budget has no slot: nothing would put them back but the next minute', async () => {
    world.service.state.beforeAdvert = () => {
      throw new BridgeFault('paused', 'no slot', { retryAfterMs: 5 * minuteMs });
    };
    expect((await world.handleBatch()).map(({ verdict }) => verdict)).toEqual([
      { kind: 'retry', delayMs: minuteMs },
    ]);
  });

  it('are those that meet a stop which fan-out does not know of yet', async () => {
    const readAdvert = async () => {
      await world.connect.disconnect('main');
      throw new BridgeFault('account-stopped', 'stopped');
    };
    const batch = await world.state.queue.receive(many);
    const fanOut = createFanOut({ ...world.fanOutDeps, adverts: { readAdvert } });
    const [settlement] = await fanOut.handle(batch, world.options());
    expect(settlement?.verdict.kind).toBe('hold');
  });

  it('are as young after that as a new one', async () => {
    await rest(23 * 60 * minuteMs);
    await kinds();
    world.clock.advance(23 * 60 * minuteMs);
    await world.drain.release(world.clock.now() + minuteMs);
    world.clock.advance(2 * 60 * minuteMs);
    world.service.state.beforeAdvert = () => {
      throw new BridgeFault('transient', 'down');
    };
    expect(await kinds()).toEqual(['retry']);
  });

  it('are gone after disconnect --forget, once the drain has run', async () => {
    await world.connect.disconnect('main');
    await kinds();
    await world.connect.forget('main');
    await world.round();
    expect(await kinds()).toEqual(['forgotten']);
    world.clock.advance(10 * minuteMs);
    await world.round();
    expect(await world.state.aside.accounts()).toEqual([]);
    expect(await world.state.bookKeeper.queue()).toEqual({ waiting: 0, deadLetters: 0 });
  });

  it('stay where they are while their account cannot be read, and keep no others', async () => {
    await world.connect.disconnect('main');
    await kinds();
    await connect();
    const accounts = { ...world.accounts, read: () => Promise.reject(new Error('damaged')) };
    await createDrain({ ...world.drainDeps, accounts }).release(world.clock.now() + minuteMs);
    expect(await kinds()).toEqual([]);
    expect(world.observer.lines.map(({ message }) => message)).toContain(
      'messages aside could not be put back: the next run tries again',
    );
  });
});

describe('what is believed of a partner account', () => {
  let world: World;
  beforeEach(async () => {
    world = await createWorld();
  });
  const changed = async (status: string) => {
    world.service.change('1', status);
    await world.round();
  };
  const kinds = async () => (await world.handleBatch()).map(({ verdict }) => verdict.kind);

  it('is not a stop that was over before the message was put back', async () => {
    await changed('active');
    await world.connect.disconnect('main');
    expect(await kinds()).toEqual(['hold']);
    world.clock.advance(500);
    await world.connect.connect(
      { partnerAccount: 'main', refreshToken: new Secret('refresh-0'), sameUser: true },
      world.options(),
    );
    await world.round();
    expect(await kinds()).toEqual(['done']);
  });

  it('is not an older generation than that of the message', async () => {
    await changed('active');
    await kinds();
    await world.connect.forget('main');
    await world.connect.connect(
      { partnerAccount: 'main', refreshToken: new Secret('refresh-0') },
      world.options(),
    );
    await changed('sold');
    expect(await kinds()).toEqual(['done']);
  });

  it('is not what a look says that was begun for an earlier message and ends late', async () => {
    const { read } = world.accounts;
    let releaseLate: (() => void) | undefined;
    let reads = 0;
    const accounts = {
      ...world.accounts,
      async read(name: string) {
        reads += 1;
        const found = await read(name);
        if (reads === 1) await new Promise<void>((resolve) => (releaseLate = resolve));
        return found;
      },
    };
    const fanOut = createFanOut({
      ...world.fanOutDeps,
      accounts: new CachedAccounts(accounts, world.clock),
    });
    await world.connect.disconnect('main');
    await world.state.queue.send([message('1', world)]);
    const first = await world.state.queue.receive(many);
    const late = fanOut.handle(first, world.options());
    await world.connect.connect(
      { partnerAccount: 'main', refreshToken: new Secret('refresh-0'), sameUser: true },
      world.options(),
    );
    world.service.change('2', 'active');
    await world.state.queue.send([message('2', world)]);
    const second = await world.state.queue.receive(many);

    const [settlement] = await fanOut.handle(second, world.options());

    expect(settlement?.verdict.kind).toBe('done');
    releaseLate?.();
    expect((await late).map(({ verdict }) => verdict.kind)).toEqual(['hold']);
  });

  it('is not another generation, though the queue dates the message before the look at that', async () => {
    await changed('active');
    const [old] = await world.state.queue.receive(many);
    await world.connect.forget('main');
    const kindOf = async (delivery: Delivery) =>
      (await world.fanOut.handle([delivery], world.options())).map(({ verdict }) => verdict.kind);
    expect(await kindOf(old as Delivery)).toEqual(['forgotten']);
    await world.connect.connect(
      { partnerAccount: 'main', refreshToken: new Secret('refresh-0') },
      world.options(),
    );
    world.service.change('2', 'active');
    await world.round();
    const [fresh] = await world.state.queue.receive(many);

    // Its clock is a minute behind.
    expect(await kindOf({ ...(fresh as Delivery), sentAt: world.clock.now() - minuteMs })).toEqual(['done']);
  });

  it('is looked at once for the adverts of a batch', async () => {
    const { read } = world.accounts;
    let reads = 0;
    const accounts = {
      ...world.accounts,
      read(name: string) {
        reads += 1;
        return read(name);
      },
    };
    for (const id of ['1', '2', '3']) world.service.change(id, 'active');
    await world.round();
    const batch = await world.state.queue.receive(many);
    await createFanOut({ ...world.fanOutDeps, accounts: new CachedAccounts(accounts, world.clock) }).handle(
      batch,
      world.options(),
    );
    expect(reads).toBe(1);
  });
});

const message = (advertId: string, { clock }: World) => ({
  key: `read:${advertId}`,
  partnerAccount: 'main',
  generation: Math.floor(Date.parse('2026-11-20T12:00:00Z') / 1000),
  feed: 'adverts' as const,
  advertId,
  listedAt: new Date(clock.now()).toISOString(),
  cause: 'feed' as const,
  correlationId: 'read',
});
