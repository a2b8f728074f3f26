import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { feedLeaseMs } from '../../../../functions/drain/accept-page.ts';
import {
  createDrain,
  type DrainDeps,
  pollAnswerOf,
  type RoundOptions,
} from '../../../../functions/drain/drain.ts';
import { pause } from '../../../../operators/operations/pause.ts';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { toInstant } from '../../../../shared/domain/clock.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { withHold, withoutHolds } from '../../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createAside } from '../../../../shared/state/aside.ts';
import { holdBridge, serviceHold, stopped, tokenHold } from '../../../helpers/holds.ts';
import { changedAdvert, stuckUntil } from '../../../helpers/records.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

let world: World;
beforeEach(async () => {
  world = await createWorld();
  world.observer.lines.length = 0;
});
const drainWith = (change: Partial<DrainDeps>) => createDrain({ ...world.drainDeps, ...change });
const limits = () => world.service.feedRequests.map(({ limit }) => limit);
const failWith = (code: BridgeFault['code'], text: string) => {
  world.service.state.beforePage = () => {
    throw new BridgeFault(code, text);
  };
};

it.each([
  [40_000, 90_000, 2],
  [40_001, 90_000, 3],
  [90_000, 40_000, 2],
  [90_000, 40_001, 3],
  [0, 0, 0],
])(
  'a run with its deadline in %i ms and the next run in %i polls %i times',
  async (deadline, next, times) => {
    const drain = drainWith({
      // The time advances after the current work has ended.
      clock: { now: world.clock.now, sleep: (ms) => nextTurn().then(() => world.clock.sleep(ms)) },
      settings: { ...world.drainDeps.settings, pollSeconds: 20 },
    });
    const now = world.clock.now();

    await drain.run({ deadlineMs: now + deadline, nextRunMs: now + next });

    expect(world.service.feedRequests).toHaveLength(times);
    expect(world.clock.now() - now).toBeLessThan(Math.max(1, Math.min(deadline, next)));
  },
);

it('dead letters are counted once, however often a run polls', async () => {
  let counted = 0;
  const count = async () => ++counted;
  const deadLetters = { ...world.state.deadLetters, count };
  const clock = {
    now: world.clock.now,
    sleep: (ms: number) => nextTurn().then(() => world.clock.sleep(ms)),
  };
  const settings = { ...world.drainDeps.settings, pollSeconds: 1 };
  const drain = drainWith({ deadLetters, clock, settings });
  const now = world.clock.now();

  await drain.run({ deadlineMs: now + minuteMs, nextRunMs: now + minuteMs });

  expect(world.service.feedRequests.length).toBeGreaterThan(10);
  expect([counted, world.observer.counted(metrics.deadLetters)]).toEqual([1, 1]);
});

it('a run fails when a round could not begin', async () => {
  const partnerAccounts = { ...world.partnerAccounts, list: () => Promise.reject(new Error('throttled')) };
  const run = drainWith({ partnerAccounts }).run({ deadlineMs: world.clock.now() + 1, nextRunMs: 0 });
  await expect(run).rejects.toThrow('throttled');
});

it('a run that crashes holds up a feed for two minutes at most', () => {
  expect(feedLeaseMs).toBeLessThanOrEqual(2 * minuteMs);
});

it('each unreadable row is reported, and the other feeds are polled', async () => {
  const flaw = new ShapeError('feed main/adverts', [{ path: 'since', expected: 'text' }]);
  const feedStates: DrainDeps['feedStates'] = {
    ...world.state.feedStates,
    list(onUnreadable) {
      onUnreadable?.(flaw, { name: 'main/adverts' });
      return world.state.feedStates.list();
    },
  };

  expect((await drainWith({ feedStates }).round(world.options())).polls).toHaveLength(1);

  expect(world.observer.counted(metrics.needsAttention)).toBe(1);
  expect(world.observer.lines).toContainEqual(
    expect.objectContaining({ level: 'error', fields: { reason: flaw.message } }),
  );
});

it.each<[string, Partial<PartnerAccount>, object, object[]]>([
  ['stopped', stopped('scope-insufficient'), { stopped: ['main'] }, [{ partnerAccount: 'main' }]],
  ['disconnected', stopped('disconnected'), { stopped: [] }, []],
  [
    'without a usable token',
    { holds: [tokenHold(Date.parse('2026-11-20T12:01:00Z'))] },
    { paused: [{ partnerAccount: 'main', fault: 'account-paused', reason: 'tired' }] },
    [{ partnerAccount: 'main', reason: 'tired', until: '2026-11-20T12:01:00.000Z' }],
  ],
])('an account that is %s is not polled', async (_what, change, expected, notPolled) => {
  await world.partnerAccounts.change('main', (account) => ({ ...account, ...change }));

  const report = await world.round();

  expect(report).toMatchObject({ stopped: [], paused: [], ...expected, polls: [], lagSeconds: 0 });
  expect(pollAnswerOf(report).notPolled).toMatchObject(notPolled);
  expect(world.observer.counted(metrics.stoppedPartnerAccounts)).toBe(report.stopped.length);
});

it('an account without a feed is reported one minute after connect', async () => {
  const generation = ((await world.account())?.generation ?? 0) - 1;
  await world.partnerAccounts.change('main', (account) => ({ ...account, generation }));
  const calls = () => world.observer.counted(metrics.needsAttention);

  world.clock.advance(minuteMs - 1);
  await world.round();
  expect(calls()).toBe(0);
  world.clock.advance(1);
  expect((await world.round()).polls).toEqual([]);

  expect(calls()).toBe(1);
  expect(world.observer.lines.at(-1)).toMatchObject({ fields: { partnerAccount: 'main', generation } });
});

it('a feed that this bridge does not know is ignored', async () => {
  const list = async () =>
    (await world.state.feedStates.list()).map((state) => ({ ...state, feed: 'threads' }));
  const feedStates = { ...world.state.feedStates, list };
  expect((await drainWith({ feedStates }).round(world.options())).polls).toEqual([]);
});

it('the lag counts since the last success, or else since the connection', async () => {
  world.clock.advance(90_000);
  failWith('transient', 'down');
  expect((await world.round()).lagSeconds).toBe(90);
  expect(world.observer.counted(metrics.feedLagSeconds)).toBe(90);
  // So a long pause that the service asks for raises the alarm of the lag.
  failWith('paused', 'the service asked for a pause');
  expect((await world.round()).lagSeconds).toBe(90);
  world.service.state.beforePage = () => world.clock.advance(1_000);
  expect((await world.round()).lagSeconds).toBe(0);
  world.clock.advance(2 * minuteMs);
  failWith('transient', 'down');
  expect((await world.round()).lagSeconds).toBe(120);
});

it('a round of one account polls only that one, and publishes no lag', async () => {
  await world.round();
  const before = world.observer.counted(metrics.feedLagSeconds);
  world.clock.advance(hourMs);
  failWith('transient', 'down');
  const poll = (only: string) => world.drain.round({ ...world.options(), only }).then(pollAnswerOf);

  expect(await poll('nobody')).toEqual({ polls: [], notPolled: [] });
  expect(await poll('main')).toMatchObject({ polls: [{ partnerAccount: 'main', end: 'fault' }] });
  expect(world.observer.counted(metrics.feedLagSeconds)).toBe(before);
});

it('a stuck feed is polled at once when an operator asks', async () => {
  const key = { partnerAccount: 'main', feed: 'adverts' };
  const problem = stuckUntil(world.clock.now() + 5 * minuteMs);
  const leased = await world.state.feedStates.acquire(key, {
    ...{ holder: 'a', nowMs: world.clock.now(), leaseMs: 1_000, listed: undefined },
  });
  if ('end' in leased) expect.fail(leased.end);
  await world.state.feedStates.release(leased, { problem }, world.clock.now());
  expect(await world.round()).toMatchObject({ polls: [], paused: [{ partnerAccount: 'main' }] });

  const { polls } = await world.drain.round({ ...world.options(), only: 'main' });

  expect(polls).toMatchObject([{ end: 'up-to-date' }]);
});

/** Polls the feed every minute. @returns in which minutes it was asked */
async function minutesAsked(minutes: number, more: Partial<RoundOptions> = {}) {
  const asked: number[] = [];
  for (let minute = 0; minute < minutes; minute += 1) {
    const before = world.service.feedRequests.length;
    await world.drain.round({ ...world.options(), ...more });
    if (world.service.feedRequests.length > before) asked.push(minute);
    world.clock.advance(minuteMs);
  }
  return asked;
}
const answer503 = (retryAfterMs?: number, answerMs = 2_000) => {
  world.service.state.beforePage = () => {
    world.clock.advance(answerMs);
    throw new BridgeFault('transient', 'answered 503', { status: 503, retryAfterMs });
  };
};

it('a failing feed is asked less and less, every five minutes at last', async () => {
  answer503();
  expect(await minutesAsked(24)).toEqual([0, 1, 3, 7, 12, 17, 22]);
  expect(world.observer.counted(metrics.feedLagSeconds)).toBeGreaterThan(23 * 60);

  world.service.state.beforePage = () => undefined;
  world.clock.advance(5 * minuteMs);
  await minutesAsked(1);
  answer503();
  expect(await minutesAsked(4)).toEqual([0, 1, 3]);
});

it('a failing feed is asked less and less when its answers are slow, too', async () => {
  answer503(undefined, 50_000);
  expect(await minutesAsked(24)).toEqual([0, 1, 3, 7, 12, 17, 22]);
});

it.each<[string, number, string, number, boolean]>([
  ['soon', 20_000, 'up-to-date', 2, false],
  ['soon, and begins with its own 429', 20_000, 'up-to-date', 3, true],
  ['after the next round begins', 60_000, 'fault', 1, false],
])('a feed waits in its round for the end of a pause that ends %s', async (...row) => {
  const [_when, pauseMs, end, requests, begins] = row;
  const endMs = world.clock.now() + pauseMs;
  let isPaused = !begins;
  world.service.change('1', 'active');
  // So many that only the first page of a round is read.
  await world.state.queue.send(Array.from({ length: 600 }, () => changedAdvert({ advertId: '9' })));
  world.service.state.beforePage = () => {
    const retryAfterMs = endMs - world.clock.now();
    if (!isPaused) {
      isPaused = true;
      throw new BridgeFault('rate-limited', 'names no time');
    }
    if (retryAfterMs > 0) throw new BridgeFault('paused', 'not sent', { retryAfterMs });
  };
  const { polls } = await world.drain.round({
    ...world.options(),
    nextRoundMs: world.clock.now() + minuteMs,
  });
  expect(polls).toMatchObject([{ end }]);
  expect(world.service.feedRequests).toHaveLength(requests);
});

it('a feed that waits for the end of a pause leaves its row alone', async () => {
  const endMs = world.clock.now() + 20_000;
  await holdBridge(world.state.budgetStore, serviceHold('service', endMs));
  world.service.change('1', 'active');
  // As a renewal of its token is refused: it does not say for how long.
  world.service.state.beforePage = () => {
    if (world.clock.now() < endMs) throw new BridgeFault('paused', 'token of partner account main');
  };
  const nextRoundMs = world.clock.now() + minuteMs;

  expect(await world.drain.round({ ...world.options(), nextRoundMs })).toMatchObject({
    polls: [{ end: 'up-to-date', pages: 1, listed: 1 }],
  });

  expect(world.service.feedRequests).toHaveLength(2);
});

it('a feed with a full queue waits for the end of a pause, too', async () => {
  const endMs = world.clock.now() + 30_000;
  await world.round();
  world.service.change('1', 'active');
  let looks = 0;
  const depth = async () => (++looks === 1 ? 2 * world.drainDeps.settings.maxWaiting : 0);
  world.service.state.beforePage = () => {
    const retryAfterMs = endMs - world.clock.now();
    if (retryAfterMs > 0) throw new BridgeFault('paused', 'not sent', { retryAfterMs });
  };
  const drain = drainWith({ queue: { ...world.state.queue, depth } });
  const nextRoundMs = world.clock.now() + minuteMs;

  expect((await drain.round({ ...world.options(), nextRoundMs })).polls).toMatchObject([
    { end: 'up-to-date', listed: 1 },
  ]);
});

it('a feed is left alone from its second failure on, not after a pause', async () => {
  failWith('paused', 'the whole bridge is paused');
  expect(await minutesAsked(2)).toEqual([0, 1]);
  answer503();
  expect(await minutesAsked(4)).toEqual([0, 1, 3]);
});

it('a feed is left alone as long as its 503 asks, except by an operator', async () => {
  answer503(10.5 * minuteMs);
  expect(await minutesAsked(24)).toEqual([0, 11, 22]);
  expect(await minutesAsked(4, { insists: true })).toEqual([]);
  expect(await minutesAsked(1, { only: 'main' })).toEqual([0]);
});

it('a run that is to end soon asks a failing feed as often as before', async () => {
  answer503();
  expect(await minutesAsked(4, { insists: true })).toEqual([0, 1, 2, 3]);
});

it('a feed is not left alone for a fault that it did not answer', async () => {
  failWith('transient', 'the queue did not accept 1 of 2 messages');
  expect(await minutesAsked(4)).toEqual([0, 1, 2, 3]);
  world.service.state.beforePage = () => {
    throw new BridgeFault('rate-limited', 'answered 429', { status: 429, retryAfterMs: hourMs });
  };
  expect(await minutesAsked(3)).toEqual([0, 1, 2]);
});

it.each([
  ['30 s of the rate are read ahead', { waiting: 0 }, 300],
  ['less is read by what waits', { waiting: 120 }, 180],
  ['the first page of a round is read even if 30 s of the rate wait', { waiting: 300 }, 50],
  ['nothing is read when maxWaiting is exceeded', { waiting: 20_001 }, undefined],
  ['no more than maxWaiting is read', { waiting: 0, maxWaiting: 70 }, 70],
  ['a page has at most a thousand entries', { waiting: 0, maxRequestsPerSecond: 500 }, 1_000],
])('a round limits its pages: %s', async (_title, { waiting, ...changed }, limit) => {
  const queue = { ...world.state.queue, depth: async () => waiting };
  const settings = { ...world.drainDeps.settings, ...changed };

  const { polls } = await drainWith({ queue, settings }).round(world.options());

  expect(polls.map(({ end }) => end)).toEqual([limit === undefined ? 'backlog' : 'up-to-date']);
  expect(limits()).toEqual(limit ? [limit] : []);
});

it.each([
  [10, 20_000, [300, 100, 100, 100, 100], 40_000],
  [1_000, 600, [600, 600], 1_000],
])(
  'a round reads on at %d requests a second when the queue has room again',
  async (rate, maxWaiting, pages, ms) => {
    for (let id = 1; id <= 700; id += 1) world.service.change(String(id), 'active');
    const startedAt = world.clock.now();
    const fetched = () => ((world.clock.now() - startedAt) * rate) / 1_000;
    const depth = async () => Math.max(0, (await world.state.queue.depth('main')) - fetched());
    const settings = { ...world.drainDeps.settings, maxRequestsPerSecond: rate, maxWaiting };
    const options = { ...world.options(), nextRoundMs: startedAt + minuteMs };

    const report = await drainWith({ settings, queue: { ...world.state.queue, depth } }).round(options);

    expect(report.polls).toMatchObject([{ end: 'up-to-date', listed: 700 }]);
    expect(limits()).toEqual(pages);
    expect(world.clock.now() - startedAt).toBe(ms);
  },
);

it('what is read ahead is shared among the accounts that are behind', async () => {
  const refreshToken = new Secret('refresh-1');
  await world.connect.connect({ partnerAccount: 'other', refreshToken }, world.options());
  for (let id = 1; id <= 1_000; id += 1) world.service.change(String(id), 'active');

  await world.round();
  await world.round();

  expect(limits()).toEqual([300, 300, 25, 25]);
});

it('an account paused while behind takes no share of what is read ahead', async () => {
  const names = Array.from({ length: 9 }, (_, index) => `other${index}`);
  for (const name of names) {
    const refreshToken = new Secret(`refresh-${name}`);
    await world.connect.connect({ partnerAccount: name, refreshToken }, world.options());
  }
  for (let id = 1; id <= 1_000; id += 1) world.service.change(String(id), 'active');
  let waiting = 300;
  const drain = drainWith({ queue: { ...world.state.queue, depth: async () => waiting } });
  await drain.round(world.options());
  for (const name of names)
    await world.partnerAccounts.change(name, (account) =>
      withHold(account, { kind: 'operator', since: world.clock.now() }),
    );
  waiting = 0;
  world.service.feedRequests.length = 0;

  await drain.round(world.options());

  expect(limits()[0]).toBe(300);
});

const pauseMain = (forMs?: number) =>
  pause({ ...world.state, host: { kind: 'local' }, clock: world.clock, who: async () => 'ann' }, 'main', {
    forMs,
  });

it.each([
  ['until it ends', hourMs],
  ['without an end', undefined],
])('a paused account is not polled and counts for no lag %s', async (_what, forMs) => {
  await pauseMain(forMs);
  const until = forMs && { until: toInstant(world.clock.now() + forMs) };
  world.clock.advance(hourMs - 1);

  const report = await world.round();

  expect(report.lagSeconds).toBe(0);
  const notPolled = [{ partnerAccount: 'main', reason: 'paused by ann', ...until }];
  expect(pollAnswerOf(report)).toEqual({ polls: [], notPolled });
  world.clock.advance(1);
  expect((await world.round()).polls).toHaveLength(forMs ? 1 : 0);
});

it('a pause of the whole bridge keeps the feeds’ places in line', async () => {
  const before = (await world.feed())?.lastPolled;
  failWith('operator-paused', 'paused by ann');
  world.clock.advance(hourMs);

  const report = await world.round();

  expect(report.lagSeconds).toBe(0);
  const poll = { end: 'fault', fault: 'operator-paused', reason: 'paused by ann' };
  expect(pollAnswerOf(report).polls).toMatchObject([poll]);
  expect((await world.feed())?.lastPolled).toBe(before);
});

async function putAside(names: readonly string[]) {
  const deliveries = names.map((name, index) => {
    const message = changedAdvert({ partnerAccount: name, key: `${name}-${index}` });
    return { id: message.key, message, position: `${index}`, receives: 1, sentAt: world.clock.now() };
  });
  await world.state.aside.store(deliveries.map((delivery) => ({ delivery, verdict: { kind: 'hold' } })));
}

it('messages behind an account on hold are put back at half the rate', async () => {
  await putAside(Array.from({ length: 100 }, () => 'main'));
  await putAside(Array.from({ length: 40 }, () => 'other'));
  await world.partnerAccounts.change('main', (account) =>
    withHold(account, { kind: 'operator', since: world.clock.now() }),
  );
  await drainWith({}).release(world.clock.now() + 5_000);
  expect(await world.state.aside.list('other')).toHaveLength(15);
});

it('every account’s messages have their turn although runs put back few', async () => {
  const names = Array.from({ length: 60 }, (_, index) => `account-${index}`);
  await putAside(Array.from({ length: 5 }, () => names).flat());
  for (let run = 0; run < 5; run += 1) {
    await drainWith({}).release(world.clock.now() + 5_000);
    world.clock.advance(5_000);
  }
  const left = await Promise.all(names.map(async (name) => (await world.state.aside.list(name)).length));
  expect(Math.max(...left)).toBeLessThan(5);
});

it('failed messages are put back when due, those of a wrong clock at once', async () => {
  const now = world.clock.now();
  const hold = (key: string, dueMs: number) => {
    const message = changedAdvert({ key });
    const delivery = { id: key, message, position: '1', receives: 2, sentAt: now };
    return { delivery, verdict: { kind: 'hold', wait: { dueMs, forMs: 30_000 } } } as const;
  };
  const { aside } = world.state;
  await aside.store([hold('1:a', now), hold('2:b', now + 30_000), hold('3:c', now + 5 * hourMs)]);
  await drainWith({}).release(now);
  expect((await aside.list('main')).map(({ message }) => message.key)).toEqual(['2:b']);
  world.clock.advance(30_000);
  await drainWith({}).release(world.clock.now());
  expect(await aside.list('main')).toEqual([]);
});

it('messages try again one a minute while their whole account fails', async () => {
  const { aside, queue } = world.state;
  const keys = Array.from({ length: 30 }, (_, index) => `failed:${30 - index}`);
  const deliveries = keys.map((key) => {
    const message = changedAdvert({ key });
    return { id: key, message, position: '1', receives: 1, sentAt: 0 };
  });
  const failedAt = (index: number) => ({ kind: 'hold', failedAt: index }) as const;
  await aside.store(deliveries.map((delivery, index) => ({ delivery, verdict: failedAt(index) })));
  const hold = { kind: 'service', fault: 'transient', since: 0, until: 0, forMs: 0 } as const;
  await world.partnerAccounts.change('main', (account) => withHold(account, hold));

  const left: number[] = [];
  for (let second = 0; second < 180; second += 5) {
    await world.drain.release(world.clock.now());
    left.push((await aside.list('main')).length);
    world.clock.advance(5_000);
  }

  expect(left).toEqual([29, 28, 27].flatMap((count) => Array.from({ length: 12 }, () => count)));
  const tried = await queue.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs: 1_000 });
  expect(tried.map(({ message }) => message?.key)).toEqual(keys.slice(0, 3));
  await world.partnerAccounts.change('main', (account) => withoutHolds(account, () => true));
  await world.drain.release(world.clock.now());
  expect(await aside.list('main')).toHaveLength(2);
});

it('messages aside are not read before they are due', async () => {
  const { store } = world.state;
  const [now, forMs] = [world.clock.now(), 900_000];
  const hold = (index: number) => {
    const message = changedAdvert({ key: `read:${index}`, partnerAccount: `account-${index % 4}` });
    const delivery = { id: '1', message, position: '1', receives: 2, sentAt: now };
    const wait = { dueMs: now + (index < 1_000 ? 0 : forMs), forMs };
    return { delivery, verdict: { kind: 'hold', wait } } as const;
  };
  await createAside(store).store(Array.from({ length: 20_000 }, (_, index) => hold(index)));
  let read = 0;
  const list: typeof store.list = async (kind, listing) => {
    const rows = await store.list(kind, listing);
    read += rows.length;
    return rows;
  };
  const aside = createAside({ ...store, list });

  await drainWith({ aside }).release(now);
  expect(read).toBeLessThanOrEqual(4 * 150);
  read = 0;
  expect(await aside.figures()).toEqual({ waiting: 4_000, isMore: true });
  expect(read).toBe(4);
});

it('messages aside take no room of their account’s feed', async () => {
  await putAside(Array.from({ length: 400 }, () => 'main'));
  await world.round();
  expect(limits()).toEqual([300]);
});

it('messages aside are put back although another account’s cannot be read', async () => {
  const { aside, queue } = world.state;
  await putAside(['main', 'other']);
  const error = new Error('throttled');
  const read = (name: string) => (name === 'main' ? Promise.reject(error) : world.partnerAccounts.read(name));

  await drainWith({ partnerAccounts: { ...world.partnerAccounts, read } }).release(
    world.clock.now() + minuteMs,
  );

  expect(await aside.accounts()).toEqual(['main']);
  expect(await queue.depth('other')).toBe(1);
  expect(world.observer.lines).toMatchObject([
    { level: 'warn', fields: { partnerAccount: 'main', error } },
    { level: 'info', fields: { partnerAccount: 'other', count: 1 } },
  ]);
});

it('messages aside stay there while the whole bridge is on hold', async () => {
  await putAside(['main']);
  await holdBridge(world.state.budgetStore, serviceHold('circuit', world.clock.now() + minuteMs));

  await drainWith({}).release(world.clock.now());

  expect(await world.state.aside.list('main')).toHaveLength(1);
});

it('messages aside stay there when the queue does not accept them', async () => {
  const { aside, queue } = world.state;
  await putAside(['main', 'main']);
  const [first] = await aside.list('main');
  const sendAgain: DrainDeps['queue']['sendAgain'] = async () => new Set(first ? [first.etag] : []);

  await drainWith({ queue: { ...queue, sendAgain } }).release(world.clock.now());

  expect(await aside.list('main')).toEqual([first]);
});

it('notes of operators beside messages are logged once', async () => {
  const { aside, deadLetters } = world.state;
  await putAside(['main']);
  const note = { by: 'me', groups: [{ count: 2, partnerAccount: 'main', fault: 'transient' }] };
  await deadLetters.note('1', note);
  expect(await aside.figures()).toMatchObject({ waiting: 1 });

  for (const _ of [1, 2]) await drainWith({}).release(world.clock.now() + minuteMs);

  const logged = { level: 'warn', message: 'an operator drops dead letters', fields: note };
  expect(world.observer.lines.filter(({ fields }) => fields?.by)).toEqual([logged]);
  expect(await aside.accounts()).toEqual([]);
});

it.each([1, 2, 7, 200])(
  'messages aside of %i accounts are put back in turns, at half the rate',
  async (accounts) => {
    const names = Array.from({ length: 400 }, (_, index) => `account-${index % accounts}`);
    await putAside(names);
    const settings = { ...world.drainDeps.settings, maxRequestsPerSecond: 10 };
    const began = world.clock.now();
    const putBack: Record<number, number> = {};
    const turns = new Map<string, number>();
    const sendAgain: DrainDeps['queue']['sendAgain'] = (messages) => {
      const second = (world.clock.now() - began) / 1000;
      putBack[second] = (putBack[second] ?? 0) + messages.length;
      for (const { message } of messages)
        turns.set(message.partnerAccount, (turns.get(message.partnerAccount) ?? 0) + 1);
      return world.state.queue.sendAgain(messages);
    };
    const drain = drainWith({ settings, queue: { ...world.state.queue, sendAgain } });

    await drain.run({ deadlineMs: began + hourMs, nextRunMs: began + 15_000 });

    expect(putBack).toEqual({ 0: 25, 5: 25, 10: 25 });
    expect(turns.size).toBe(Math.min(accounts, 75));
    expect(Math.max(...turns.values()) - Math.min(...turns.values())).toBeLessThanOrEqual(3);
  },
);
