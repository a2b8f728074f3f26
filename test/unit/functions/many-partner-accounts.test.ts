import { expect, it, vi } from 'vitest';
import { createDrain, type DrainReport } from '../../../functions/drain/drain.ts';
import { drainLimits, scheduleMs } from '../../../functions/runtime/limits.ts';
import { createCachedBudget } from '../../../shared/partner-api/cached-rows.ts';
import type { PartnerClient } from '../../../shared/partner-api/client.ts';
import { createRateLimiter } from '../../../shared/partner-api/rate-limiter.ts';
import { createInMemoryState } from '../../fakes/state.ts';
import { createVirtualClock } from '../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';
import { feedState, partnerAccount } from '../../helpers/records.ts';

/** The duration of each answer of the service. */
const answerMs = 200;
/** The function's timeout less its margin. */
const runMs = 87_000;

const all = Array.from({ length: 1000 }, (_, index) => `user-${10_000 + index}`);

/** Scheduled drains, each in its own simulated process, with one state and one rate budget, in virtual time. */
async function setUp(maxRequestsPerSecond = 10) {
  const clock = createVirtualClock();
  const state = createInMemoryState({ clock });
  const reserve = vi.spyOn(state.budgetStore, 'change');
  const observer = createRecordingObserver();
  const begun = clock.now();
  for (const name of all) {
    await state.partnerAccounts.add(partnerAccount({ name, connectedAt: '2026-11-20T12:00:00Z' }));
    await state.feedStates.register(feedState({ partnerAccount: name }));
  }
  /** When each feed was asked for a page, ms from the beginning. */
  const asked = new Map<string, number[]>(all.map((name) => [name, []]));
  /** Number of pages of a feed; all other feeds have one page without an ID. */
  const backlog = new Map<string, number>();
  let ids = 0;

  function reader(): Pick<PartnerClient, 'readPage'> {
    const budget = createCachedBudget(state.budgetStore, clock);
    const rateLimiter = createRateLimiter({ budget, clock, maxRequestsPerSecond });
    return {
      async readPage(name, { cursor = '0' }, { deadlineMs }) {
        await rateLimiter.enter(name, deadlineMs);
        asked.get(name)?.push(clock.now() - begun);
        await clock.sleep(answerMs);
        const left = backlog.get(name) ?? 0;
        backlog.set(name, Math.max(0, left - 1));
        const page = {
          data: [],
          hasMore: left > 1,
          nextCursor: left > 0 ? String(Number(cursor) + 1) : cursor,
        };
        return { page, receivedAt: clock.now(), serviceTime: clock.now() };
      },
    };
  }

  function run(): Promise<DrainReport> {
    ids += 1;
    const drain = createDrain({
      ...{ ...state, observer, clock },
      reader: reader(),
      newId: () => `id${++ids}`,
      holder: `drain-${ids}`,
      settings: { maxRequestsPerSecond, ...drainLimits, overlapSeconds: 300, pollSeconds: 60 },
    });
    return drain.run({ deadlineMs: clock.now() + runMs, nextRunMs: clock.now() + scheduleMs });
  }

  /** As the schedule has it: a run begins every minute, whether the one before has ended or not. */
  async function pass(minutes: number): Promise<DrainReport[]> {
    const runs: Promise<DrainReport>[] = [];
    for (let minute = 1; minute <= minutes; minute += 1) {
      runs.push(run());
      await clock.run(clock.now() + scheduleMs);
    }
    await clock.run();
    return Promise.all(runs);
  }

  return { observer, asked, backlog, pass, reservations: () => reserve.mock.calls.length };
}

/**
 * Longest wait of a feed between two polls, and before its first, in seconds; except for one feed in a hundred, whose
 * turn comes when the run that leased it ends.
 */
function longestGap(asked: ReadonlyMap<string, readonly number[]>): number {
  const gaps = [...asked.values()].map((times) =>
    Math.max(...times.map((at, index) => at - (times[index - 1] ?? 0))),
  );
  return (gaps.sort((a, b) => a - b)[Math.floor(gaps.length * 0.99)] ?? 0) / 1000;
}

it('a thousand accounts take turns within the budget', async () => {
  const crowd = await setUp();

  await crowd.pass(10);

  const turns = [...crowd.asked.values()].map((times) => times.length);
  const polls = turns.reduce((sum, count) => sum + count, 0);
  // Ten requests a second, 5 % apart, over the ten minutes and what the last run takes beyond them.
  expect(polls).toBeLessThanOrEqual((627 * 10) / 1.05 + 1);
  expect(Math.max(...turns) - Math.min(...turns)).toBeLessThanOrEqual(1);
  expect(Math.min(...turns)).toBeGreaterThanOrEqual(5);
  // 1000 feeds at 9.5 requests a second.
  expect(longestGap(crowd.asked)).toBeLessThanOrEqual(110);
  expect(crowd.reservations() / polls).toBeLessThanOrEqual(0.3);
});

it('a thousand accounts are polled every minute when the budget allows it', async () => {
  const crowd = await setUp(25);

  const reports = await crowd.pass(5);

  for (const { polls } of reports) expect(polls.every(({ end }) => end === 'up-to-date')).toBe(true);
  expect([...crowd.asked.values()].every((times) => times.length === 5)).toBe(true);
  expect(longestGap(crowd.asked)).toBeLessThanOrEqual(61);
  expect(crowd.reservations() / (5 * all.length)).toBeLessThanOrEqual(0.3);
  expect(crowd.observer.lines).toEqual([]);
});

it('accounts do not wait for twenty others with a backlog without an end', async () => {
  const crowd = await setUp();
  for (const name of all.slice(0, 20)) crowd.backlog.set(name, 1_000_000);

  await crowd.pass(10);

  const others = new Map([...crowd.asked].filter(([name]) => !crowd.backlog.get(name)));
  // A turn of ten pages for each of the twenty comes in between.
  expect(longestGap(others)).toBeLessThanOrEqual(110 + (20 * 10) / 9.5);
  const rich = all.slice(0, 20).map((name) => crowd.asked.get(name)?.length ?? 0);
  expect(Math.max(...rich) - Math.min(...rich)).toBeLessThanOrEqual(20);
});
