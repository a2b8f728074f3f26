import { beforeEach, describe, expect, it } from 'vitest';
import { createFanOut, type FanOutDeps } from '../../../../functions/fan-out/fan-out.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { CachedAccounts } from '../../../../shared/partner-api/cached-rows.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/**
 * The visibility timeout of the stack's queue: ten times the function's timeout (infra/constructs/changed-adverts.ts).
 */
const visibilityMs = 10 * minuteMs;
const many = { maxGroups: 10, maxPerGroup: 10, visibilityMs };

/** How a message may fail for a day, each time it is delivered. */
const faults: Record<string, (world: World) => Partial<FanOutDeps>> = {
  'a 429 that names a second': (world) => failing(world, 'rate-limited', 1_000),
  'a 429 that names five seconds': (world) => failing(world, 'rate-limited', 5_000),
  'a 429 that names no time': (world) => failing(world, 'rate-limited'),
  'no answer': (world) => failing(world, 'transient'),
  'a rate budget without a slot': (world) => failing(world, 'paused', 200),
  'a token that is not renewed': (world) => failing(world, 'token-rejected'),
  'a wrong path': (world) => failing(world, 'wrong-path'),
  'an account that cannot be read': ({ accounts, clock }) => ({
    accounts: new CachedAccounts({ ...accounts, read: () => Promise.reject(new Error('throttled')) }, clock),
  }),
  'an account of an older generation than the message': ({ accounts, clock }) => ({
    accounts: new CachedAccounts(
      {
        ...accounts,
        async read(name) {
          const read = await accounts.read(name);
          return read && { ...read, generation: 1 };
        },
      },
      clock,
    ),
  }),
  'a history that cannot be read': ({ state }) => ({
    histories: { ...state.advertHistories, read: () => Promise.reject(new Error('throttled')) },
  }),
  'a history that somebody else writes all the time': ({ state }) => ({
    histories: { ...state.advertHistories, write: async () => undefined },
  }),
  'an advert of a wrong shape, whose tries cannot be counted': (world) => ({
    ...failing(world, 'contract-broken'),
    histories: { ...world.state.advertHistories, write: () => Promise.reject(new Error('throttled')) },
  }),
  'an advert that is not confirmed to be missing': (world) => ({
    ...failing(world, 'not-found'),
    histories: {
      ...world.state.advertHistories,
      read: async () => undefined,
      write: async (_key, row) => row,
    },
  }),
  'a bus that refuses': ({ events }) => {
    events.refuse();
    return {};
  },
};

function failing(world: World, code: BridgeFault['code'], retryAfterMs?: number): Partial<FanOutDeps> {
  const details = retryAfterMs === undefined ? {} : { retryAfterMs };
  world.service.state.beforeAdvert = () => {
    throw new BridgeFault(code, `told to be ${code}`, details);
  };
  return {};
}

describe('a message that fails for a day', () => {
  let world: World;
  beforeEach(async () => {
    world = await createWorld();
    world.service.change('1', 'active');
    await world.round();
  });

  // The shortest delays that chance may give.
  const random = () => 0;

  it.each(Object.keys(faults))('is received no more than 200 times over %s', async (name) => {
    const fanOut = createFanOut({ ...world.fanOutDeps, random, ...faults[name]?.(world) });
    const until = world.clock.now() + dayMs;
    let receives = 0;

    while (world.clock.now() < until) {
      const [delivery] = await world.state.queue.receive(many);
      if (!delivery) break;
      receives = delivery.receives;
      const settlements = await fanOut.handle([delivery], world.options());
      await world.state.queue.settle(settlements);
      const [verdict] = settlements.map((one) => one.verdict);
      if (verdict?.kind !== 'retry') break;
      expect(verdict.delayMs).toBeGreaterThan(0);
      world.clock.advance(verdict.delayMs);
    }

    expect(receives).toBeGreaterThan(1);
    expect(receives).toBeLessThanOrEqual(200);
  });

  it('is received no more than 200 times by functions that crash over it', async () => {
    const until = world.clock.now() + dayMs;
    let receives = 0;
    while (world.clock.now() < until) {
      const [delivery] = await world.state.queue.receive(many);
      receives = delivery?.receives ?? receives;
      world.clock.advance(visibilityMs);
    }
    expect(receives).toBeLessThanOrEqual(200);
  });

  it('is received once by then where its partner account is stopped', async () => {
    await world.connect.disconnect('main');
    for (let at = 0; at < dayMs; at += 10 * minuteMs) {
      await world.round();
      const settlements = await world.handleBatch();
      expect(settlements.map(({ verdict }) => verdict.kind)).toEqual(at === 0 ? ['hold'] : []);
      world.clock.advance(10 * minuteMs);
    }
    expect(await world.state.deadLetters.count()).toBe(0);
  });
});
