import { describe, expect, it } from 'vitest';
import { CachedBudget } from '../../../shared/partner-api/cached-rows.ts';
import { createRateLimiter } from '../../../shared/partner-api/rate-limiter.ts';
import { createBudgetStore } from '../../../shared/state/budget.ts';
import { createInMemoryStore } from '../../fakes/store.ts';
import { createVirtualClock } from '../../helpers/partner-api/virtual-clock.ts';

describe('feeds and adverts on one rate budget', () => {
  const farMs = 3_600_000;
  const setUp = () => {
    const clock = createVirtualClock();
    const store = createBudgetStore(createInMemoryStore());
    const rateLimiter = () =>
      createRateLimiter({ budget: new CachedBudget(store, clock), clock, maxRequestsPerSecond: 10 });
    return { clock, rateLimiter };
  };

  it.each(['of one process', 'of two processes'])(
    'a feed waits no longer than the 50 adverts %s before it take',
    async (where) => {
      const { clock, rateLimiter } = setUp();
      const fanOut = rateLimiter();
      const drain = where === 'of one process' ? fanOut : rateLimiter();
      const begun = clock.now();
      const adverts: number[] = [];
      const entering = Array.from({ length: 50 }, (_, id) =>
        fanOut.enter(`advert ${id}`, begun + farMs).then(() => adverts.push(clock.now() - begun)),
      );
      await clock.run(begun + 1);

      const feed = drain.enter('feed', begun + farMs).then(() => clock.now() - begun);
      await clock.run();
      await Promise.all(entering);

      expect(await feed).toBeLessThanOrEqual(50 * 105 + 5);
      expect(adverts).toHaveLength(50);
    },
  );

  it.each([
    { feeds: 5, adverts: 50 },
    { feeds: 5, adverts: 5 },
    { feeds: 1, adverts: 50 },
  ])(
    'neither starves the other: $feeds feeds and $adverts adverts that never end share it',
    async (sides) => {
      const { clock, rateLimiter } = setUp();
      const [drain, fanOut] = [rateLimiter(), rateLimiter()];
      const untilMs = clock.now() + 60_000;
      const started = { feeds: 0, adverts: 0 };
      const forEver = async (side: 'feeds' | 'adverts', entering: ReturnType<typeof rateLimiter>) => {
        for (; clock.now() < untilMs; started[side] += 1) await entering.enter(side, untilMs + farMs);
      };
      for (let each = 0; each < sides.feeds; each += 1) void forEver('feeds', drain);
      for (let each = 0; each < sides.adverts; each += 1) void forEver('adverts', fanOut);

      await clock.run(untilMs);

      const all = started.feeds + started.adverts;
      // 10 a second less the 5 % that keep windows within the rate, and what is lost at the end.
      expect(all).toBeGreaterThan(60 * 9);
      const fair = sides.feeds / (sides.feeds + sides.adverts);
      expect(started.feeds / all).toBeGreaterThan(fair * 0.8);
      // Each side takes its slots a second at a time, so the smaller one gets a larger share than it asked for.
      expect(started.feeds / all).toBeLessThan(Math.max(fair * 1.25, 0.35));
    },
  );
});
