import { describe, expect, it } from 'vitest';
import { longestDelayMs, pollForEver, pollUntilIdle } from '../../../embedded/poller.ts';
import type { DrainReport } from '../../../functions/drain/drain.ts';
import { BridgeFault } from '../../../shared/domain/faults.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';

type Poll = DrainReport['polls'][number];
const upToDate = (partnerAccount: string): Poll => ({
  partnerAccount,
  feed: 'adverts',
  pages: 1,
  listed: 0,
  end: 'up-to-date',
});
const failed = (partnerAccount: string, fault: BridgeFault): Poll => ({
  ...upToDate(partnerAccount),
  end: 'fault',
  fault,
});
const reportOf = (change: Partial<DrainReport>): DrainReport => ({
  polls: [],
  stopped: [],
  paused: [],
  lagSeconds: 0,
  ...change,
});

/** @param rounds what the rounds report, the last one for ever */
function runUntilIdle(
  rounds: readonly DrainReport[],
  waiting: (now: number) => number = () => 0,
  delayMs = 0,
  pausedForMs = 0,
) {
  const clock = createManualClock();
  const startedAt = clock.now();
  const observer = createRecordingObserver();
  let round = -1;
  const reportNext = async () => {
    round = Math.min(round + 1, rounds.length - 1);
    return rounds[round] ?? reportOf({});
  };
  const ended = pollUntilIdle(
    {
      drain: { round: reportNext },
      clock,
      observer,
      pollSeconds: 60,
      bookKeeper: {
        queue: async () => ({ waiting: waiting(clock.now() - startedAt), deadLetters: 0 }),
      },
      pausedUntil: async () => startedAt + pausedForMs,
      waitingForPerson: async () => 0,
      delayMs,
    },
    new AbortController().signal,
  );
  return ended.then((fault) => ({ fault, tookMs: clock.now() - startedAt }));
}

describe('a run until idle', () => {
  it('ends without a fault when every feed is up to date and the queue is empty', async () => {
    expect(await runUntilIdle([reportOf({ polls: [upToDate('a')] })])).toMatchObject({ fault: undefined });
  });

  it('gives a passing fault some rounds', async () => {
    const down = reportOf({ polls: [failed('a', new BridgeFault('transient', 'down'))] });

    expect(await runUntilIdle([down, down, reportOf({ polls: [upToDate('a')] })])).toMatchObject({
      fault: undefined,
    });
    expect((await runUntilIdle([down])).fault?.message).toBe('partner account a: down');
  });

  it('delivers what the others have before it ends with the fault of one', async () => {
    const wrong = new BridgeFault('wrong-path', 'no such path');
    const report = reportOf({ polls: [upToDate('good'), failed('bad', wrong)] });

    const { fault, tookMs } = await runUntilIdle([report], (now) => (now < 30_000 ? 30_000 - now : 0));

    expect(fault?.message).toBe('partner account bad: no such path');
    expect(tookMs).toBeGreaterThanOrEqual(30_000);
  });

  it('does not take a feed that rests for one that was read', async () => {
    const resting = {
      partnerAccount: 'a',
      kind: 'feed',
      reason: 'stands still',
      untilMs: Number.MAX_SAFE_INTEGER,
    } as const;

    expect((await runUntilIdle([reportOf({ paused: [resting] })])).fault?.message).toBe(
      'partner account a: stands still',
    );
  });

  it('ends with a fault that stopped nobody although it is the account’s', async () => {
    const refused = reportOf({ polls: [failed('a', new BridgeFault('scope-refused', 'invalid_scope'))] });

    expect((await runUntilIdle([refused])).fault?.code).toBe('scope-refused');
  });

  it('leaves a fault that stopped the account to the exit code', async () => {
    const stopped = reportOf({
      polls: [failed('a', new BridgeFault('account-stopped', 'stopped'))],
      stopped: ['a'],
    });

    expect((await runUntilIdle([stopped])).fault).toBeUndefined();
  });

  it('gives up on messages that fail again and again while nothing else gets done', async () => {
    const { fault, tookMs } = await runUntilIdle([reportOf({ polls: [upToDate('a')] })], () => 3);

    expect(fault?.message).toContain('3 messages fail again and again');
    expect(tookMs).toBeGreaterThanOrEqual(120_000);
  });

  const unreadEnds = ['backlog', 'out-of-time', 'turn-over', 'lease-lost', 'just-polled'] as const;
  it.each(unreadEnds)('reads on when a poll ended with %s', async (end) => {
    const unread = reportOf({ polls: [{ ...upToDate('a'), end }] });
    const rounds = [unread, unread, reportOf({ polls: [upToDate('a')] })];

    const { fault, tookMs } = await runUntilIdle(rounds);

    expect(fault).toBeUndefined();
    expect(tookMs).toBeGreaterThanOrEqual(400);
  });

  it('does not give up while the service asks for a pause, however long that is', async () => {
    const pauseMs = 600_000;
    const waiting = (now: number) => (now < pauseMs ? 3 : 0);

    const { fault, tookMs } = await runUntilIdle([reportOf({ polls: [upToDate('a')] })], waiting, 0, pauseMs);

    expect(fault).toBeUndefined();
    expect(tookMs).toBeGreaterThanOrEqual(pauseMs);
  });

  it('waits until an advert is confirmed as unavailable, however long that takes', async () => {
    const confirmedMs = 900_000;
    const delayMs = longestDelayMs({ confirmUnavailableSeconds: 900, maxRequestsPerSecond: 10 });
    const waiting = (now: number) => (now < confirmedMs ? 1 : 0);

    const { fault, tookMs } = await runUntilIdle([reportOf({ polls: [upToDate('a')] })], waiting, delayMs);

    expect(fault).toBeUndefined();
    expect(tookMs).toBeGreaterThanOrEqual(confirmedMs);
  });

  it('gives messages more time at a low rate', () => {
    const delayMs = (maxRequestsPerSecond: number) =>
      longestDelayMs({ confirmUnavailableSeconds: 0, maxRequestsPerSecond });

    expect([delayMs(0.1), delayMs(100_000)]).toEqual([300_000, 0.3]);
  });
});

describe('a run for ever', () => {
  it('begins the next round although one hangs', async () => {
    const stop = new AbortController();
    const clock = createManualClock();
    let rounds = 0;
    let release = () => {};
    const round = () => {
      rounds += 1;
      if (rounds === 5) {
        stop.abort();
        release();
      }
      return rounds === 1
        ? new Promise<DrainReport>((resolve) => {
            release = () => resolve(reportOf({}));
          })
        : Promise.resolve(reportOf({}));
    };

    await pollForEver(
      { drain: { round }, clock, observer: createRecordingObserver(), pollSeconds: 1 },
      stop.signal,
    );

    expect(rounds).toBe(5);
  });
});
