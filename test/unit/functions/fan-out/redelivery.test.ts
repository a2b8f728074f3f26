import { beforeEach, expect, it } from 'vitest';
import { createFanOut, type FanOutDeps } from '../../../../functions/fan-out/fan-out.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import { withHold, withoutHolds } from '../../../../shared/domain/holds.ts';
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

it('a message waits aside as long as the service asks, at most six hours', async () => {
  fail('transient', { status: 503, retryAfterMs: 120_000 });
  expect(await turnOf(world)).toEqual(['hold', 120_000]);
  fail('transient', { status: 503, retryAfterMs: dayMs });
  expect(await turnOf(world)).toEqual(['hold', dayMs / 4]);
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

it('a refused turn comes again in seconds when the trial has ended', async () => {
  fail('account-paused', { retryAfterMs: 30_000 });

  expect(await turnOf(world)).toEqual(['retry', 3_750]);
});

it.each<FaultKind>(['paused', 'operator-paused'])(
  'a message with %s, so never sent, is put aside after a day',
  async (code) => {
    fail(code, { retryAfterMs: 1_000 });
    world.clock.advance(dayMs);
    const [settlement] = await world.handleBatch();

    expect(settlement?.verdict).toEqual({ kind: 'hold' });
    expect(await world.state.deadLetters.list()).toEqual([]);
    expect(await world.books()).toMatchObject({ listed: 1, deadLettered: 0, inFlight: 1 });
  },
);

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

it('a wrong path calls for attention', async () => {
  fail('wrong-path');
  await world.handleBatch();
  expect(world.observer.counted(metrics.needsAttention)).toBe(1);
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
