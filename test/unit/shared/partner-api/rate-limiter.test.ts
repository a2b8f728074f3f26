import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Clock } from '../../../../shared/domain/clock.ts';
import type { BridgeFault } from '../../../../shared/domain/faults.ts';
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
  let sleeps = 0;
  const ahead: Clock = {
    now: () => clock.now() + 15_000,
    sleep: (ms) => {
      sleeps += 1;
      return clock.sleep(ms);
    },
  };
  const early = limiterOf(store, ahead);
  const [times, leftMs] = [[] as number[], [] as number[]];
  const ask = async (limiter: typeof rateLimiter, { now }: Pick<Clock, 'now'>) => {
    const untilMs = await limiter.enter('a', now() + 10_000);
    leftMs.push(untilMs - now());
    times.push(clock.now());
  };
  const asked: Promise<unknown>[] = [];
  for (let request = 0; request < 240; request += 1) {
    const isEarly = (request * 7) % 13 < 6;
    asked.push(isEarly ? ask(early, ahead) : ask(rateLimiter, clock));
    await clock.run(clock.now() + ((request * 37) % 170));
  }
  await clock.run();

  expect((await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected')).toEqual([]);
  // By the clock of the process that uses the slot.
  expect(Math.min(...leftMs)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...leftMs)).toBeLessThanOrEqual(41);
  // It learns of its clock by its second reservation.
  for (const from of times.filter((time) => time > startMs + 2_000))
    expect(times.filter((time) => time >= from && time < from + 1_000).length).toBeLessThanOrEqual(11);
  expect(Math.max(...times)).toBeLessThan(startMs + 27_000);
  // It sleeps and is refused by its own clock.
  expect(sleeps).toBeLessThan(240);
  clock.advance(1_000);
  const [last, refused] = [early.enter('b', ahead.now()), faultOf(early.enter('c', ahead.now() + 104))];
  await clock.run();
  await last;
  expect((await refused).retryAfterMs).toBe(105);
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

it.each([
  [10, 105, 40],
  [1, 1_050, 40],
  // At low rates, slots are further apart and usable for longer.
  [0.5, 2_100, 80],
  [0.1, 10_500, 400],
])('slots at %d requests a second are %i ms apart and last %i ms', async (rate, everyMs, usableMs) => {
  const { clock, rateLimiter } = setUp({ maxRequestsPerSecond: rate });
  const calls = [rateLimiter.enter('a', farMs), rateLimiter.enter('b', farMs)];
  await clock.run();

  expect(await Promise.all(calls)).toEqual([startMs + usableMs, startMs + everyMs + usableMs]);
  expect(clock.now()).toBe(startMs + everyMs);
});

it.each([
  // Used at the very end of its time, or lost, so that the next one is taken.
  [[40], [0, 145, 210, 315, 420, 525]],
  // The next timer ends earlier by what this one was late.
  [
    [41, 41],
    [0, 211, 315, 420, 525, 630],
  ],
  // Those that have not ended yet are kept.
  [[365], [0, 525, 630, 735, 840, 945]],
])('a slot is lost when its request is later than 40 ms: %j', async (lateMs, times) => {
  const late = [...lateMs];
  const clock = createVirtualClock(() => late.shift() ?? 0);
  const rateLimiter = limiterOf(createBudgetStore(createInMemoryStore()), clock);

  expect(await starts(clock, () => rateLimiter.enter('a', farMs), 6)).toEqual(times);
});

/** The numbers of slots that `count` callers reserve at a rate, when the next slot is free in so many milliseconds. */
async function reservedBy(count: number, rate: number, freeInMs = 0) {
  const { clock, store } = setUp();
  const budget = createCachedBudget(store, clock);
  await budget.change((state) => ({ ...state, nextSlotMs: startMs + freeInMs }));
  const intervalMs = 1_050 / rate;
  const reserved: number[] = [];
  const counting: typeof budget = {
    ...{ refresh: budget.refresh, change: budget.change },
    state: budget.state,
    reserve: (rule) =>
      budget.reserve((state) => {
        const next = rule(state);
        const since = Math.max(state.nextSlotMs, next.clockMs ?? 0);
        reserved.push(Math.round((next.nextSlotMs - since) / intervalMs));
        return next;
      }),
  };
  const rateLimiter = limiterOf(store, clock, { budget: counting, maxRequestsPerSecond: rate });
  await starts(clock, () => rateLimiter.enter('a', farMs), count);
  return reserved;
}

it.each<[count: number, rate: number, freeInMs: number, reserved: number[]]>([
  // For requests of the next 40 ms, too, unless all slots until then are taken.
  [1, 26, 0, [1]],
  [1, 27, 0, [2]],
  [1, 100, 0, [4]],
  [1, 100, 1, [4]],
  [1, 100, 2, [1]],
  [5, 100, 2, [5]],
  // For at most a second.
  [3, 0.5, 0, [1, 1, 1]],
  [3, 1, 0, [1, 1, 1]],
  [96, 100, 0, [96]],
  [97, 100, 0, [96, 4]],
])('%i callers at %d a second, free in %i ms, reserve %j slots', async (count, rate, freeInMs, reserved) => {
  expect(await reservedBy(count, rate, freeInMs)).toEqual(reserved);
});

it.each([
  [15, [0, 6, 16.5]],
  // At most a millisecond early.
  [19.5, [0, 1.5, 12]],
  [20, [0, 0, 11.5]],
])('a slot reserved ahead needs no write, and is used in time: %d', async (atMs, used) => {
  const { clock, rateLimiter, reserved } = setUp({ maxRequestsPerSecond: 100 });
  await starts(clock, () => rateLimiter.enter('a', farMs), 1);
  clock.advance(atMs);

  // Of the slots at 10.5, 21 and 31.5 ms the first one is not lost yet.
  expect(await starts(clock, () => rateLimiter.enter('b', farMs), 3)).toEqual(used);
  expect(reserved).toHaveLength(1);
});

it.each([
  // Its first slot is lost while the store is slow; the second one is reserved for half a second later.
  [3_000, 3_500],
  // The clock was set back.
  [-3_000, 0],
])('a stalled store makes the next slot at most 500 ms later: %i ms', async (delayMs, startedMs) => {
  const { clock, store, rateLimiter } = setUp();
  const { change } = store;
  let leftMs = delayMs;
  store.change = async (rule) => {
    const changed = await change(rule);
    clock.advance(leftMs);
    leftMs = 0;
    return changed;
  };

  expect(await starts(clock, () => rateLimiter.enter('a', farMs), 1)).toEqual([startedMs]);
  expect(await starts(clock, () => rateLimiter.enter('a', farMs), 1)).toEqual([105]);
});

it('a slot is counted from the last attempt to reserve it', async () => {
  const { clock, store, rateLimiter } = setUp();
  const { change } = store;
  store.change = (rule) =>
    change((state) => {
      rule(state);
      clock.advance(300);
      return rule(state);
    });

  expect(await rateLimiter.enter('a', farMs)).toBe(startMs + 340);
});

it.each<[number, number, number, rate?: number]>([
  [0, 0, 1],
  [1, 105, 105],
  [2, 210, 210],
  [12, 1_260, 1_260],
  // A wait has whole milliseconds, and is not too short.
  [1, 10.5, 11, 100],
])('a call behind %i is refused unless it may begin in %d ms', async (others, inMs, waitMs, rate = 10) => {
  const { clock, rateLimiter } = setUp({ maxRequestsPerSecond: rate });
  const before = Array.from({ length: others }, () => rateLimiter.enter('a', farMs));
  const refused = faultOf(rateLimiter.enter('b', startMs + inMs - 1));
  const accepted = rateLimiter.enter('c', startMs + inMs);

  const why = 'not sent (b): the rate budget has no slot before the deadline';
  expect(await refused).toMatchObject({ code: 'paused', message: why, retryAfterMs: waitMs });
  await clock.run();
  expect(await accepted).toBe(startMs + inMs + 40);
  await Promise.all(before);
});

it('calls that waited in vain are refused, and others keep their order', async () => {
  const { clock, rateLimiter } = setUp();
  const ends: [string, number][] = [
    ['a', 0],
    ['b', 3_700],
    ['c', 400],
    ['d', 3_700],
    ['e', 3_250],
  ];
  const begun: string[] = [];
  const calls = ends.map(([name, endsInMs]) =>
    rateLimiter.enter(name, startMs + endsInMs + 105).then(
      () => begun.push(`${name} ${clock.now() - startMs}`),
      ({ retryAfterMs }: BridgeFault) => begun.push(`${name} after ${retryAfterMs}`),
    ),
  );
  await clock.run(startMs);
  clock.advance(3_100);
  await clock.run();
  await Promise.all(calls);

  expect(begun).toEqual(['a 0', 'c after 105', 'b 3100', 'd 3205', 'e 3310']);
});

it('a bridge that is stopping begins no request, also none that waits', async () => {
  const controller = new AbortController();
  const { clock, rateLimiter, reserved } = setUp({ stopped: controller.signal });
  const calls = ['a', 'b', 'c'].map((name) => rateLimiter.enter(name, farMs));
  const waiting = calls.slice(1).map(faultOf);
  await clock.run(startMs);
  controller.abort();
  await clock.run();

  const faults = await Promise.all([...waiting, faultOf(rateLimiter.enter('d', startMs - 1))]);
  expect(faults.map(({ code, message, retryAfterMs }) => [code, message, retryAfterMs])).toEqual(
    ['b', 'c', 'd'].map((name) => ['paused', `not sent (${name}): the bridge is stopping`, 1]),
  );
  expect([clock.now(), reserved]).toEqual([startMs + 105, [3]]);
  await calls[0];
});

it('a call is refused at once, unreserved, when no slot precedes its end', async () => {
  const { clock, store, reserved, other } = setUp();
  const budget = createCachedBudget(store, clock);
  const rateLimiter = limiterOf(store, clock, { budget });
  const first = Array.from({ length: 10 }, () => rateLimiter.enter('a', farMs));
  await clock.run(startMs);
  const refused = () => faultOf(rateLimiter.enter('b', startMs + 500));

  expect(await refused()).toMatchObject({ code: 'paused', retryAfterMs: 1050 });
  expect(reserved).toHaveLength(1);
  // Nor behind what another process has reserved since.
  first.push(other.enter('c', farMs));
  await clock.run(startMs);
  await budget.change((state) => state);
  expect(await refused()).toMatchObject({ code: 'paused', retryAfterMs: 1155 });
  await clock.run();
  await Promise.all(first);
});

it('an unreachable store is a passing fault, and limiting goes on after it', async () => {
  const { clock, rateLimiter, store } = setUp();
  const { change } = store;
  // Whoever reserves reads the row by that.
  store.read = () => Promise.reject(new Error('not read'));
  store.change = () => Promise.reject(new Error('table gone'));

  const faults = await Promise.all([1, 2].map(() => faultOf(rateLimiter.enter('a', farMs))));
  store.change = change;

  expect(faults.map(({ code }) => code)).toEqual(['transient', 'transient']);
  expect(await starts(clock, () => rateLimiter.enter('a', farMs), 1)).toEqual([0]);
});
