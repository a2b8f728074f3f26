import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import type { DrainDeps } from '../../../../functions/drain/drain.ts';
import { createStandstillDetector } from '../../../../functions/drain/poll-fault.ts';
import { pollFeed } from '../../../../functions/drain/poll-feed.ts';
import { advertsFeed } from '../../../../shared/contract/messages.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import type { PartnerClient } from '../../../../shared/partner-api/client.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const minuteMs = 60_000;

let world: World;
beforeEach(async () => {
  world = await createWorld();
  world.observer.lines.length = 0;
});
const poll = (
  options: Partial<Parameters<typeof pollFeed>[3]> = {},
  { name = 'main', ...deps }: Partial<DrainDeps> & { readonly name?: string } = {},
) => pollFeed({ ...world.drainDeps, ...deps }, advertsFeed, name, { ...world.options(), ...options });
const change = (count: number) => {
  for (let id = 1; id <= count; id += 1) world.service.change(String(id), 'active');
};
const failWith = (...[code, text, details]: ConstructorParameters<typeof BridgeFault>) => {
  world.service.state.beforePage = () => {
    throw new BridgeFault(code, text, details);
  };
};
const lines = (level: string) => world.observer.lines.filter((line) => line.level === level);

it('a poll reads on while hasMore says so, for ten pages a turn', async () => {
  change(35);
  world.service.state.pageSize = 1;
  const standstillAfter = createStandstillDetector();

  for (let turn = 1; turn <= 3; turn += 1)
    expect(await poll({ standstillAfter })).toEqual({ end: 'turn-over', pages: 10, listed: 10 });
  expect(await poll({ standstillAfter })).toEqual({ end: 'up-to-date', pages: 5, listed: 5 });
});

it('a message for each ID of a page is sent, with the cause', async () => {
  change(1);
  await poll();
  const feed = { partnerAccount: 'main', feed: 'adverts' };
  await world.state.feedStates.readAgain(feed, () => '2026-11-01T00:00:00.000Z');
  await poll();

  const received = await world.state.queue.receive({ maxGroups: 9, maxPerGroup: 9, visibilityMs: 1_000 });

  const generation = (await world.account())?.generation;
  const common = { partnerAccount: 'main', generation, feed: 'adverts', advertId: '1' };
  const listedAt = '2026-11-20T12:00:00.000Z';
  expect(received.map(({ message }) => message)).toEqual([
    { ...common, listedAt, key: 'id1:1', correlationId: 'id1', cause: 'feed' },
    { ...common, listedAt, key: 'id2:1', correlationId: 'id2', cause: 'resync' },
  ]);
  expect(lines('info')).toMatchObject([
    { fields: { partnerAccount: 'main', feed: 'adverts', correlationId: 'id1', adverts: 1 } },
    { fields: { correlationId: 'id2' } },
  ]);
});

it('repeats and malformed IDs are counted, as one dead letter with a few', async () => {
  const malformed = ['\u202e\u001b[31mred', 'x'.repeat(300), null, { id: 1 }, '1/../2', 'more', 'more'];
  for (const entry of [...malformed, '7', '7']) world.service.list(entry);

  expect(await poll()).toMatchObject({ end: 'up-to-date' });

  expect(await world.books()).toMatchObject({ listed: 9, deadLettered: 7, coalesced: 1, inFlight: 1 });
  const { counted } = world.observer;
  expect([metrics.listed, metrics.deadLettered, metrics.coalesced].map(counted)).toEqual([9, 7, 1]);
  expect(lines('warn')).toMatchObject([
    { fields: { partnerAccount: 'main', correlationId: 'id1', count: 7 } },
  ]);
  const deadLetters = await world.state.deadLetters.list();
  expect(deadLetters).toMatchObject([
    { partnerAccount: 'main', fault: 'malformed-id', count: 7, receives: 0, message: null },
  ]);
  const { reason = '' } = deadLetters[0] ?? {};
  expect(reason).toContain('7 malformed advert IDs (expected 1 to 20 digits): ');
  expect(reason).toContain('"null", "{\\"id\\":1}", "1/../2", …');
  expect(reason).not.toMatch(/[\p{Cc}\p{Bidi_C}]|x{41}|more/u);
});

it('a poll ends at once when out of time, aborted, unknown, leased, polled', async () => {
  const none = { pages: 0, listed: 0 };
  expect(await poll({ deadlineMs: world.clock.now() })).toEqual({ ...none, end: 'out-of-time' });
  expect(await poll({ signal: AbortSignal.abort() })).toEqual({ ...none, end: 'out-of-time' });
  expect(await poll({}, { name: 'other' })).toEqual({ ...none, end: 'unknown-feed' });
  expect((await world.feed())?.lastPolled).toBeUndefined();
  await world.state.feedStates.acquire(
    { partnerAccount: 'main', feed: 'adverts' },
    { holder: 'other', nowMs: world.clock.now(), leaseMs: 90_000 },
  );
  expect(await poll()).toEqual({ ...none, end: 'held', by: 'other' });
  expect(world.service.feedRequests).toEqual([]);
  world.clock.advance(90_001);
  await poll();
  expect(await poll({ listed: {} })).toEqual({ ...none, end: 'just-polled' });
});

it('an aborted poll ends after the page in hand', async () => {
  change(3);
  world.service.state.pageSize = 1;
  const stop = new AbortController();
  world.service.state.beforePage = () => stop.abort();

  expect(await poll({ signal: stop.signal })).toMatchObject({ end: 'out-of-time', pages: 1 });
  expect((await world.feed())?.cursor).toBe('1');
});

it.each([
  ['20 s and 30 slots of the default rate', {}, 3_600_000, 23_000],
  ['20 s and 30 slots of a low rate', { maxRequestsPerSecond: 1 }, 3_600_000, 50_000],
  ['the time of the poll', {}, 5_000, 5_000],
  ['its lease less 10 s', { leaseMs: 15_000 }, 3_600_000, 5_000],
])('each page has at most %s', async (_what, changed, forMs, deadlineMs) => {
  const asked: unknown[] = [];
  const reader: Pick<PartnerClient, 'readPage'> = {
    readPage(name, query, options) {
      asked.push({ ...options, deadlineMs: options.deadlineMs - world.clock.now() });
      return world.service.readPage(name, query, options);
    },
  };
  const settings = { ...world.drainDeps.settings, ...changed };

  await poll({ deadlineMs: world.clock.now() + forMs }, { reader, settings });

  expect(asked).toEqual([{ deadlineMs, generation: (await world.account())?.generation }]);
});

it.each<[FaultKind, { level: string; calls: number; needsAttention?: true }]>([
  ['transient', { level: 'warn', calls: 0 }],
  ['wrong-path', { level: 'error', calls: 1, needsAttention: true }],
  ['operator-paused', { level: 'info', calls: 0 }],
])('log, metrics and row report the fault %s', async (code, expected) => {
  const cause = new Error('the reason of the reason');
  failWith(code, 'down', { status: 502, cause });
  const before = await world.feed();

  expect(await poll()).toMatchObject({ end: 'fault', fault: { code } });

  const fields = { partnerAccount: 'main', feed: 'adverts', error: cause, status: 502, reason: 'down' };
  expect(world.observer.lines).toMatchObject([{ level: expected.level, fields: { ...fields, fault: code } }]);
  expect(world.observer.counted(metrics.needsAttention)).toBe(expected.calls);
  const { level: _level, calls: _calls, ...attention } = expected;
  const lastPolled = world.clock.now();
  const problem = { kind: code, reason: 'down', since: lastPolled, ...attention };
  expect(await world.feed()).toEqual({ ...before, lastPolled, problem });
});

it('the first failed poll is remembered until one succeeds', async () => {
  const began = world.clock.now();
  failWith('transient', 'down');
  await poll();
  world.clock.advance(30_000);
  await poll();
  expect(await world.feed()).toMatchObject({ problem: { since: began }, lastPolled: began + 30_000 });

  world.service.state.beforePage = () => undefined;
  await poll();
  expect(await world.feed()).not.toHaveProperty('problem');
});

it('a feed keeps its place in line only when no request was sent', async () => {
  const { lastPolled } = (await world.feed()) ?? {};
  world.clock.advance(5_000);
  failWith('paused', 'not sent', { retryAfterMs: 1_000 });
  await world.round();
  expect((await world.feed())?.lastPolled).toBe(lastPolled);

  failWith('transient', 'down');
  await world.round();
  expect((await world.feed())?.lastPolled).toBe(world.clock.now());
});

it('a poll reports its fault although its lease cannot be released', async () => {
  const feedStates = { ...world.state.feedStates, release: () => Promise.reject(new Error('throttled')) };
  failWith('transient', 'down');

  expect(await poll({}, { feedStates })).toMatchObject({ end: 'fault', fault: { message: 'down' } });
});

it.each<[string, object, FaultKind, boolean]>([
  ['keeps its place when a pause kept its first request', { listed: {} }, 'paused', true],
  ['keeps its place when an operator kept it', { listed: {} }, 'operator-paused', true],
  ['loses its place when it was answered', { listed: {} }, 'transient', false],
  ['loses its place when it was not listed before', {}, 'paused', false],
])('a feed %s', async (_rule, options, code, isKept) => {
  world.clock.advance(5_000);
  failWith(code, 'no');

  await poll(options);

  const lastPolled = isKept ? undefined : world.clock.now();
  expect(await world.feed()).toMatchObject({ problem: { kind: code, reason: 'no' } });
  expect((await world.feed())?.lastPolled).toBe(lastPolled);
});

it('a feed loses its place when a pause came after its first page', async () => {
  change(2);
  world.service.state.pageSize = 1;
  world.service.state.beforePage = ({ cursor }) => {
    if (cursor) throw new BridgeFault('paused', 'wait');
  };

  expect(await poll({ listed: {} })).toMatchObject({ end: 'fault', pages: 1, listed: 1 });

  expect((await world.feed())?.lastPolled).toBe(world.clock.now());
});

it.each<[string, number, object, number | undefined, Partial<typeof world.drainDeps.settings>]>([
  ['all that it may', 0, {}, 300, {}],
  ['less by what waits', 100, {}, 200, {}],
  ['a sixth of it', 250, {}, 50, {}],
  ['nothing if there is less room', 251, {}, undefined, {}],
  ['a sixth, however many wait, in its first page of a round', 400, { listed: {} }, 50, {}],
  ['that even while maxWaiting wait', 20_000, { listed: {} }, 50, {}],
  ['nothing while more than maxWaiting wait', 20_001, { listed: {} }, undefined, {}],
  ['its share, in whole entries', 0, { readAhead: 10.5 }, 10, {}],
  ['less of its share, in whole entries', 1, { readAhead: 10.5 }, 9, {}],
  ['nothing of less than a sixth, rounded up', 9, { readAhead: 10.5 }, undefined, {}],
  ['a thousand at most', 0, { readAhead: 5_000 }, 1_000, {}],
  ['a thousand at most, in its first page, too', 9_000, { readAhead: 9_000, listed: {} }, 1_000, {}],
  ['no more than maxWaiting', 0, {}, 70, { maxWaiting: 70 }],
  ['30 s of a low rate', 0, {}, 30, { maxRequestsPerSecond: 1 }],
])('a poll asks for %s', async (_what, waiting, options, limit, changed) => {
  const queue = { ...world.state.queue, depth: async () => waiting };
  const settings = { ...world.drainDeps.settings, ...changed };

  const { end } = await poll(options, { queue, settings });

  expect(end).toBe(limit === undefined ? 'backlog' : 'up-to-date');
  expect(world.service.feedRequests.map((query) => query.limit)).toEqual(limit ? [limit] : []);
});

it('a poll reads only its first page while too many messages wait', async () => {
  change(60);
  const queue = { ...world.state.queue, depth: async () => 400 };

  expect(await poll({ listed: {} }, { queue })).toEqual({ end: 'backlog', pages: 1, listed: 50 });
});

it.each([
  ['before the deadline', 60_000, 'up-to-date'],
  ['not at it', 0, 'out-of-time'],
])('a poll begins %s', async (_when, forMs, end) => {
  expect(await poll({ deadlineMs: world.clock.now() + forMs })).toMatchObject({ end });
});

it('a poll stores nothing when its lease was lost during a request', async () => {
  change(1);
  const key = { partnerAccount: 'main', feed: 'adverts' };
  const read = world.service.readPage;
  const reader = {
    async readPage(...args: Parameters<typeof read>) {
      await world.state.feedStates.readAgain(key, ({ since }) => since);
      return read(...args);
    },
  };

  expect(await poll({}, { reader: reader as typeof world.service })).toEqual({
    ...{ end: 'lease-lost', pages: 0, listed: 0 },
  });
  expect(await world.feed()).not.toHaveProperty('cursor');
});

it('a poll ends when its lease is released', async () => {
  let released = false;
  const { release } = world.state.feedStates;
  const feedStates: DrainDeps['feedStates'] = {
    ...world.state.feedStates,
    async release(...args) {
      for (let turn = 0; turn < 3; turn += 1) await nextTurn();
      released = true;
      return release(...args);
    },
  };

  await poll({}, { feedStates });

  expect(released).toBe(true);
});

/** Polls once a minute. @returns how many pages were requested */
async function pollFor(minutes: number): Promise<number> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await world.round();
    world.clock.advance(minuteMs);
  }
  return world.service.feedRequests.length;
}
const cursors = (next: (turn: number) => string) => {
  let turn = 0;
  world.service.state.beforePage = () => {
    world.service.state.nextCursor = next(turn++);
  };
};

it.each<[string, number, () => void, number, number]>([
  [
    'three pages without an ID, which make a dead letter each',
    1,
    () => {
      for (let entry = 0; entry < 50; entry += 1) world.service.list(`no-${entry}`);
    },
    3,
    3,
  ],
  ['the cursor it had, although there is more', 1, () => cursors(() => '1'), 2, 0],
  ['cursors in a circle', 1, () => cursors((turn) => String(turn % 3)), 4, 0],
  ['thirty empty pages in a row', 0, () => cursors((turn) => `-${turn}`), 30, 0],
  ['two requests refused as wrong', 1, () => failWith('invalid-request', 'limit', { status: 400 }), 2, 0],
])('a feed rests for five minutes after %s', async (_what, pageSize, begin, requests, deadLetters) => {
  world.service.state.pageSize = pageSize;
  begin();
  change(4);

  expect(await pollFor(5)).toBe(requests);

  expect(await world.feed()).toMatchObject({ problem: { needsAttention: true, wait: { why: 'stuck' } } });
  expect(await world.state.deadLetters.count()).toBe(deadLetters);
  world.clock.advance(minuteMs);
  expect(await world.round()).toMatchObject({ polls: [{ end: 'fault' }], paused: [] });
});

it('a feed rests for a while when its last page repeats the cursor', async () => {
  await poll();
  world.service.state.nextCursor = '0';
  change(1);

  expect(await poll()).toMatchObject({ end: 'fault', listed: 1, fault: { code: 'contract-broken' } });
  expect(await world.round()).toMatchObject({ polls: [], paused: [{ fault: 'contract-broken' }] });
  world.clock.advance(-5 * 60 * minuteMs);
  expect((await world.round()).polls).toHaveLength(1);
});

it('each page without an ID that is passed makes its dead letter', async () => {
  for (let page = 1; page <= 4; page += 1) {
    world.service.list({ id: page });
    await poll();
  }

  expect(await world.feed()).toMatchObject({ cursor: '4', problem: { kind: 'contract-broken' } });
  expect((await world.state.deadLetters.list()).map(({ advertId }) => advertId).toSorted()).toEqual([
    '{"id":1}',
    '{"id":2}',
    '{"id":3}',
    '{"id":4}',
  ]);
});

it('a feed is read on when only one page has malformed entries alone', async () => {
  world.service.list('no-1');
  change(1);
  world.service.state.pageSize = 1;

  expect(await pollFor(1)).toBe(2);

  expect(await world.books()).toMatchObject({ deadLettered: 1, inFlight: 1 });
  expect(await world.feed()).not.toHaveProperty('fault');
});
