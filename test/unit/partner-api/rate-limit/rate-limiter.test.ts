import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../../shared/domain/clock.ts';
import { type FaultKind, PartnerError } from '../../../../shared/domain/faults.ts';
import type { SlotRequest } from '../../../../shared/domain/rate-budget.ts';
import {
  createRateLimiter,
  type RateLimiter,
  type RateLimiterOptions,
} from '../../../../shared/partner-api/rate-limit/rate-limiter.ts';
import type { BudgetStore } from '../../../../shared/state/budget.ts';
import { createBudgetStore } from '../../../../shared/state/budget.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { faultOf } from '../../../helpers/partner-api/fixtures.ts';
import {
  createVirtualClock,
  startMs,
  type VirtualClock,
} from '../../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';

const faultWith = (kind: FaultKind, retryAfterMs?: number) =>
  new PartnerError(kind, kind, retryAfterMs === undefined ? {} : { retryAfterMs });

function setUp(options: Partial<RateLimiterOptions> = {}) {
  const clock = createVirtualClock();
  const inner = createBudgetStore(createInMemoryStore());
  const reserved: SlotRequest[] = [];
  const store: BudgetStore = {
    ...inner,
    reserve: (request) => {
      reserved.push(request);
      return inner.reserve(request);
    },
  };
  const make = () =>
    createRateLimiter({
      store,
      clock,
      random: () => 0,
      maxRequestsPerSecond: 10,
      circuitSeconds: 1800,
      ...options,
    });
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

describe('the rate', () => {
  it('gives callers their turns, a little further apart than the rate demands', async () => {
    const { clock, rateLimiter } = setUp();

    const times = await starts(clock, () => rateLimiter.enter('a', farMs), 4);

    expect(times[0]).toBe(0);
    for (const [i, time] of times.entries()) expect(Math.abs(time - i * 105)).toBeLessThanOrEqual(1);
  });

  it('goes on after the clock was set back, for who was there before and for who comes then', async () => {
    const { clock, rateLimiter, other } = setUp();
    await starts(clock, () => rateLimiter.enter('a', farMs), 20);
    clock.advance(-5 * 3_600_000);
    const deadlineMs = clock.now() + 10_000;

    expect(await starts(clock, () => rateLimiter.enter('a', deadlineMs), 2)).toHaveLength(2);
    expect(await starts(clock, () => other.enter('a', deadlineMs), 2)).toHaveLength(2);
  });

  it('keeps the slots of others when one process has a clock that is ahead', async () => {
    const { clock, store, rateLimiter } = setUp();
    const ahead: Clock = { ...clock, now: () => clock.now() + 15_000 };
    const early = createRateLimiter({ store, clock: ahead, maxRequestsPerSecond: 10, circuitSeconds: 1 });
    const times: number[] = [];
    const ask = async (limiter: RateLimiter, deadlineMs: number) => {
      await limiter.enter('a', deadlineMs);
      times.push(clock.now());
    };
    const asked: Promise<unknown>[] = [];
    for (let second = 0; second < 20; second += 1) {
      for (let i = 0; i < 4; i += 1) asked.push(ask(early, clock.now() + 25_000));
      for (let i = 0; i < 4; i += 1) asked.push(ask(rateLimiter, clock.now() + 10_000));
      await clock.run(clock.now() + 1_000);
    }
    await clock.run();

    expect((await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected')).toEqual([]);
    for (const from of times)
      expect(times.filter((time) => time >= from && time < from + 1_000).length).toBeLessThanOrEqual(12);
    expect(Math.max(...times)).toBeLessThan(startMs + 22_000);
  });

  it('learns of a pause after the clock was set back', async () => {
    const { clock, store, rateLimiter } = setUp();
    await starts(clock, () => rateLimiter.enter('a', farMs), 1);
    clock.advance(-5 * 3_600_000);
    await store.setOperatorPause({ who: 'me', since: clock.now() });

    const fault = faultOf(rateLimiter.enter('a', clock.now() + 10_000));
    await clock.run();

    expect((await fault).code).toBe('operator-paused');
  });

  it('asks the store once for all that ask at the same time', async () => {
    const { clock, rateLimiter, reserved } = setUp();

    await starts(clock, () => rateLimiter.enter('a', farMs), 10);

    expect(reserved.map(({ count }) => count)).toEqual([10]);
  });

  it('asks once more for all that come while the store is being asked', async () => {
    const slow = createBudgetStore(createInMemoryStore());
    const clock = createVirtualClock();
    const counts: number[] = [];
    const store: BudgetStore = {
      ...slow,
      async reserve(request) {
        counts.push(request.count);
        await clock.sleep(20);
        return slow.reserve(request);
      },
    };
    const rateLimiter = createRateLimiter({ store, clock, maxRequestsPerSecond: 10, circuitSeconds: 1 });

    const first = rateLimiter.enter('a', farMs);
    await clock.run(clock.now() + 5);
    const others = Array.from({ length: 9 }, () => rateLimiter.enter('a', farMs));
    await clock.run();
    await Promise.all([first, ...others]);

    expect(counts).toEqual([1, 9]);
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

  it('is kept in any second, by all rateLimiters together, however late timers and store are', async () => {
    await fc.assert(
      fc.asyncProperty(scene, async ({ rate, rateLimiters, arrivals, seed }) => {
        const delay = delays(seed);
        const clock = createVirtualClock(delay);
        const inner = createBudgetStore(createInMemoryStore());
        const store: BudgetStore = {
          ...inner,
          async reserve(request) {
            const reservation = await inner.reserve(request);
            await clock.sleep(delay());
            return reservation;
          },
        };
        const all = Array.from({ length: rateLimiters }, () =>
          createRateLimiter({ store, clock, maxRequestsPerSecond: rate, circuitSeconds: 1 }),
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

  it('is made use of even where every timer is late', async () => {
    const clock = createVirtualClock(() => 80);
    const rateLimiter = createRateLimiter({
      store: createBudgetStore(createInMemoryStore()),
      clock,
      maxRequestsPerSecond: 10,
      circuitSeconds: 1,
    });

    const times = await starts(clock, () => rateLimiter.enter('a', farMs), 20);

    expect(times.at(-1)).toBeLessThan(3_000);
  });

  it('counts the time to send from the slot, not from when a late timer took it', async () => {
    const timers = createVirtualClock();
    const late: Clock = { ...timers, sleep: (ms) => timers.sleep(ms + 20) };
    const { rateLimiter } = setUp({ clock: late });

    const all = Promise.all(Array.from({ length: 4 }, () => rateLimiter.enter('a', farMs)));
    await timers.run();

    const [first = 0, ...others] = await all;
    expect(others.map((untilMs) => Math.round(untilMs - first))).toEqual([105, 210, 315]);
  });

  it('gives up a slot that would be used too late, and reserves another', async () => {
    const { clock, rateLimiter, reserved } = setUp();
    const calls = [rateLimiter.enter('a', farMs), rateLimiter.enter('a', farMs)];
    await clock.run(clock.now() + 50);
    clock.advance(400);

    await clock.run();
    await Promise.all(calls);

    expect(reserved).toHaveLength(2);
  });

  it('hardly asks the store when there is no limit to speak of, and waits for no timer', async () => {
    const { clock, rateLimiter, reserved } = setUp({ maxRequestsPerSecond: 100_000 });

    for (let i = 0; i < 2_000; i += 1) {
      if (i % 5 === 0) clock.advance(1);
      await rateLimiter.enter('a', farMs);
    }

    expect(reserved.length).toBeLessThan(60);
  });

  it('refuses at once when there is no slot before the deadline, and reserves none', async () => {
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

  it('refuses those of a batch whose slots come too late, and serves the others', async () => {
    const { clock, rateLimiter } = setUp();

    const calls = Array.from({ length: 10 }, () => rateLimiter.enter('a', startMs + 320));
    const settled = Promise.allSettled(calls);
    await clock.run();

    expect((await settled).filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
  });

  it('is a passing fault when the store cannot be reached, and goes on when it can be again', async () => {
    const { clock, rateLimiter, store } = setUp();
    const { reserve } = store;
    store.reserve = () => Promise.reject(new Error('table gone'));

    const fault = await faultOf(rateLimiter.enter('a', farMs));
    store.reserve = reserve;

    expect(fault).toMatchObject({ code: 'transient' });
    expect(await starts(clock, () => rateLimiter.enter('a', farMs), 1)).toEqual([0]);
  });
});

describe('a pause', () => {
  it('that a person ends early is over for everybody a second later', async () => {
    const { clock, store, rateLimiter, other } = setUp();
    await rateLimiter.answered('a', faultWith('forbidden'), clock.now());
    await rateLimiter.answered('b', faultWith('forbidden'), clock.now());
    expect((await faultOf(rateLimiter.enter('a', farMs))).code).toBe('paused');
    expect((await faultOf(other.enter('b', farMs))).code).toBe('paused');

    await store.recover();
    clock.advance(1_100);

    expect(await starts(clock, () => rateLimiter.enter('a', farMs), 1)).toHaveLength(1);
    expect(await starts(clock, () => other.enter('b', farMs), 1)).toHaveLength(1);
  });

  it('that was found out here stands while a look at the store is on its way that began before', async () => {
    const { clock, store, rateLimiter } = setUp();
    await starts(clock, () => rateLimiter.enter('a', farMs), 1);
    clock.advance(1_100);
    await rateLimiter.answered('a', faultWith('rate-limited', 60_000), clock.now());
    clock.advance(1_100);
    // The read is answered with the state from before the pause was stored.
    const stale = { nextSlotMs: 0, pausedUntilMs: 0 };
    store.read = async () => {
      await rateLimiter.answered('a', faultWith('rate-limited', 90_000), clock.now());
      return stale;
    };
    expect((await faultOf(rateLimiter.enter('a', farMs))).code).toBe('paused');
  });

  it('asked for with a time holds for that time, for every gate', async () => {
    const { clock, rateLimiter, other } = setUp();

    await rateLimiter.answered('a', faultWith('rate-limited', 7_000), clock.now());

    expect(await faultOf(rateLimiter.enter('a', farMs))).toMatchObject({
      code: 'paused',
      retryAfterMs: 7_000,
    });
    expect(await faultOf(other.enter('b', farMs))).toMatchObject({ code: 'paused', retryAfterMs: 7_000 });
    clock.advance(7_000);
    expect(await starts(clock, () => other.enter('b', farMs), 1)).toEqual([0]);
  });

  it('holds here at once, also when the store cannot be told', async () => {
    const { clock, rateLimiter, store } = setUp();
    store.pause = () => Promise.reject(new Error('table gone'));

    await rateLimiter.answered('a', faultWith('rate-limited', 7_000), clock.now());

    expect((await faultOf(rateLimiter.enter('a', farMs))).code).toBe('paused');
  });

  it('that the store cannot be told of is told in the log', async () => {
    const observer = createRecordingObserver();
    const { clock, rateLimiter, store } = setUp({ observer });
    const error = new Error('table gone');
    store.pause = () => Promise.reject(error);

    await rateLimiter.answered('a', faultWith('rate-limited', 7_000), clock.now());

    expect(observer.lines).toMatchObject([{ level: 'warn', fields: { error } }]);
  });

  it('is told to the store only where it is longer than the one that holds', async () => {
    const { clock, rateLimiter, store } = setUp();
    const told: unknown[] = [];
    store.pause = async (untilMs, reason) => void told.push([untilMs - startMs, reason]);

    for (const waitMs of [7_000, 7_000, 6_999, 7_001]) {
      await rateLimiter.answered('a', faultWith('rate-limited', waitMs), clock.now());
    }

    expect(told).toEqual([
      [7_000, 'rate-limited'],
      [7_001, 'rate-limited'],
    ]);
  });

  it('goes with a 503 that names a time, not with one that does not', async () => {
    const { clock, rateLimiter } = setUp();

    expect(rateLimiter.answered('a', faultWith('transient'), clock.now())).toBeUndefined();
    await rateLimiter.answered('a', faultWith('transient', 3_000), clock.now());

    expect(await faultOf(rateLimiter.enter('a', farMs))).toMatchObject({ retryAfterMs: 3_000 });
  });

  it('grows with each 429 that names no time, to a minute at most, until one is answered well', async () => {
    const { clock, rateLimiter } = setUp({ random: () => 1 });
    const waits: number[] = [];
    const rateLimited = async () => {
      await rateLimiter.answered('a', faultWith('rate-limited'), clock.now());
      const { retryAfterMs = 0 } = await faultOf(rateLimiter.enter('a', farMs));
      waits.push(retryAfterMs);
      clock.advance(retryAfterMs);
    };

    for (let i = 0; i < 8; i += 1) await rateLimited();
    await rateLimiter.answered('a', undefined, clock.now());
    await rateLimited();

    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 1_000]);
  });

  it('does not grow by the 429 of requests that were on their way already', async () => {
    const { clock, rateLimiter } = setUp({ random: () => 1 });
    const sentAt = clock.now();
    clock.advance(20);

    for (let i = 0; i < 10; i += 1) await rateLimiter.answered('a', faultWith('rate-limited'), sentAt);

    expect(await faultOf(rateLimiter.enter('a', farMs))).toMatchObject({ retryAfterMs: 1_000 });
  });

  it('stops those who wait for their slot', async () => {
    const { clock, rateLimiter } = setUp();
    const calls = Promise.allSettled(Array.from({ length: 5 }, () => rateLimiter.enter('a', farMs)));
    await clock.run(startMs + 150);

    await rateLimiter.answered('a', faultWith('rate-limited', 60_000), clock.now());
    await clock.run();

    expect((await calls).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
    ]);
  });

  it('that another rateLimiter was told of is known within a second, also while slots of before last', async () => {
    const { clock, rateLimiter, other } = setUp({ maxRequestsPerSecond: 1 });
    const calls = Promise.allSettled(Array.from({ length: 4 }, () => rateLimiter.enter('a', farMs)));
    await clock.run(startMs + 10);

    await other.answered('a', faultWith('rate-limited', 60_000), clock.now());
    await clock.run();

    expect((await calls).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
    ]);
  });
});

describe('the circuit', () => {
  const observed = () => {
    const counted: string[] = [];
    const ignore = () => undefined;
    const count = (metric: string) => counted.push(metric);
    return {
      counted,
      observer: { info: ignore, warn: ignore, error: (text: string) => counted.push(text), count },
    };
  };
  const forbidden = faultWith('forbidden');

  it('stays closed for one forbidden resource, however often', async () => {
    const { clock, rateLimiter } = setUp();

    for (let i = 0; i < 5; i += 1) await rateLimiter.answered('a', forbidden, clock.now());

    expect(await starts(clock, () => rateLimiter.enter('a', farMs), 1)).toEqual([0]);
  });

  it('opens although a longer pause holds, and says for what', async () => {
    const observer = createRecordingObserver();
    const { clock, rateLimiter, store } = setUp({ observer });
    await rateLimiter.answered('a', faultWith('rate-limited', 3_600_000), clock.now());

    await rateLimiter.answered('a', forbidden, clock.now());
    await rateLimiter.answered('b', forbidden, clock.now());

    expect(await store.read()).toMatchObject({ pausedUntilMs: startMs + 3_600_000, pauseReason: 'circuit' });
    expect(observer.lines).toMatchObject([
      { level: 'error', fields: { resource: 'b', circuitSeconds: 1800 } },
    ]);
  });

  it('opens for everybody when two resources are forbidden in a row, and says so', async () => {
    const { counted, observer } = observed();
    const { clock, rateLimiter, other } = setUp({ observer });

    await rateLimiter.answered('a', forbidden, clock.now());
    await other.answered('b', forbidden, clock.now());

    expect(await faultOf(rateLimiter.enter('c', farMs))).toMatchObject({
      code: 'paused',
      retryAfterMs: 1_800_000,
    });
    expect(await faultOf(other.enter('c', farMs))).toMatchObject({ code: 'paused' });
    expect(counted).toEqual(['CircuitOpened', expect.stringContaining('403')]);
  });

  it.each([
    ['a success', undefined],
    ['a 404 of the service itself', faultWith('not-found')],
  ])('stays closed when there was %s in between', async (_what, between) => {
    const { clock, rateLimiter } = setUp();

    await rateLimiter.answered('a', forbidden, clock.now());
    await rateLimiter.answered('b', between, clock.now());
    await rateLimiter.answered('c', forbidden, clock.now());

    expect(await starts(clock, () => rateLimiter.enter('a', farMs), 1)).toEqual([0]);
  });

  it('opens once for many that are forbidden at the same time', async () => {
    const { counted, observer } = observed();
    const { clock, rateLimiter } = setUp({ observer });

    await Promise.all(['a', 'b', 'c', 'd'].map((one) => rateLimiter.answered(one, forbidden, clock.now())));

    expect(counted.filter((metric) => metric === 'CircuitOpened')).toHaveLength(1);
  });

  async function open() {
    const set = setUp();
    await set.rateLimiter.answered('a', forbidden, set.clock.now());
    await set.rateLimiter.answered('b', forbidden, set.clock.now());
    set.clock.advance(1_800_000);
    return set;
  }

  it('lets one request through as a trial, and everybody when that goes well', async () => {
    const { clock, rateLimiter, other } = await open();

    const calls = Promise.allSettled([rateLimiter, rateLimiter, other].map((one) => one.enter('a', farMs)));
    await clock.run();
    expect((await calls).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    await rateLimiter.answered('a', undefined, clock.now());

    expect(await starts(clock, () => rateLimiter.enter('a', farMs), 1)).toHaveLength(1);
    clock.advance(30_000);
    expect(await starts(clock, () => other.enter('a', farMs), 1)).toHaveLength(1);
  });

  it('opens again when the trial is forbidden, too', async () => {
    const { clock, rateLimiter, other } = await open();
    const trial = rateLimiter.enter('a', farMs);
    await clock.run();
    await trial;

    await rateLimiter.answered('a', forbidden, clock.now());

    expect(await faultOf(other.enter('a', farMs))).toMatchObject({ retryAfterMs: 1_800_000 });
  });

  it('lets another trial through when the first one brought nothing', async () => {
    const { clock, rateLimiter, other } = await open();
    const trial = rateLimiter.enter('a', farMs);
    await clock.run();
    await trial;
    clock.advance(30_000);

    expect(await starts(clock, () => other.enter('a', farMs), 1)).toEqual([0]);
  });

  describe('and an answer that may mean a rejected cursor', () => {
    const undecided = true;

    it('stays closed for any number of them', async () => {
      const { clock, rateLimiter } = setUp();

      for (const feed of ['a', 'b', 'c']) await rateLimiter.answered(feed, forbidden, clock.now(), undecided);

      expect(await starts(clock, () => rateLimiter.enter('a', farMs), 1)).toEqual([0]);
    });

    it('neither ends a suspicion nor counts against it', async () => {
      const { clock, rateLimiter } = setUp();

      await rateLimiter.answered('a', forbidden, clock.now());
      await rateLimiter.answered('b', faultWith('not-found'), clock.now(), undecided);
      await rateLimiter.answered('c', forbidden, clock.now());

      expect(await faultOf(rateLimiter.enter('d', farMs))).toMatchObject({ code: 'paused' });
    });

    async function trialUndecided() {
      const set = await open();
      const trial = set.rateLimiter.enter('a', farMs);
      await set.clock.run();
      await trial;
      await set.rateLimiter.answered('a', forbidden, set.clock.now(), undecided);
      return set;
    }

    it('lets the next request of the trial through, and nobody else', async () => {
      const { clock, rateLimiter, other } = await trialUndecided();

      expect(await faultOf(rateLimiter.enter('b', farMs))).toMatchObject({ code: 'paused' });
      expect(await faultOf(other.enter('a', farMs))).toMatchObject({ code: 'paused' });
      expect(await starts(clock, () => rateLimiter.enter('a', farMs), 1)).toEqual([105]);
      expect(await faultOf(rateLimiter.enter('a', farMs))).toMatchObject({ code: 'paused' });
    });

    it('ends the circuit when that request is answered well', async () => {
      const { clock, rateLimiter } = await trialUndecided();
      await starts(clock, () => rateLimiter.enter('a', farMs), 1);

      await rateLimiter.answered('a', undefined, clock.now());

      expect(await starts(clock, () => rateLimiter.enter('b', farMs), 1)).toHaveLength(1);
    });

    it('opens the circuit again when that request is forbidden, too', async () => {
      const { clock, rateLimiter, other } = await trialUndecided();
      await starts(clock, () => rateLimiter.enter('a', farMs), 1);

      await rateLimiter.answered('a', forbidden, clock.now());

      expect(await faultOf(other.enter('b', farMs))).toMatchObject({ retryAfterMs: 1_800_000 });
    });

    it('leaves the trial to somebody else when that request never comes', async () => {
      const { clock, other } = await trialUndecided();
      clock.advance(30_000);

      expect(await starts(clock, () => other.enter('b', farMs), 1)).toHaveLength(1);
    });

    it('refuses that request when the store cannot be reached', async () => {
      const { rateLimiter, store } = await trialUndecided();
      store.reserve = () => Promise.reject(new Error('table gone'));

      const fault = await faultOf(rateLimiter.enter('a', farMs));
      expect(fault).toMatchObject({ code: 'transient' });
      expect(fault.message).toContain('cannot be reached');
      expect((await faultOf(rateLimiter.enter('a', farMs))).code).toBe('paused');
    });

    it('lets that request wait for the pause that somebody has asked for meanwhile', async () => {
      const { rateLimiter, store, clock } = await trialUndecided();
      store.reserve = async () => ({
        ...{ granted: 0, firstSlotMs: 0, isTrial: false, offsetMs: 0 },
        state: { nextSlotMs: 0, pausedUntilMs: clock.now() + 60_000 },
      });

      expect(await faultOf(rateLimiter.enter('a', farMs))).toMatchObject({
        ...{ code: 'paused', retryAfterMs: 60_000, message: expect.stringContaining('(a)') },
      });
    });

    it('refuses that request when it has no slot in time', async () => {
      const { clock, rateLimiter } = await trialUndecided();

      expect(await faultOf(rateLimiter.enter('a', clock.now() + 50))).toMatchObject({ code: 'paused' });
    });
  });

  it('does not close for a request that was sent before it opened', async () => {
    const { clock, rateLimiter } = setUp();
    const sentAt = clock.now();
    clock.advance(10);
    await rateLimiter.answered('a', forbidden, clock.now());
    await rateLimiter.answered('b', forbidden, clock.now());

    await rateLimiter.answered('c', undefined, sentAt);

    expect((await faultOf(rateLimiter.enter('a', farMs))).code).toBe('paused');
  });
});

describe('a pause that an operator wants', () => {
  const wanted = { who: 'ann', since: startMs, reason: 'a migration' };

  it('holds back everything but requests for tokens, in a process that had looked a moment before', async () => {
    const { clock, store, rateLimiter } = setUp();
    await starts(clock, () => rateLimiter.enter('a', farMs), 2);
    await store.setOperatorPause(wanted);
    clock.advance(5_000);

    const refused = faultOf(rateLimiter.enter('a', farMs));
    const forTokens = rateLimiter.enter('token', farMs, true);
    await clock.run();

    await forTokens;
    expect(await refused).toMatchObject({
      code: 'operator-paused',
      message: 'the whole bridge is paused by ann (a migration)',
      retryAfterMs: undefined,
    });
  });

  it('is noticed by those that wait for their turn', async () => {
    const { clock, store, rateLimiter } = setUp({ maxRequestsPerSecond: 1 });
    const refused: Promise<unknown>[] = [];
    for (let i = 0; i < 10; i += 1)
      refused.push(
        rateLimiter.enter('a', farMs).then(
          () => clock.now(),
          (fault) => fault,
        ),
      );
    await clock.run(startMs + 500);
    await store.setOperatorPause(wanted);
    await clock.run();

    const sent = (await Promise.all(refused)).filter((one) => typeof one === 'number');

    expect(Math.max(...sent)).toBeLessThanOrEqual(startMs + 2_500);
  });

  it('ends by itself, and when it is taken back', async () => {
    const { clock, store, rateLimiter, other } = setUp();
    await store.setOperatorPause({ ...wanted, until: startMs + 10_000 });
    const refused = faultOf(rateLimiter.enter('a', farMs));
    await clock.run();
    expect(await refused).toMatchObject({ code: 'operator-paused', retryAfterMs: 10_000 });

    clock.advance(10_001);
    await starts(clock, () => rateLimiter.enter('a', farMs), 1);
    await store.setOperatorPause(wanted);
    await store.setOperatorPause();
    await starts(clock, () => other.enter('a', farMs), 1);
  });
});

it('goes on at once when somebody ends what the service asked for, an open circuit with it', async () => {
  const { clock, store, rateLimiter } = setUp();
  await store.pause(startMs + 1_800_000, 'circuit');
  const refused = faultOf(rateLimiter.enter('a', farMs));
  await clock.run();
  expect(await refused).toMatchObject({ code: 'paused' });

  await store.endPause();
  clock.advance(1_001);

  expect(await starts(clock, () => rateLimiter.enter('a', farMs), 3)).toHaveLength(3);
});
