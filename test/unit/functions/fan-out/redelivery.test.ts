import { beforeEach, expect, it } from 'vitest';
import type { AdvertDeps, Group } from '../../../../functions/fan-out/advert.ts';
import { createFanOut, type FanOutDeps } from '../../../../functions/fan-out/fan-out.ts';
import { afterFault, askAgain, deadLetterOf, sendBack } from '../../../../functions/fan-out/redelivery.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import { withHold, withoutHolds } from '../../../../shared/domain/holds.ts';
import type { AdvertRow } from '../../../../shared/state/advert-histories.ts';
import { changedAdvert } from '../../../helpers/records.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** Of the stack's queue: ten times the function's timeout (infra/constructs/changed-adverts.ts). */
const visibilityMs = 10 * minuteMs;
const many = { maxGroups: 10, maxPerGroup: 10, visibilityMs };

let world: World;
beforeEach(async () => {
  world = await createWorld();
  world.service.change('1', 'active');
  await world.round();
  await handleNew('2');
  world.observer.lines.length = 0;
});
type Details = ConstructorParameters<typeof BridgeFault>[2];
const fail = (
  code: FaultKind,
  details: Details = {},
  isMeant = (advertId: string): boolean => advertId === '1',
) => {
  world.service.state.beforeAdvert = (advertId) => {
    if (isMeant(advertId)) throw new BridgeFault(code, `told to be ${code}`, details);
  };
  return undefined;
};
const failAll = (code: FaultKind, details: Details) => fail(code, details, () => true);

/** A new message; about another advert, which is a witness when it is answered well. */
async function handleNew(advertId: string, { handle } = world.fanOut): Promise<void> {
  const generation = (await world.account())?.generation ?? 0;
  world.service.know(advertId, 'active');
  const message = changedAdvert({ advertId, generation });
  const delivery = { id: 'new', message, position: '1', receives: 1, sentAt: world.clock.now() };
  await handle([delivery], world.options());
}

it.each<[FaultKind, number, string]>([
  ['contract-broken', 5, 'error'],
  ['request-refused', 5, 'error'],
  ['invalid-request', 2, 'error'],
])('a failing message with %s is dead-lettered at try %i in four minutes', async (code, tries, level) => {
  const cause = new Error('the reason of the reason');
  fail(code, { cause, status: 400 });
  const startedAt = world.clock.now();
  const kinds: unknown[] = [];
  for (let turn = 1; turn <= tries; turn += 1) kinds.push((await turnOf(world))[0]);

  expect(kinds).toEqual([...['retry', 'hold', 'hold', 'hold'].slice(0, tries - 1), 'dead-letter']);
  expect(world.clock.now() - startedAt).toBeLessThan(4 * minuteMs);
  const about = { partnerAccount: 'main', advertId: '1', fault: code, reason: `told to be ${code}` };
  const [stored] = await world.state.deadLetters.list();
  expect(stored).toMatchObject(about);
  expect(await world.books()).toMatchObject({ listed: 1, deadLettered: 1, inFlight: 0 });
  expect(world.observer.lines.filter((line) => line.level === level)).toMatchObject([
    { fields: { ...about, error: cause } },
  ]);
});

it('a failing message repeats once, then waits aside ever longer', async () => {
  fail('transient', { status: 500 });
  const waits: unknown[] = [];
  for (let turn = 0; turn < 8; turn += 1) waits.push(await turnOf(world));

  const seconds = [0.75, 22.5, 45, 90, 180, 360, 675, 675];
  expect(waits).toEqual(seconds.map((length, index) => [index === 0 ? 'retry' : 'hold', length * 1_000]));
});

it('a message with a transient fault is dead-lettered after a day', async () => {
  fail('transient', { status: 500 });
  const startedAt = world.clock.now();
  let turns = 0;
  for (let kind: unknown; kind !== 'dead-letter' && turns < 200; turns += 1) [kind] = await turnOf(world);

  expect(world.clock.now() - startedAt).toBeGreaterThanOrEqual(dayMs);
  expect(world.clock.now() - startedAt).toBeLessThan(dayMs + 30 * minuteMs);
  expect(turns).toBeLessThan(200);
  expect(world.observer.counted(metrics.needsAttention)).toBe(0);
});

it.each<[FaultKind, number]>([
  ['invalid-request', 400],
  ['forbidden', 403],
  ['contract-broken', 200],
])('a message with %s stays for a day while no other advert succeeds', async (code, status) => {
  failAll(code, { status });
  const startedAt = world.clock.now();
  let turns = 0;
  for (let kind: unknown; kind !== 'dead-letter' && turns < 200; turns += 1) [kind] = await turnOf(world);

  expect(world.clock.now() - startedAt).toBeGreaterThanOrEqual(dayMs);
  expect(await world.state.deadLetters.list()).toHaveLength(1);
});

it.each<[FaultKind, number]>([
  ['invalid-request', 400],
  ['forbidden', 403],
  ['transient', 500],
])('a message waits without limit while all adverts fail with %s', async (code, status) => {
  failAll(code, { status });
  const hold = { kind: 'service', fault: code, since: 0, until: 0, forMs: 0 } as const;
  await world.partnerAccounts.change('main', (account) => withHold(account, hold));
  for (let hour = 0; hour < 48; hour += 1) {
    expect(await turnOf(world)).toEqual(['hold', 0]);
    world.clock.advance(60 * minuteMs);
    await world.drain.release(world.clock.now());
  }
  await world.partnerAccounts.change('main', (account) => withoutHolds(account, () => true));
  world.service.state.beforeAdvert = () => undefined;
  expect(await turnOf(world)).toEqual(['done', 0]);
});

it('a message does not age while it waits for any advert to succeed', async () => {
  const hold = { kind: 'service', fault: 'transient', since: 0, until: 0, forMs: 0 } as const;
  await world.partnerAccounts.change('main', (account) => withHold(account, hold));
  failAll('transient', { status: 503, retryAfterMs: dayMs / 4 });
  for (let turn = 0; turn < 5; turn += 1) expect(await turnOf(world)).toEqual(['hold', dayMs / 4]);
  await world.partnerAccounts.change('main', (account) => withoutHolds(account, () => true));

  fail('transient', { status: 500 });
  expect((await turnOf(world))[0]).toBe('hold');
});

it('a message is given up at its second try after another advert succeeds', async () => {
  failAll('invalid-request', { status: 400 });
  for (let turn = 0; turn < 4; turn += 1) expect((await turnOf(world))[0]).not.toBe('dead-letter');
  fail('invalid-request', { status: 400 });
  expect((await turnOf(world))[0]).toBe('dead-letter');
});

it.each<[FaultKind, Details]>([
  ['paused', { retryAfterMs: 1_000 }],
  ['transient', { status: 500 }],
  ['rate-limited', { status: 429 }],
])('a new advert’s invalid request repeats once even after %s', async (code, details) => {
  fail(code, details);
  await turnOf(world);
  await handleNew('2');
  fail('invalid-request', { status: 400 });
  expect((await turnOf(world))[0]).toBe('hold');
  await handleNew('2');
  expect((await turnOf(world))[0]).toBe('dead-letter');
});

it.each<[FaultKind, number]>([
  ['forbidden', 403],
  ['token-rejected', 401],
  ['request-refused', 451],
])('an outage of 400 gives nothing up that had failed with %s', async (code, status) => {
  for (let tries = 0; tries < 3; tries += 1) {
    await handleNew('2');
    fail(code, { status });
    await turnOf(world);
  }
  await handleNew('2');
  failAll('invalid-request', { status: 400 });
  for (let turn = 0; turn < 6; turn += 1) expect((await turnOf(world))[0]).not.toBe('dead-letter');
});

it('an outage gives a redriven message up only after another succeeds', async () => {
  failAll('invalid-request', { status: 400 });
  await turnOf(world);
  await handleNew('2');
  fail('invalid-request', { status: 400 });
  expect((await turnOf(world))[0]).toBe('dead-letter');
  failAll('invalid-request', { status: 400 });
  const { deadLetters } = world.state;
  const stored = await deadLetters.list();
  await deadLetters.redrive(stored.flatMap((one) => (one.message ? { ...one, message: one.message } : [])));
  await world.drain.release(world.clock.now());

  for (let turn = 0; turn < 6; turn += 1) expect((await turnOf(world))[0]).not.toBe('dead-letter');
  fail('invalid-request', { status: 400 });
  expect((await turnOf(world))[0]).toBe('dead-letter');
});

it('a message is not given up by several tries after one good answer', async () => {
  fail('forbidden', { status: 403 });
  await turnOf(world);
  await handleNew('2');
  failAll('forbidden', { status: 403 });
  for (let turn = 0; turn < 8; turn += 1) expect((await turnOf(world))[0]).not.toBe('dead-letter');
});

it('processes that live for one batch judge a message alike', async () => {
  failAll('invalid-request', { status: 400 });
  for (let turn = 0; turn < 6; turn += 1) {
    const handleBatch = () => world.handleBatch(10, createFanOut(world.fanOutDeps));
    expect((await turnOf({ ...world, handleBatch }))[0]).not.toBe('dead-letter');
  }
});

it('a transient fault is never given up while no advert succeeds', async () => {
  failAll('transient', { status: 500 });
  const startedAt = world.clock.now();
  while (world.clock.now() - startedAt < 2 * dayMs) expect((await turnOf(world))[0]).not.toBe('dead-letter');
});

it('a message is not given up when a clock jumps ahead', async () => {
  fail('transient', { status: 500 });
  await turnOf(world);
  await turnOf(world);
  world.clock.advance(26 * 60 * minuteMs);
  expect(await turnOf(world, { waits: false })).toEqual(['hold', 45_000]);
  world.clock.advance(-26 * 60 * minuteMs);
  await world.drain.release(world.clock.now());
  expect((await turnOf(world))[0]).toBe('hold');
  expect(await world.state.deadLetters.list()).toEqual([]);
});

it('an advert is known to have failed only when it was asked for', async () => {
  const { adverts } = world.fanOutDeps;
  const isIll: unknown[] = [];
  const readAdvert: typeof adverts.readAdvert = (account, id, options) => {
    if (id === '1') isIll.push('isIll' in options && options.isIll);
    return adverts.readAdvert(account, id, options);
  };
  const fanOut = createFanOut({ ...world.fanOutDeps, adverts: { readAdvert } });
  const observed = { ...world, handleBatch: () => world.handleBatch(10, fanOut) };
  fail('account-paused', { retryAfterMs: 1_000 });
  await turnOf(observed);
  fail('forbidden', { status: 403 });
  await turnOf(observed);
  await turnOf(observed);
  // What failed is known from the message, and a new one finds it in the advert's row.
  await handleNew('1', fanOut);

  expect(isIll).toEqual([false, false, true, true]);
});

it('the row has tries and fault, outages apart, until an answer succeeds', async () => {
  const tries = async () => {
    const [delivery] = await world.state.queue.receive({ ...many, visibilityMs: 0 });
    if (delivery) await world.fanOut.handle([delivery], world.options());
    const generation = (await world.account())?.generation ?? 0;
    const key = { partnerAccount: 'main', generation, feed: 'adverts', advertId: '1' } as const;
    const row = await world.state.advertHistories.read(key);
    return [row?.tries, row?.fault];
  };
  fail('paused');
  const counted = [await tries()];
  fail('transient', { status: 500 });
  counted.push(await tries(), await tries());
  fail('contract-broken');
  counted.push(await tries(), await tries());
  world.service.state.beforeAdvert = () => undefined;
  counted.push(await tries());
  fail('transient', { status: 500 });
  counted.push(await tries());

  const [outage, broken] = ['transient', 'contract-broken'];
  expect(counted).toEqual([
    [undefined, undefined],
    [undefined, outage],
    [undefined, outage],
    [1, broken],
    [2, broken],
    [undefined, undefined],
    [undefined, outage],
  ]);
});

it('what waits for the bus is not given up when a clock jumps ahead', async () => {
  world.events.refuse();
  await turnOf(world);
  world.clock.advance(26 * 60 * minuteMs);
  expect((await turnOf(world))[0]).toBe('retry');
  for (let turn = 0; turn < 100; turn += 1) await turnOf(world);
  expect(await world.state.deadLetters.list()).toHaveLength(1);
});

/** Has fan-out handle the message, then waits until it is in the queue again. @returns verdict and length of the wait */
async function turnOf({ handleBatch, clock, drain }: World, { waits = true } = {}) {
  const [settlement] = await handleBatch();
  const { verdict } = settlement ?? {};
  const lengthMs =
    verdict?.kind === 'retry' ? verdict.delayMs : verdict?.kind === 'hold' ? (verdict.wait?.forMs ?? 0) : 0;
  if (waits) clock.advance(lengthMs);
  await drain.release(clock.now());
  return [verdict?.kind, lengthMs];
}

/** How a message may fail for a day, each time it is delivered. */
const faults: Record<string, () => Partial<FanOutDeps> | undefined> = {
  'a 429 that names a second': () => fail('rate-limited', { retryAfterMs: 1_000 }),
  'a 429 that names five seconds': () => fail('rate-limited', { retryAfterMs: 5_000 }),
  'a 429 that names no time': () => fail('rate-limited'),
  'no answer': () => fail('transient'),
  'a rate budget without a slot': () => fail('paused', { retryAfterMs: 200 }),
  'a token that is not renewed': () => fail('token-rejected'),
  'a wrong path': () => fail('wrong-path'),
  'an account that cannot be read': () => ({
    partnerAccounts: {
      ...world.fanOutDeps.partnerAccounts,
      read: () => Promise.reject(new Error('throttled')),
    },
  }),
  'an account of an older generation than the message': () => ({
    partnerAccounts: {
      ...world.fanOutDeps.partnerAccounts,
      async read(name) {
        const read = await world.partnerAccounts.read(name);
        return read && { ...read, generation: 1 };
      },
    },
  }),
  'a history that cannot be read': () => histories({ read: () => Promise.reject(new Error('throttled')) }),
  'a history that others write all the time': () => histories({ write: async () => undefined }),
  'a request refused as wrong, whose tries cannot be counted': () => {
    fail('invalid-request');
    return histories({ write: () => Promise.reject(new Error('throttled')) });
  },
  'an advert that is never confirmed to be missing': () => {
    fail('not-found');
    return histories({ read: async () => undefined, write: async (_key, row) => row });
  },
  'a bus that refuses': () => void world.events.refuse(),
};
const histories = (change: Partial<FanOutDeps['advertHistories']>) => ({
  advertHistories: { ...world.state.advertHistories, ...change },
});

it.each(Object.keys(faults))('a message failing for a day comes at most 200 times over %s', async (name) => {
  // The shortest delays that chance may give.
  const fanOut = createFanOut({ ...world.fanOutDeps, random: () => 0, ...faults[name]?.() });
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

it('a message comes at most 200 times when functions crash over it', () => {
  expect(dayMs / visibilityMs).toBeLessThanOrEqual(200);
});

/** When the clock of these tests begins. */
const startedMs = Date.parse('2026-11-20T12:00:00Z');

/** What is known when a message fails. */
interface Given {
  readonly row?: Partial<AdvertRow>;
  readonly receives?: number;
  /** Since the queue accepted it. */
  readonly ageMs?: number;
  readonly failed?: { readonly times: number; readonly waitedMs: number };
  /** An operator has the answer to this message of the two believed. */
  readonly believed?: 0 | 1;
  readonly isAlike?: boolean;
  /** Whether another advert is answered well; null if that cannot be found out. Default: true */
  readonly isOtherWell?: boolean | null;
  readonly isUncountable?: boolean;
  readonly settings?: Partial<AdvertDeps['settings']>;
  /** What is drawn. Default: 0.5 */
  readonly chance?: number;
}
const rowKey = async () =>
  ({
    partnerAccount: 'main',
    generation: (await world.account())?.generation ?? 0,
    feed: 'adverts',
    advertId: '1',
  }) as const;
const rowNow = async () => world.state.advertHistories.read(await rowKey());

/** Has two messages of an advert fail, the second of which is new to the queue, and was received fifty times. */
async function failing(code: FaultKind, details: Details, given: Given = {}) {
  const {
    receives = 1,
    ageMs = 0,
    failed,
    believed,
    isAlike = false,
    isOtherWell = true,
    settings,
    chance = 0.5,
  } = given;
  const key = await rowKey();
  const row = { sequence: 0, status: null, pending: false, ...given.row, etag: 'absent' };
  if (given.row) await world.state.advertHistories.write(key, row);
  const of = (message: object, received: number, age = 0) => ({
    ...{ id: 'x', position: '1', receives: received, sentAt: world.clock.now() - age },
    message: changedAdvert({ ...key, correlationId: 'page-1', ...message }),
  });
  const group: Group = [
    of({ ...(failed && { failed }), ...(believed === 0 && { believed: true }) }, receives, ageMs),
    of(believed === 1 ? { believed: true } : {}, 50),
  ];
  const asked: unknown[] = [];
  const deps: AdvertDeps = {
    ...{ ...world.fanOutDeps, random: () => chance },
    settings: { ...world.fanOutDeps.settings, ...settings },
    witness: {
      answeredWell: async () => undefined,
      isGone: async () => true,
      async isOtherWell({ advertId }, since, deadlineMs) {
        asked.push([advertId, since - world.clock.now(), deadlineMs - world.clock.now()]);
        if (isOtherWell === null) throw new Error('throttled');
        return isOtherWell;
      },
    },
    ...(given.isUncountable && histories({ read: () => Promise.reject(new Error('throttled')) })),
  };
  const fault = new BridgeFault(code, `told to be ${code}`, details);
  const before = await rowNow();
  const settled = await afterFault(deps, group, fault, { isAlike });
  expect(settled.map(({ delivery }) => delivery)).toEqual(group);
  return { before, group, asked, verdicts: settled.map(({ verdict }) => verdict) };
}
const of = (status: number, retryAfterMs?: number) => ({ status, ...(retryAfterMs && { retryAfterMs }) });
const waited = (waitedMs: number) => ({ times: 1, waitedMs });
const soon = dayMs - 1;
/** Without a witness, while the adverts of its account go one at a time. */
const refusedFor = (ms: number, times: number): Given => ({
  row: { tries: 1, fault: 'forbidden', failedAt: startedMs - ms },
  ...{ failed: { times, waitedMs: 0 }, isAlike: true, isOtherWell: false },
});
const failedSo = (fault: FaultKind, tries: number) => ({ row: { tries, fault } });

it.each<[FaultKind, Details, boolean, Given]>([
  ['delivered-too-often', {}, true, {}],
  ['delivered-too-often', {}, false, { isUncountable: true }],
  ['invalid-request', of(400), false, {}],
  ['invalid-request', of(400), true, failedSo('invalid-request', 1)],
  ['invalid-request', of(400), false, { ...failedSo('invalid-request', 1), isOtherWell: false }],
  ['invalid-request', of(400), false, { ...failedSo('invalid-request', 1), isUncountable: true }],
  ['invalid-request', {}, true, { ...failedSo('invalid-request', 1), isOtherWell: false }],
  ['invalid-request', of(400), false, { failed: waited(dayMs), isOtherWell: false }],
  ['invalid-request', {}, false, { ageMs: 9 * dayMs, receives: 1_000 }],
  ['invalid-request', of(400), false, failedSo('forbidden', 4)],
  ['forbidden', of(403), false, failedSo('token-rejected', 4)],
  ['forbidden', of(403), false, failedSo('forbidden', 3)],
  ['forbidden', of(403), true, failedSo('forbidden', 4)],
  ['forbidden', of(403), true, { ...failedSo('forbidden', 2), settings: { advertTries: 3 } }],
  ['forbidden', of(403), false, { ...failedSo('forbidden', 4), isOtherWell: false }],
  // It failed in a way that may pass until now.
  ['forbidden', of(403), false, { failed: waited(dayMs), isOtherWell: false }],
  ['forbidden', of(403), false, { failed: waited(dayMs), isAlike: true }],
  ['transient', of(500), true, { believed: 0, isOtherWell: false }],
  ['transient', of(500), true, { believed: 0, isAlike: true }],
  ['transient', of(500), true, { believed: 1, isOtherWell: false }],
  ['forbidden', of(403), true, { believed: 0, isOtherWell: false }],
  ['forbidden', of(403), false, { believed: 0, isUncountable: true }],
  ['transient', {}, false, { believed: 0 }],
  ['rate-limited', of(429), false, { believed: 0 }],
  ['paused', {}, false, { believed: 0 }],
  ['forbidden', of(403), true, refusedFor(dayMs, 96)],
  ['forbidden', of(403), false, refusedFor(soon, 96)],
  // Less than a quarter of an hour between two tries: a clock is ahead.
  ['forbidden', of(403), false, refusedFor(dayMs, 95)],
  ['token-rejected', of(401), true, refusedFor(dayMs, 96)],
  ['invalid-request', of(400), true, refusedFor(dayMs, 96)],
  ['transient', of(500), false, refusedFor(dayMs, 96)],
  ['contract-broken', {}, true, { ...failedSo('contract-broken', 4), isOtherWell: false }],
  ['contract-broken', {}, false, { ageMs: 9 * dayMs, receives: 1_000 }],
  ['transient', of(500), true, { failed: waited(dayMs) }],
  ['transient', of(500), false, { failed: waited(soon) }],
  ['transient', of(500), true, { failed: waited(soon), settings: { maxAgeMs: soon } }],
  ['transient', of(500), false, { failed: waited(dayMs), isOtherWell: false }],
  ['transient', of(500), false, { failed: waited(dayMs), isOtherWell: null }],
  ['forbidden', of(403), false, { ...failedSo('forbidden', 4), isOtherWell: null }],
  ['transient', of(500), false, { failed: waited(dayMs), isAlike: true }],
  ['transient', of(500), false, { ...failedSo('transient', 9), ageMs: 9 * dayMs, receives: 1_000 }],
  ['transient', {}, true, { ageMs: dayMs, receives: 96, isOtherWell: false }],
  ['transient', {}, false, { ageMs: soon, receives: 96 }],
  // 95 receives, with delays of a quarter of an hour at most, take less than a day: a clock is ahead.
  ['transient', {}, false, { ageMs: dayMs, receives: 95 }],
  ['transient', {}, false, { failed: waited(dayMs) }],
  ['rate-limited', of(429), true, { ageMs: dayMs, receives: 96, isOtherWell: false }],
  ['rate-limited', of(429), false, { failed: waited(dayMs) }],
  ['paused', {}, false, { ...failedSo('paused', 9), ageMs: 9 * dayMs, receives: 1_000 }],
])('a message that fails with %s, %j is given up: %j, %j', async (code, details, isGivenUp, given) => {
  const { group, verdicts } = await failing(code, details, given);

  const [head, other] = verdicts;
  expect(head?.kind === 'dead-letter').toBe(isGivenUp);
  const about = { partnerAccount: 'main', advertId: '1', fault: code, reason: `told to be ${code}` };
  const { observer, clock } = world;
  const fields = { ...about, correlationId: 'page-1', error: undefined };
  expect(observer.lines).toMatchObject([{ level: isGivenUp ? 'error' : 'warn', fields }]);
  if (!isGivenUp) return;
  const [{ message, receives }] = group;
  const at = new Date(clock.now()).toISOString();
  expect(head).toEqual({ kind: 'dead-letter', deadLetter: { ...about, at, receives, message } });
  expect(other).toEqual({ kind: 'retry', delayMs: 0 });
});

const holdFor = (forMs: number) => ({ forMs });
it.each<[FaultKind, Details, number | { forMs: number } | 'failedAt' | 'plain', Given]>([
  ['transient', {}, 750, {}],
  ['transient', {}, 1_500, { receives: 2 }],
  ['transient', {}, 192_000, { receives: 9 }],
  ['transient', {}, 225_000, { receives: 10 }],
  ['transient', { retryAfterMs: 60_000 }, 60_000, {}],
  ['transient', { retryAfterMs: 60_001 }, 60_000, {}],
  ['transient', { retryAfterMs: 60_001 }, 9_000, { settings: { longestHiddenMs: 9_000 } }],
  ['rate-limited', of(429, 60_001), 60_000, { failed: waited(0) }],
  ['transient', of(500), 750, {}],
  ['transient', of(503, 60_000), 60_000, {}],
  ['transient', of(503, 60_001), holdFor(60_001), {}],
  ['transient', of(503, 50_000), holdFor(50_000), { settings: { longestHiddenMs: 49_999 } }],
  ['transient', of(500), holdFor(22_500), { receives: 2 }],
  ['forbidden', of(403), holdFor(45_000), { failed: waited(0) }],
  ['transient', of(500), holdFor(45_000), { failed: waited(0) }],
  ['transient', of(500), holdFor(360_000), { failed: { times: 4, waitedMs: 0 } }],
  ['transient', of(500), holdFor(675_000), { failed: { times: 5, waitedMs: 0 } }],
  ['transient', of(503, 40_000), holdFor(45_000), { failed: waited(0) }],
  ['transient', of(503, dayMs / 4 - 1), holdFor(dayMs / 4 - 1), {}],
  ['transient', of(503, dayMs / 4 + 1), holdFor(dayMs / 4), {}],
  ['transient', of(500), 'failedAt', { isAlike: true }],
  ['forbidden', of(403), 'failedAt', { isAlike: true, receives: 2, failed: waited(0) }],
  ['paused', {}, 750, { ageMs: soon }],
  ['paused', {}, 'plain', { ageMs: dayMs }],
  ['paused', {}, 'plain', { ageMs: soon, settings: { maxAgeMs: soon } }],
  ['operator-paused', {}, 'plain', { ageMs: dayMs, row: { tries: 9 } }],
  ['account-paused', { retryAfterMs: 5_000 }, 'plain', { ageMs: dayMs }],
  ['paused', {}, 750, { ageMs: dayMs, isUncountable: true }],
])('a message that fails with %s, %j waits as long as %j, %j', async (code, details, wait, given) => {
  const { verdicts } = await failing(code, details, given);

  const now = world.clock.now();
  if (typeof wait === 'number') {
    const ownMs = 473_600;
    expect(verdicts).toEqual([wait, Math.max(wait, ownMs)].map((delayMs) => ({ kind: 'retry', delayMs })));
    return;
  }
  const failedAt = { kind: 'hold', failedAt: now };
  const plain = { kind: 'hold' };
  const verdict =
    typeof wait === 'object'
      ? { kind: 'hold', wait: { dueMs: now + wait.forMs, forMs: wait.forMs } }
      : { failedAt, plain }[wait];
  expect(verdicts).toEqual([verdict, verdict]);
});

it.each([
  [0, 500, 15_000],
  [1, 1_000, 30_000],
])('at most half of a wait is by chance: %i', async (chance, inQueueMs, forMs) => {
  const [first] = (await failing('transient', of(500), { chance })).verdicts;
  expect(first).toEqual({ kind: 'retry', delayMs: inQueueMs });
  const [second] = (await failing('transient', of(500), { chance, receives: 2 })).verdicts;
  expect(second).toMatchObject({ kind: 'hold', wait: { forMs } });
});

it('a message waits for a good answer, and as long as the service asks', async () => {
  const { verdicts } = await failing('transient', of(503, 5_000), { isAlike: true });
  const failedAt = world.clock.now();
  expect(verdicts[0]).toEqual({ kind: 'hold', failedAt, wait: { dueMs: failedAt + 5_000, forMs: 5_000 } });
});

it.each<[FaultKind, Details, Given, number]>([
  ['wrong-path', of(404), {}, 1],
  ['wrong-path', {}, { ageMs: dayMs, receives: 96 }, 0],
  ['transient', of(500), {}, 0],
])('a message that fails with %s, %j, %j calls for attention: %i', async (code, details, given, calls) => {
  await failing(code, details, given);
  expect(world.observer.counted(metrics.needsAttention)).toBe(calls);
});

it.each<[string, FaultKind, Details, Given, unknown[]]>([
  [
    'since the try before',
    'forbidden',
    of(403),
    { row: { tries: 1, fault: 'forbidden', failedAt: 7 } },
    ['failedAt', 5_000],
  ],
  [
    'in the time of a fetch',
    'forbidden',
    of(403),
    { row: { tries: 1, fault: 'forbidden', failedAt: 7 }, settings: { fetchMs: 3_000 } },
    ['failedAt', 3_000],
  ],
  ['of any age if that has no moment', 'forbidden', of(403), failedSo('forbidden', 1), ['failedAt', 5_000]],
  ['not before a first try', 'forbidden', of(403), {}, []],
  ['not for a fault of the bridge', 'contract-broken', {}, failedSo('contract-broken', 1), []],
  ['in a quarter of an hour', 'transient', of(500), { failed: waited(dayMs) }, [-900_000, 5_000]],
  ['not while it is young', 'transient', of(500), { failed: waited(soon) }, []],
])('a try asks for a witness %s', async (_when, code, details, given, expected) => {
  const { asked } = await failing(code, details, given);
  const [since, withinMs] = expected;
  const sinceMs = since === 'failedAt' ? (given.row?.failedAt ?? 0) - world.clock.now() : since;
  expect(asked).toEqual(expected.length > 0 ? [['1', sinceMs, withinMs]] : []);
});

const event = { sequence: 3, status: 'new', envelope: '{}', by: 'k', pending: true, missingSince: 5 };
const tried = { tries: 2, fault: 'forbidden', failedAt: 7 };
const now = { failedAt: startedMs };
const first = { sequence: 0, status: null, pending: false };
it.each<[string, FaultKind, Details, Given, object]>([
  ['of its own, first', 'forbidden', of(403), {}, { ...first, tries: 1, fault: 'forbidden', ...now }],
  [
    'of its own, again',
    'forbidden',
    of(403),
    { row: { ...event, ...tried } },
    { ...event, tries: 3, fault: 'forbidden', ...now },
  ],
  [
    'of its own, without a witness',
    'forbidden',
    of(403),
    { row: { ...event, ...tried }, isOtherWell: false },
    { ...event, ...tried },
  ],
  [
    'not of the service',
    'contract-broken',
    {},
    { row: { ...tried, fault: 'contract-broken' }, isOtherWell: false },
    { ...first, tries: 3, fault: 'contract-broken', ...now },
  ],
  [
    'of another kind',
    'token-rejected',
    of(401),
    { row: { ...event, ...tried } },
    { ...event, tries: 1, fault: 'token-rejected', ...now },
  ],
  [
    'of another kind, without a witness',
    'token-rejected',
    of(401),
    { row: { ...event, ...tried }, isOtherWell: false },
    { ...event, ...tried },
  ],
  ['of more, first', 'transient', of(500), {}, { ...first, fault: 'transient' }],
  ['of more, after an event', 'transient', of(500), { row: event }, { ...event, fault: 'transient' }],
  [
    'of more, after its own',
    'transient',
    of(500),
    { row: { ...event, ...tried } },
    { ...event, ...tried, ...now },
  ],
  ['of no request, after its own', 'paused', {}, { row: { ...event, ...tried } }, { ...event, ...tried }],
  ['of a bus, after its own', 'transient', {}, { row: { ...event, ...tried } }, { ...event, ...tried }],
  ['of no request, first', 'paused', {}, {}, first],
  ['of no request, after an event', 'paused', {}, { row: event }, event],
])('a row shows a fault %s', async (_what, code, details, given, expected) => {
  const { before } = await failing(code, details, given);
  const after = await rowNow();
  const { etag, ...stored } = after ?? {};
  expect(stored).toEqual(expected);
  // A row that says so already is not written.
  const isSame =
    before !== undefined &&
    after?.fault === before.fault &&
    after?.tries === before.tries &&
    after?.failedAt === before.failedAt;
  expect(etag === before?.etag).toBe(isSame);
});

it.each([
  [40, 0, 0.5, 0],
  [40, 5, 0.5, 5],
  [41, 0, 0.5, 925],
  [41, 924, 0.5, 925],
  [41, 926, 0.5, 926],
  [42, 0, 0.5, 1_850],
  [50, 0, 0.5, 473_600],
  [51, 0, 0.5, 832_500],
  [1_000, 0, 0.5, 832_500],
  [51, 0, 0, 765_000],
  [51, 0, 1, 900_000],
])(
  'a message with %i receives and a delay of %i ms, by chance %d, has %i',
  (receives, askedMs, chance, delayMs) => {
    const delivery = { id: '1', position: '1', receives, sentAt: 0 };
    expect(sendBack([delivery], askedMs, () => chance)).toEqual([
      { delivery, verdict: { kind: 'retry', delayMs } },
    ]);
  },
);

it('a message waits outside the queue if it may not be hidden so long', async () => {
  const deliveries = [1, 41].map((receives) => ({
    ...{ id: '1', position: '1', receives, sentAt: 0 },
    message: changedAdvert(),
  }));
  const group = deliveries as unknown as Group;
  const { clock, fanOutDeps } = world;
  const settings = { ...fanOutDeps.settings, longestHiddenMs: 50_000 };
  const deps = { ...fanOutDeps, settings, witness: {} } as unknown as AdvertDeps;
  const verdictsOf = (waitMs: number) => askAgain(deps, group, waitMs).map(({ verdict }) => verdict);

  expect(verdictsOf(0)).toEqual([0, 925].map((delayMs) => ({ kind: 'retry', delayMs })));
  expect(verdictsOf(50_000)).toEqual([50_000, 50_000].map((delayMs) => ({ kind: 'retry', delayMs })));
  const wait = { dueMs: clock.now() + 50_001, forMs: 50_001 };
  expect(verdictsOf(50_001)).toEqual([wait, wait].map((one) => ({ kind: 'hold', wait: one })));
});

const about = { partnerAccount: 'other', advertId: '9' };
const message = changedAdvert({ advertId: '7' });
const id = (partnerAccount: string | null, advertId: string | null) => ({ partnerAccount, advertId });
it.each<[string, object, object]>([
  ['its message', { message }, { ...id('main', '7'), message }],
  ['its message before what else is known', { message, about }, { ...id('main', '7'), message }],
  ['what is known of it', { about }, { ...about, message: null }],
  ['less', { about: { ...about, advertId: null } }, { ...id('other', null), message: null }],
  ['nothing', {}, { ...id(null, null), message: null }],
])('a dead letter names its advert by %s', (_what, delivery, expected) => {
  const given = { fault: 'x', reason: '7 is older than 77, of 7' };
  const { reason, ...deadLetter } = deadLetterOf(
    { ...{ id: '1', position: '1', receives: 3, sentAt: 0 }, ...delivery },
    given,
    86_400_000,
  );
  expect(deadLetter).toEqual({ fault: 'x', at: '1970-01-02T00:00:00.000Z', receives: 3, ...expected });
  expect(reason).toBe('message' in delivery ? 'ADVERT is older than 77, of ADVERT' : given.reason);
});
