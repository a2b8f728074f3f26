import { beforeEach, describe, expect, it } from 'vitest';
import { readAheadOf } from '../../../../functions/drain/poll-feed.ts';
import {
  type AdvertSource,
  type Audited,
  auditSource,
  listSource,
} from '../../../../operators/operations/advert-sources.ts';
import { audit } from '../../../../operators/operations/audit.ts';
import type { Bridge } from '../../../../operators/operations/bridge.ts';
import { backfill, type WalkOptions } from '../../../../operators/operations/walk.ts';
import type { ChangedAdvert } from '../../../../shared/contract/messages.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import {
  type AuditProgress,
  type BackfillProgress,
  listedByOperations,
} from '../../../../shared/state/progress.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

/** A list of pages; its positions count pages. */
const listOf = (...pages: readonly (readonly unknown[])[]): AdvertSource => ({
  name: 'list',
  async *pages(from) {
    for (const [index, data] of pages.slice(from).entries()) yield { data, next: from + index + 1 };
  },
});
const idsUpTo = (last: number) => Array.from({ length: last }, (_, index) => String(index + 1));
const { signal } = new AbortController();

let world: World;
let key: { partnerAccount: string; generation: number };
let sent: ChangedAdvert[][];
let sentAt: number[];
let ids: number;
let isRunning: boolean;
/** Whether the queue refuses messages. */
let isRefusing: boolean;
/** Runs just before the progress is stored: at the beginning of a walk, and after each page. */
let meanwhile: (() => unknown)[];

beforeEach(async () => {
  world = await createWorld();
  key = { partnerAccount: 'main', generation: (await world.account())?.generation ?? 0 };
  [sent, sentAt, ids, meanwhile] = [[], [], 0, []];
  [isRunning, isRefusing] = [true, false];
});

/** The bridge: while a walk waits, the workers handle what is in the queue. */
function bridge(): Bridge {
  const { clock, state } = world;
  const used = {
    ...state,
    host: { kind: 'local', isRunning: () => isRunning },
    ...{ depthLagMs: 0, newId: () => `id-${++ids}` },
    settings: async () => ({ maxRequestsPerSecond: 10 }),
    clock: {
      ...clock,
      async sleep(ms: number) {
        await clock.sleep(ms);
        if (isRunning) await work();
      },
    },
    backfills: {
      ...state.backfills,
      async change(...args: Parameters<typeof state.backfills.change>) {
        await meanwhile.shift()?.();
        return state.backfills.change(...args);
      },
    },
    queue: {
      depth: state.queue.depth,
      async send(messages: readonly ChangedAdvert[]) {
        sent.push([...messages]);
        sentAt.push(...messages.map(() => clock.now()));
        return isRefusing ? new Set(messages.slice(1).map((one) => one.key)) : state.queue.send(messages);
      },
    },
  };
  return used as unknown as Bridge;
}

async function work(): Promise<void> {
  while ((await world.handleBatch()).length > 0);
}
const sentIds = () => sent.map((messages) => messages.map(({ advertId }) => advertId));
const row = (advertId: string) => world.state.advertHistories.read({ ...key, feed: 'adverts', advertId });

/** The service has these adverts, and all but those of `others` were published. */
async function publish(advertIds: readonly string[]): Promise<void> {
  for (const advertId of advertIds) world.service.change(advertId, 'active');
  await world.round();
  await work();
}

const run = (source: AdvertSource, options: Partial<WalkOptions<BackfillProgress>> = {}) =>
  backfill(bridge(), { key, source, signal, ...options });
const counted = () => listedByOperations(world.state.store, key);
const stored = () => world.state.backfills.read(key);
/** As another process writes. */
const change = (more: Partial<BackfillProgress>) =>
  world.state.backfills.change(key, 0, (before) => before && { ...before, ...more });
/** Ended after its first page. */
async function unfinished(): Promise<void> {
  meanwhile = [() => undefined, () => (isRefusing = true)];
  await expect(run(listOf(['1', '2'], ['3', '4']))).rejects.toMatchObject({ code: 'transient' });
  isRefusing = false;
  sent = [];
}

it('a backfill queues every advert of the list, page by page', async () => {
  const result = await run(listOf(['1', '2'], ['3']));

  const listedAt = '2026-11-20T12:00:00.000Z';
  const message = { ...key, feed: 'adverts', cause: 'backfill', listedAt };
  expect(sent).toEqual([
    [
      { ...message, key: 'id-2:1', advertId: '1', correlationId: 'id-2' },
      { ...message, key: 'id-2:2', advertId: '2', correlationId: 'id-2' },
    ],
    [{ ...message, key: 'id-3:3', advertId: '3', correlationId: 'id-3' }],
  ]);
  expect(result).toEqual({
    end: 'done',
    progress: {
      ...{ id: 'id-1', state: 'done', source: 'list', position: 2, listed: 3, malformed: 0 },
      startedAt: listedAt,
    },
  });
  expect(await stored()).toEqual(result.progress);
  expect(await counted()).toBe(3);
});

it('a backfill counts what is no advert ID and sends each advert once', async () => {
  const result = await run(listOf(['1', '../x', '1', 7], ['', '2', '1', null], ['x']));

  expect(result).toMatchObject({ end: 'done', progress: { listed: 3, malformed: 4 } });
  // A number is an ID, as it is in the feed.
  expect(sentIds()).toEqual([['1', '7'], ['2']]);
  expect(await world.state.deadLetters.list()).toEqual([]);
});

it('a backfill lists a page again that the queue did not take whole', async () => {
  await unfinished();
  expect(await stored()).toMatchObject({ position: 1, listed: 2, state: 'running' });
  isRefusing = true;
  await expect(run(listOf(['1', '2'], ['3', '4']))).rejects.toMatchObject({ code: 'transient' });
  isRefusing = false;

  const result = await run(listOf(['1', '2'], ['3', '4']));

  expect(result).toMatchObject({ end: 'done', progress: { listed: 4 } });
  expect(sentIds()).toEqual([
    ['3', '4'],
    ['3', '4'],
  ]);
  expect(new Set(sent.flat().map((message) => message.key))).toHaveLength(4);
});

it('a backfill ends at a page that comes again: the list would never end', async () => {
  const listAdverts = async () => ({ data: ['1', '2'] }) as never;
  const service = async () => ({ listAdverts, readPage: listAdverts });
  const source = listSource({ service, clock: world.clock }, key, { paging: 'page', pageSize: 2 });

  await expect(run(source)).rejects.toMatchObject({ code: 'contract-broken' });
  expect(await stored()).toMatchObject({ position: 1, listed: 2, state: 'running' });
});

it('a backfill ends after its page when it is told to, and goes on later', async () => {
  const controller = new AbortController();
  meanwhile = [() => undefined, () => controller.abort()];
  const source = listOf(['1', '2'], ['3']);

  const stopped = await run(source, { signal: controller.signal });
  world.clock.advance(60_000);
  const done = await run(source);

  expect(stopped).toMatchObject({ end: 'stopped', progress: { state: 'running', position: 1, listed: 2 } });
  const { startedAt } = stopped.progress;
  expect(done).toMatchObject({ end: 'done', progress: { listed: 3, startedAt } });
  expect(sentIds()).toEqual([['1', '2'], ['3']]);
});

describe('while more than 150 messages wait', () => {
  const source = listOf(idsUpTo(151), ['152']);
  beforeEach(() => {
    for (const advertId of idsUpTo(152)) world.service.know(advertId, 'active');
  });

  it('a backfill adds nothing while more than 15 s of the rate wait', async () => {
    const waits: boolean[] = [];

    const result = await run(source, { onProgress: (_, isWaiting) => waits.push(isWaiting) });

    expect(result).toMatchObject({ end: 'done', progress: { listed: 152 } });
    expect(waits).toEqual([false, true, false, false]);
  });

  it('a backfill stops when nothing takes its messages, and goes on there', async () => {
    isRunning = false;

    expect(await run(source)).toMatchObject({ end: 'stuck', progress: { listed: 151 } });
    await work();
    expect(await run(source)).toMatchObject({ end: 'done', progress: { listed: 152 } });
  });

  it.each<[string, (stop: AbortController) => unknown, object]>([
    ['is told to stop', (stop) => stop.abort(), { end: 'stopped' }],
    [
      'is continued elsewhere',
      () => change({ id: 'theirs' }),
      { end: 'taken-over', progress: { id: 'theirs' } },
    ],
  ])('a backfill in a long queue ends when it %s', async (_, happens, expected) => {
    const stop = new AbortController();
    const onProgress = (_progress: unknown, isWaiting: boolean) => isWaiting && void happens(stop);

    expect(await run(source, { signal: stop.signal, onProgress })).toMatchObject(expected);
    expect(sent).toHaveLength(1);
  });
});

it('a backfill that waits leaves the feed room for its least page', async () => {
  isRunning = false;
  const pages = Array.from({ length: 10 }, (_, page) => idsUpTo(100).map((id) => `${page}${id}`));
  expect(await run(listOf(...pages))).toMatchObject({ end: 'stuck' });
  const readAhead = readAheadOf({ maxWaiting: 10_000, maxRequestsPerSecond: 10 } as never);
  expect(await world.state.queue.depth('main')).toBeLessThanOrEqual((readAhead * 5) / 6);
});

it('a backfill leaves an unfinished one of another source as it is', async () => {
  await unfinished();
  const progress = await stored();

  await expect(run({ ...listOf(['8']), name: 'file' })).rejects.toThrow(/another source \(list\)/);
  expect([await stored(), sent]).toEqual([progress, []]);
});

it.each(['list', 'file'])('a backfill begins anew with --restart: from %s', async (name) => {
  await unfinished();
  world.clock.advance(1_000);

  const result = await run({ ...listOf(['1', '2'], ['3']), name }, { restart: true });

  const startedAt = '2026-11-20T12:00:01.000Z';
  expect(result).toMatchObject({ end: 'done', progress: { source: name, listed: 3, startedAt } });
  expect(result.progress.id).not.toBe('id-1');
});

it('a backfill begins anew when the one before is done', async () => {
  await run(listOf(['1']));

  const result = await run({ ...listOf(['1', '2']), name: 'file' });

  expect(result).toMatchObject({ end: 'done', progress: { id: 'id-3', source: 'file', listed: 2 } });
});

it.each<[string, Partial<BackfillProgress>]>([
  ['continues it, or has begun another one', { id: 'theirs' }],
  ['has continued it to its end', { id: 'theirs', position: 9, state: 'done' }],
])('a backfill leaves its progress to another process that %s', async (_, more) => {
  meanwhile = [() => undefined, () => change(more)];

  const result = await run(listOf(['1', '2'], ['3']));

  expect(result).toMatchObject({ end: 'taken-over', progress: more });
  expect(await stored()).toMatchObject({ listed: 0, ...more });
  expect(await counted()).toBe(2);
  expect(sentIds()).toEqual([['1', '2']]);
});

describe('an audit', () => {
  const run = async (audited: Audited, more: Partial<WalkOptions<AuditProgress>> = {}) =>
    audit(bridge(), { key, source: await auditSource(bridge(), key, audited), signal, ...more });
  const found = ({ equal, differing, neverPublished, unsettled }: AuditProgress) => ({
    ...{ equal, differing, neverPublished, unsettled },
  });
  /** The service answers these adverts with a fault. */
  const failing = (code: 'transient' | 'contract-broken', ...advertIds: string[]) => {
    world.service.state.beforeAdvert = (advertId) => {
      if (advertIds.includes(advertId)) throw new BridgeFault(code, 'no answer');
    };
  };

  it('an audit says what was right, differed or had no event, and repairs it', async () => {
    await publish(['1', '2', '3']);
    world.service.know('2', 'limited');
    world.service.know('4', 'new');
    world.service.remove('3');

    const { end, progress } = await run({ ids: ['1', '2', '3', '4'] });

    expect(end).toBe('done');
    expect(found(progress)).toEqual({
      equal: 1,
      differing: [
        { advertId: '2', published: 'active', actual: 'limited' },
        { advertId: '3', published: 'active', actual: null },
      ],
      neverPublished: ['4'],
      unsettled: [],
    });
    expect(await row('2')).toMatchObject({ sequence: 2, status: 'limited' });
  });

  it('an audit sends at half of the rate at most', async () => {
    await publish(idsUpTo(50));
    const startMs = world.clock.now();

    await run({ ids: idsUpTo(50) });

    const counts = Map.groupBy(sentAt, (at) => at - startMs);
    expect([...counts].map(([at, batch]) => [at, batch.length])).toEqual([
      [0, 20],
      [4_000, 20],
      [8_000, 10],
    ]);
  });

  it.each([
    ['that fan-out gave up', 'contract-broken'],
    ['that still waits after five minutes', 'transient'],
  ] as const)('an audit goes on without an advert %s', async (_, code) => {
    await publish(idsUpTo(30));
    failing(code, '3');

    const { end, progress } = await run({ ids: idsUpTo(30) });

    expect(end).toBe('done');
    expect(found(progress)).toMatchObject({ equal: 29, unsettled: ['3'] });
  });

  it('an audit has no result of an advert given up after its pending event', async () => {
    await publish(['3']);
    const published = { ...key, feed: 'adverts', advertId: '3' } as const;
    const { advertHistories } = world.state;
    const before = await advertHistories.read(published);
    if (before) await advertHistories.write(published, { ...before, pending: true });
    const { queue } = world.state;
    const { receive } = queue;
    queue.receive = async (options) => (await receive(options)).map((one) => ({ ...one, receives: 100 }));
    world.service.state.beforeAdvert = () => {
      // Older than fan-out lets a message become: so it is given up without a try that is counted.
      world.clock.advance(7 * 86_400_000);
      throw new BridgeFault('transient', 'no answer');
    };

    const { progress } = await run({ ids: ['3'] });

    expect(await row('3')).toMatchObject({ pending: false });
    expect(found(progress)).toMatchObject({ equal: 0, unsettled: ['3'] });
  });

  it('an audit stops when nothing is handled for five minutes', async () => {
    await publish(['1', '2']);
    failing('transient', '1', '2');
    const first = await run({ ids: ['1', '2'] });
    failing('transient');
    world.service.know('2', 'limited');

    const second = await run({ ids: ['1', '2'] });

    expect(first.end).toBe('stuck');
    expect(first.progress.waiting).toHaveLength(2);
    expect(second.end).toBe('done');
    expect(found(second.progress)).toMatchObject({ equal: 1, differing: [{ advertId: '2' }] });
    expect(sentAt).toHaveLength(2);
  });

  it('an audit sends all at once when nobody takes messages', async () => {
    await publish(idsUpTo(45));
    isRunning = false;
    const first = await run({ ids: idsUpTo(45) });
    await work();

    const second = await run({ ids: idsUpTo(45) });

    expect(first).toMatchObject({ end: 'stuck', progress: { listed: 45, equal: 0 } });
    expect(second).toMatchObject({ end: 'done', progress: { listed: 45, equal: 45 } });
  });

  it.each([
    [100, 100],
    [1_000, 130],
  ])('an audit draws a sample of %i published adverts, each once', async (sample, expected) => {
    await publish(idsUpTo(130));

    const { progress } = await run({ sample, random: Math.random });

    expect(progress).toMatchObject({ total: expected, equal: expected });
  });

  it('an audit finds adverts of the service that were never published', async () => {
    await publish(['1', '2']);
    for (const advertId of ['5', '6']) world.service.know(advertId, 'new');

    const { progress } = await run({ list: listOf(['1', '5'], ['2', '6']) });

    expect(found(progress)).toMatchObject({ equal: 2, differing: [], neverPublished: ['5', '6'] });
  });

  it('an audit takes a partly sent page again without what was published', async () => {
    await publish(['3']);
    const source = await auditSource(bridge(), key, { list: listOf(idsUpTo(45)) });

    const pages: string[] = [];
    for await (const { data, next } of source.pages(0)) pages.push(`${data.length},${next}`);

    expect(pages).toEqual(['1,1', '20,1', '20,1', '4,2']);
  });

  it('an audit waits after each part of a page for half of the rate', async () => {
    await publish(['45']);
    for (const advertId of idsUpTo(46)) world.service.know(advertId, 'active');
    const startMs = world.clock.now();

    await run({ list: listOf(idsUpTo(45), ['46']) });

    const counts = Map.groupBy(sentAt, (at) => at - startMs);
    const parts = [...counts].map(([at, part]) => `${part.length} at ${at}`);
    expect(parts).toEqual(['1 at 0', '20 at 500', '20 at 4500', '4 at 8500', '1 at 9500']);
  });

  it('an audit can be stopped, and keeps what it has found', async () => {
    await publish(idsUpTo(50));
    world.service.know('1', 'limited');
    const stop = new AbortController();
    const onProgress = ({ listed }: AuditProgress) => listed >= 40 && stop.abort();

    const first = await run({ ids: idsUpTo(50) }, { signal: stop.signal, onProgress });
    const second = await run({ ids: idsUpTo(50) });

    expect(first).toMatchObject({ end: 'stopped', progress: { listed: 40 } });
    expect(found(second.progress)).toMatchObject({ equal: 49, differing: [{ advertId: '1' }] });
    expect(sentAt).toHaveLength(50);
  });
});
