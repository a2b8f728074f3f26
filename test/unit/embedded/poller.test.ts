import { expect, it } from 'vitest';
import { pollForEver, pollUntilIdle } from '../../../embedded/poller.ts';
import type { DrainReport } from '../../../functions/drain/drain.ts';
import { BridgeFault, type FaultKind } from '../../../shared/domain/faults.ts';
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

const quick = {
  ...{ pollSeconds: 60, maxRequestsPerSecond: 100_000 },
  ...{ confirmUnavailableSeconds: 0, confirmUnchangedSeconds: 0 },
};

interface Given {
  /** What the rounds report, the last one for ever. */
  readonly rounds: readonly Partial<DrainReport>[];
  /** Number of messages in the queue, by the time since the start. */
  readonly waiting?: (passedMs: number) => number;
  /** Number of those that are in the queue, and not outside it. Default: all */
  readonly inQueue?: (passedMs: number) => number;
  readonly settings?: Partial<Parameters<typeof pollForEver>[0]['settings']>;
  readonly pausedForMs?: number;
}

/** @returns the message of the fault with which the run ends, and the time it took */
async function runUntilIdle(given: Given) {
  const { rounds, waiting = () => 0, inQueue = waiting, settings, pausedForMs = 0 } = given;
  const clock = createManualClock();
  const startedAt = clock.now();
  let round = -1;
  const reportNext = async () => {
    round = Math.min(round + 1, rounds.length - 1);
    return reportOf(rounds[round] ?? {});
  };
  const deps = {
    ...{ drain: { round: reportNext }, clock, observer: createRecordingObserver() },
    settings: { ...quick, ...settings },
    pausedUntil: async () => startedAt + pausedForMs,
    toDeliver: async () => waiting(clock.now() - startedAt),
    inQueue: async () => inQueue(clock.now() - startedAt),
  };
  const fault = await pollUntilIdle(deps, new AbortController().signal);
  return [fault?.message, clock.now() - startedAt] as const;
}

const done = { polls: [upToDate('a')] };
const fails = (code: FaultKind, name = 'a') => ({ polls: [failed(name, new BridgeFault(code, 'down'))] });
const untilMs = (endMs: number) => (passedMs: number) => (passedMs < endMs ? 3 : 0);
const confirmedMs = 900_000;

it.each<[string, Given, string | undefined, number]>([
  ['ends when every feed is up to date and the queue is empty', { rounds: [done] }, undefined, 0],
  [
    'gives a transient fault some rounds',
    { rounds: [fails('transient'), fails('transient'), done] },
    undefined,
    0,
  ],
  ['ends with a lasting fault', { rounds: [fails('transient')] }, 'partner account a: down', 0],
  [
    'delivers what others have before it ends with the fault of one',
    {
      rounds: [{ polls: [upToDate('good'), ...fails('wrong-path', 'bad').polls] }],
      waiting: untilMs(30_000),
    },
    'partner account bad: down',
    30_000,
  ],
  [
    'ends with the reason of a feed that is paused for long',
    {
      rounds: [
        {
          paused: [
            {
              partnerAccount: 'a',
              fault: 'contract-broken',
              reason: 'stuck',
              untilMs: Number.MAX_SAFE_INTEGER,
            },
          ],
        },
      ],
    },
    'partner account a: stuck',
    0,
  ],
  [
    'ends with a fault of the account that does not stop it',
    { rounds: [fails('scope-refused')] },
    'partner account a: down',
    0,
  ],
  ['leaves out a fault that stops the account', { rounds: [fails('account-stopped')] }, undefined, 0],
  [
    'ends with a fault if messages make no progress for four minutes',
    { rounds: [done], waiting: () => 3 },
    '3 messages make no progress; they wait for the next run',
    240_000,
  ],
  [
    'leaves what waits outside the queue to the next one',
    { rounds: [done], waiting: () => 3, inQueue: () => 0 },
    undefined,
    120_000,
  ],
  [
    'leaves what waits outside the queue to the next one when none has come back',
    { rounds: [done], waiting: () => 3, inQueue: (passedMs) => (passedMs < 150_000 ? 1 : 0) },
    undefined,
    150_000,
  ],
  [
    'waits while the service asks for a pause, however long',
    { rounds: [done], waiting: untilMs(600_000), pausedForMs: 600_000 },
    undefined,
    600_000,
  ],
  [
    'waits until an advert is confirmed as unavailable, however long',
    {
      rounds: [done],
      waiting: untilMs(confirmedMs),
      settings: { confirmUnavailableSeconds: 900 },
    },
    undefined,
    confirmedMs,
  ],
  [
    'gives messages more time at a low rate',
    { rounds: [done], waiting: untilMs(400_000), settings: { maxRequestsPerSecond: 0.1 } },
    undefined,
    400_000,
  ],
  ...(['backlog', 'out-of-time', 'turn-over', 'lease-lost', 'just-polled'] as const).map(
    (end): [string, Given, undefined, number] => [
      `reads on after a poll that ended with ${end}`,
      { rounds: [{ polls: [{ ...upToDate('a'), end }] }, { polls: [{ ...upToDate('a'), end }] }, done] },
      undefined,
      400,
    ],
  ),
])('a run until idle %s', async (_title, given, message, leastMs) => {
  const [fault, tookMs] = await runUntilIdle(given);

  expect(fault).toBe(message);
  expect(tookMs).toBeGreaterThanOrEqual(leastMs);
  expect(tookMs).toBeLessThan(leastMs + 90_000);
});

it('a round starts although one hangs, and a run ends after that one', async () => {
  const stop = new AbortController();
  const hanging = Promise.withResolvers<DrainReport>();
  let rounds = 0;
  const round = async () => {
    rounds += 1;
    if (rounds === 5) stop.abort();
    return rounds === 1 ? hanging.promise : reportOf({});
  };
  const deps = { drain: { round }, clock: createManualClock(), observer: createRecordingObserver() };

  const settings = { ...quick, pollSeconds: 1 };
  const ended = pollForEver({ ...deps, settings }, stop.signal).then(() => 'ended');

  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  expect(await Promise.race([ended, 'running'])).toBe('running');
  expect(rounds).toBe(5);
  hanging.resolve(reportOf({}));
  expect(await ended).toBe('ended');
});

it('no round starts while the disk is full', async () => {
  const stop = new AbortController();
  const clock = createManualClock();
  const begunAt = clock.now();
  const rounds: number[] = [];
  const round = async () => {
    rounds.push((clock.now() - begunAt) / 1_000);
    if (rounds.length === 3) stop.abort();
    return reportOf({});
  };
  const isDiskFull = () => clock.now() > begunAt && clock.now() < begunAt + 100_000;
  const deps = { drain: { round }, clock, observer: createRecordingObserver(), isDiskFull };

  await pollForEver({ ...deps, settings: { ...quick, pollSeconds: 10 } }, stop.signal);

  expect(rounds).toEqual([0, 100, 110]);
});
