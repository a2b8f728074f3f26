import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Clock } from '../../../../shared/domain/clock.ts';
import { createCachedBudget } from '../../../../shared/partner-api/cached-rows.ts';
import { createRateLimiter, type RateLimiterOptions } from '../../../../shared/partner-api/rate-limiter.ts';
import { type BudgetState, type BudgetStore, createBudgetStore } from '../../../../shared/state/budget.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { holdBridge, serviceHold } from '../../../helpers/holds.ts';
import { faultOf } from '../../../helpers/partner-api/fixtures.ts';
import {
  createVirtualClock,
  startMs,
  type VirtualClock,
} from '../../../helpers/partner-api/virtual-clock.ts';

const limiterOf = (store: BudgetStore, clock: Clock, options: Partial<RateLimiterOptions> = {}) =>
  createRateLimiter({
    ...{ budget: createCachedBudget(store, options.clock ?? clock), clock, maxRequestsPerSecond: 10 },
    ...options,
  });

/** The number of slots of a reservation at ten requests a second. */
const slotsOf = (before: BudgetState, { nextSlotMs, clockMs = 0 }: BudgetState) =>
  Math.max(0, Math.round((nextSlotMs - Math.max(before.nextSlotMs, clockMs)) / 105));

function setUp(options: Partial<RateLimiterOptions> = {}) {
  const clock = createVirtualClock();
  const inner = createBudgetStore(createInMemoryStore());
  const reserved: number[] = [];
  const store: BudgetStore = {
    ...inner,
    change: async (rule) => {
      let slots = 0;
      const changed = await inner.change((state) => {
        const next = rule(state);
        slots = slotsOf(state, next);
        return next;
      });
      reserved.push(slots);
      return changed;
    },
  };
  const make = () => limiterOf(store, clock, options);
  return { clock, store, reserved, rateLimiter: make(), other: make() };
}
const farMs = startMs + 3_600_000;

/** When each of `count` callers gets in, in milliseconds from now. */
async function starts(clock: VirtualClock, enter: () => Promise<unknown>, count: number): Promise<number[]> {
  const begun = clock.now();
  const times: number[] = [];
  const all = Array.from({ length: count }, () => enter().then(() => times.push(clock.now() - begun)));
  await clock.run();
  await Promise.all(all);
  return times;
}

it('callers get turns a bit further apart than the rate, a write a second', async () => {
  const { clock, rateLimiter, reserved } = setUp();

  const times = await starts(clock, () => rateLimiter.enter('a', farMs), 25);

  expect([times[0], reserved]).toEqual([0, [10, 10, 5]]);
  for (const [i, time] of times.entries()) expect(Math.abs(time - i * 105)).toBeLessThanOrEqual(1);
});

it('whoever gets a slot knows what other processes have stored meanwhile', async () => {
  const { clock, store } = setUp();
  const budget = createCachedBudget(store, clock);
  const rateLimiter = limiterOf(store, clock, { budget, maxRequestsPerSecond: 0.1 });
  await starts(clock, () => rateLimiter.enter('a', farMs), 1);
  const next = rateLimiter.enter('a', farMs);
  await clock.run(clock.now() + 5_000);
  await holdBridge(store, serviceHold('service', farMs));
  await clock.run();

  await next;
  expect(budget.state.holds).toHaveLength(1);
});

it('the rate limiter goes on for everyone after the clock was set back', async () => {
  const { clock, rateLimiter, other } = setUp();
  await starts(clock, () => rateLimiter.enter('a', farMs), 20);
  clock.advance(-5 * 3_600_000);
  const deadlineMs = clock.now() + 10_000;

  expect(await starts(clock, () => rateLimiter.enter('a', deadlineMs), 2)).toHaveLength(2);
  expect(await starts(clock, () => other.enter('a', deadlineMs), 2)).toHaveLength(2);
});

it('the slots of others are kept when one process has a fast clock', async () => {
  const { clock, store, rateLimiter } = setUp();
  const ahead: Clock = { ...clock, now: () => clock.now() + 15_000 };
  const early = limiterOf(store, ahead);
  const times: number[] = [];
  const ask = async (limiter: typeof rateLimiter, deadlineMs: number) => {
    await limiter.enter('a', deadlineMs);
    times.push(clock.now());
  };
  const asked: Promise<unknown>[] = [];
  for (let request = 0; request < 240; request += 1) {
    const isEarly = (request * 7) % 13 < 6;
    asked.push(ask(isEarly ? early : rateLimiter, (isEarly ? ahead : clock).now() + 20_000));
    await clock.run(clock.now() + ((request * 37) % 170));
  }
  await clock.run();

  expect((await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected')).toEqual([]);
  // It learns of its clock by its second reservation.
  for (const from of times.filter((time) => time > startMs + 2_000))
    expect(times.filter((time) => time >= from && time < from + 1_000).length).toBeLessThanOrEqual(11);
  expect(Math.max(...times)).toBeLessThan(startMs + 27_000);
});

it('no slot is lost while the store is slow', async () => {
  const { clock, store, reserved, rateLimiter } = setUp();
  const { change } = store;
  store.change = async (rule) => {
    const changed = await change(rule);
    await clock.sleep(100);
    return changed;
  };
  for (let request = 0; request < 10; request += 1) {
    await starts(clock, () => rateLimiter.enter('a', farMs), 1);
    clock.advance(1_000);
  }

  // The duration is known after the first reservation.
  expect(reserved).toHaveLength(11);
});

const scene = fc.record({
  rate: fc.constantFrom(1, 3, 10, 50, 400),
  rateLimiters: fc.integer({ min: 1, max: 4 }),
  arrivals: fc.array(fc.record({ rateLimiter: fc.nat(), afterMs: fc.integer({ min: 0, max: 400 }) }), {
    minLength: 1,
    maxLength: 60,
  }),
  seed: fc.integer(),
});

/** Mostly small, at times large: how timers and stores are. */
function delays(seed: number): () => number {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
  return () => (random() < 0.7 ? 3 : 300) * random();
}

it('the rate is kept in any second by all limiters, however late they are', async () => {
  await fc.assert(
    fc.asyncProperty(scene, async ({ rate, rateLimiters, arrivals, seed }) => {
      const delay = delays(seed);
      const clock = createVirtualClock(delay);
      const inner = createBudgetStore(createInMemoryStore());
      const store: BudgetStore = {
        ...inner,
        async change(rule) {
          const changed = await inner.change(rule);
          await clock.sleep(delay());
          return changed;
        },
      };
      const all = Array.from({ length: rateLimiters }, () =>
        limiterOf(store, clock, { maxRequestsPerSecond: rate }),
      );
      const times: number[] = [];

      const calls = arrivals.map(async ({ rateLimiter, afterMs }) => {
        await clock.sleep(afterMs);
        await all[rateLimiter % rateLimiters]?.enter('a', farMs);
        times.push(clock.now());
      });
      await clock.run();
      await Promise.all(calls);

      expect(times).toHaveLength(arrivals.length);
      times.sort((a, b) => a - b);
      for (const [i, from] of times.entries()) {
        const within = times.slice(i).filter((time) => time < from + 1000).length;
        expect(within).toBeLessThanOrEqual(rate);
      }
    }),
    { numRuns: 60 },
  );
});

it.each([45, 80])('the rate is used up when each timer is late by %i ms', async (lateMs) => {
  const clock = createVirtualClock(() => lateMs);
  const rateLimiter = limiterOf(createBudgetStore(createInMemoryStore()), clock);

  const times = await starts(clock, () => rateLimiter.enter('a', farMs), 20);

  expect(times.at(-1)).toBeLessThan(3_000);
});

it('a call is refused at once, unreserved, when no slot precedes its end', async () => {
  const { clock, rateLimiter, reserved } = setUp();
  const first = Array.from({ length: 10 }, () => rateLimiter.enter('a', farMs));
  await clock.run(startMs);

  const fault = await faultOf(rateLimiter.enter('b', startMs + 500));

  expect(fault).toMatchObject({ code: 'paused', retryAfterMs: 1050 });
  expect(fault.message).toContain('b');
  expect(reserved).toHaveLength(1);
  await clock.run();
  await Promise.all(first);
});

it('an unreachable store is a passing fault, and limiting goes on after it', async () => {
  const { clock, rateLimiter, store } = setUp();
  const { change } = store;
  store.change = () => Promise.reject(new Error('table gone'));

  const fault = await faultOf(rateLimiter.enter('a', farMs));
  store.change = change;

  expect(fault).toMatchObject({ code: 'transient' });
  expect(await starts(clock, () => rateLimiter.enter('a', farMs), 1)).toEqual([0]);
});
