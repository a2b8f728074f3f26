import { beforeEach, describe, expect, it } from 'vitest';
import { pollFeed } from '../../../../functions/drain/poll-feed.ts';
import { idsOf, readPageOrStartOver, restartOf } from '../../../../functions/drain/read-page.ts';
import { advertsFeed } from '../../../../shared/contract/messages.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import type { FeedQuery } from '../../../../shared/partner-api/readings.ts';
import type { FeedState } from '../../../../shared/state/feed-states.ts';
import { feedState } from '../../../helpers/records.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const minuteMs = 60_000;

it('IDs are distinct and in order, repeats and malformed ones counted', () => {
  expect(idsOf(['3', '1', 'x', '3', 2, '2', '1', null])).toEqual({
    ids: ['3', '1', '2'],
    repeated: 3,
    malformed: 2,
    malformedShown: ['x', 'null'],
  });
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'a'];
  expect(idsOf(names)).toMatchObject({ malformed: 7, repeated: 0, malformedShown: names.slice(0, 5) });
});

it.each<[unknown, string]>([
  ['', ''],
  ['123456789012345678901', '123456789012345678901'],
  ['x'.repeat(257), 'x'.repeat(256)],
  [{ id: 'y'.repeat(300) }, `{"id":"${'y'.repeat(249)}`],
  [-1, '-1'],
  [1.5, '1.5'],
  [undefined, ''],
  [2 ** 53, '9007199254740992'],
])('no ID is %j, which is shown in at most 256 characters', (entry, shown) => {
  expect(idsOf([entry, '7'])).toEqual({ ids: ['7'], repeated: 0, malformed: 1, malformedShown: [shown] });
});

it('IDs are read past an entry that is nested too deep to be printed', () => {
  const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);

  expect(idsOf([deep, '7'])).toMatchObject({ ids: ['7'], malformedShown: ['(not printable)'] });
});

const now = Date.parse('2026-11-20T12:00:00Z');
const first = '2026-11-01T00:00:00Z';
const later = '2026-11-20T11:59:00.000Z';
it.each<[string, Partial<FeedState>, string]>([
  ['its first `since` before a success', {}, first],
  ['its last success less the overlap', { lastSuccess: now - minuteMs }, '2026-11-20T11:54:00.000Z'],
  [
    'now less the overlap after one in the near future',
    { lastSuccess: now + minuteMs },
    '2026-11-20T11:55:00.000Z',
  ],
  ['its first `since` after one in the far future', { lastSuccess: now + minuteMs + 1 }, first],
  ['the beginning of its resync', { lastSuccess: now, resyncing: true }, first],
])('a feed starts over from %s', (_what, change, since) => {
  expect(restartOf(feedState({ since: first, ...change }), 5 * minuteMs, now)).toBe(since);
});

const gone = new BridgeFault('not-found', 'gone', { status: 410 });
const down = new BridgeFault('transient', 'down', { status: 500 });
const bug = new Error('a bug');
it.each<
  [string, string | undefined, readonly (Error | undefined)[], readonly (string | undefined)[], unknown]
>([
  ['reads on from its cursor', 'c', [undefined], ['c'], { since: first, startedOver: false }],
  [
    'reads from its `since` without one',
    undefined,
    [undefined],
    [undefined],
    { since: first, startedOver: false },
  ],
  [
    'starts over when its cursor is rejected',
    'c',
    [gone, undefined],
    ['c', undefined],
    { since: later, startedOver: true },
  ],
  [
    'starts over when its cursor cannot be sent',
    '',
    [undefined],
    [undefined],
    { since: later, startedOver: true },
  ],
  ['fails when that fails, too', 'c', [gone, down], ['c', undefined], down],
  ['fails without a cursor', undefined, [gone], [undefined], gone],
  ['fails when it is not the cursor', 'c', [down], ['c'], down],
  ['fails with what is no fault of the service', 'c', [bug], ['c'], bug],
])('a poll %s', async (_rule, cursor, answers, cursors, expected) => {
  const requests: [string, FeedQuery, unknown][] = [];
  const left = [...answers];
  const received = { page: { data: [], hasMore: false, nextCursor: 'n' }, receivedAt: 1, serviceTime: 2 };
  const reader = {
    async readPage(name: string, query: FeedQuery, options: unknown) {
      requests.push([name, query, options]);
      const fault = left.shift();
      if (fault) throw fault;
      return received;
    },
  };
  const state = feedState({ since: first, lastSuccess: now, ...(cursor !== undefined && { cursor }) });
  const options = { deadlineMs: 7, generation: 8 };

  const read = readPageOrStartOver(reader, advertsFeed, state, {
    ...{ ...options, overlapMs: minuteMs, nowMs: now, limit: 9 },
  });

  const result = await read.catch((error: unknown) => error);
  expect(result).toEqual(expected instanceof Error ? expected : { ...received, ...(expected as object) });
  const sinceOf = (index: number) => (index > 0 || cursor === '' ? later : first);
  expect(requests).toEqual(
    cursors.map((one, index) => [
      'main',
      { feed: advertsFeed, since: sinceOf(index), cursor: one, limit: 9 },
      options,
    ]),
  );
});

describe('starting over', () => {
  const connectedSince = '2026-11-20T11:55:00.000Z';
  let world: World;
  beforeEach(async () => {
    world = await createWorld();
    world.service.change('1', 'active');
    await world.round();
    world.clock.advance(minuteMs);
    world.observer.lines.length = 0;
  });
  const poll = (options: Partial<Parameters<typeof pollFeed>[3]> = {}) =>
    pollFeed(world.drainDeps, advertsFeed, 'main', { ...world.options(), ...options });
  const reject = (status: number, code: BridgeFault['code'] = 'invalid-request', serviceCode?: string) => {
    world.service.state.beforePage = ({ cursor }) => {
      if (cursor !== undefined) throw new BridgeFault(code, 'no such cursor', { status, serviceCode });
    };
  };
  /** The `since` of each request without a cursor. */
  const starts = () =>
    world.service.feedRequests.filter(({ cursor }) => cursor === undefined).map(({ since }) => since);

  it.each([400, 403, 404, 409, 410, 422])(
    'a %i starts over from the last success less the overlap',
    async (status) => {
      await poll();
      world.clock.advance(minuteMs);
      reject(status);

      expect(await poll()).toMatchObject({ end: 'up-to-date' });

      const since = '2026-11-20T11:56:00.000Z';
      expect(starts()).toEqual([connectedSince, since]);
      expect(await world.feed()).toMatchObject({ since, resets: 1, lastReset: world.clock.now() });
      expect(world.observer.counted(metrics.cursorResets)).toBe(1);
      expect(world.observer.lines).toContainEqual(
        expect.objectContaining({
          level: 'warn',
          fields: { partnerAccount: 'main', feed: 'adverts', since },
        }),
      );
    },
  );

  it.each([
    ['a rejected token', 401, 'token-rejected', 'invalid_token'],
    ['a scope too small', 403, 'scope-insufficient', 'insufficient_scope'],
    ['a rate answer', 429, 'rate-limited', undefined],
    ['an unsupported version', 400, 'invalid-request', 'unsupported_version'],
    ['a fault of the service', 500, 'transient', undefined],
  ] as const)('a poll does not start over after %s', async (_what, status, code, serviceCode) => {
    reject(status, code, serviceCode);
    const before = await world.feed();

    expect(await poll()).toMatchObject({ end: 'fault', fault: { code } });

    expect(await world.feed()).toMatchObject({ cursor: before?.cursor, since: before?.since, resets: 0 });
  });

  it('a failed request without the cursor leaves the state unchanged', async () => {
    world.service.state.beforePage = () => {
      throw new BridgeFault('forbidden', 'blocked', { status: 403 });
    };

    expect(await poll()).toMatchObject({ end: 'fault', fault: { code: 'forbidden' } });
    expect(await world.feed()).toMatchObject({ cursor: '1', resets: 0 });
  });

  it.each([
    ['longer than 4 KB in UTF-8', 'ż'.repeat(2_049), 0],
    ['not well-formed', 'x\ud800', 0],
    ['of 4 KB', 'x'.repeat(4_096), 1],
  ])('a stored cursor is not sent when it is %s: %#', async (_what, nextCursor, sent) => {
    world.service.state.nextCursor = nextCursor;
    await poll();
    world.service.state.nextCursor = undefined;
    world.service.state.beforePage = ({ cursor }) => {
      if (cursor === nextCursor) throw new BridgeFault('not-found', 'sent', { status: 410 });
    };

    expect(await poll()).toMatchObject({ end: 'up-to-date' });

    expect(world.service.feedRequests.filter(({ cursor }) => cursor === nextCursor)).toHaveLength(sent);
  });

  it('a feed rests for five minutes after three rejected cursors in a row', async () => {
    reject(410);
    await poll();
    expect(await poll()).toMatchObject({ end: 'up-to-date' });
    expect(await poll()).toMatchObject({ end: 'fault', pages: 1, fault: { code: 'contract-broken' } });

    const wait = { until: world.clock.now() + 5 * minuteMs, forMs: 5 * minuteMs, why: 'stuck' };
    const problem = { kind: 'contract-broken', needsAttention: true, wait };
    expect(await world.feed()).toMatchObject({ resets: 3, resetsInARow: 3, problem });
    world.service.state.beforePage = () => undefined;
    world.clock.advance(5 * minuteMs);
    expect(await poll()).toMatchObject({ end: 'up-to-date' });
    expect(await world.feed()).toMatchObject({ resets: 3, resetsInARow: 0 });
  });
});
