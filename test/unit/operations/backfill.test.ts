import { beforeEach, describe, expect, it } from 'vitest';
import { type AdvertSource, listSource } from '../../../operations/advert-sources.ts';
import { backfill, pauseWalk, type WalkOptions } from '../../../operations/walk.ts';
import type { ChangedAdvert } from '../../../shared/contract/messages.ts';
import { BridgeFault } from '../../../shared/domain/faults.ts';
import {
  type BackfillProgress,
  createProgress,
  listedByOperations,
  type Progresses,
} from '../../../shared/state/progress.ts';
import { createInMemoryStore } from '../../fakes/store.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';

const key = { partnerAccount: 'main', generation: 7 };

const ofProcess = (store: ReturnType<typeof createInMemoryStore>) =>
  createProgress<BackfillProgress>(store, 'backfill');

/** A list of pages; its positions count pages. */
function listOf(...pages: readonly (readonly unknown[])[]) {
  const asked: number[] = [];
  const source: AdvertSource = {
    name: 'list',
    async *pages(from) {
      for (let position = from; ; position += 1) {
        asked.push(position);
        const data = pages[position];
        if (!data) return;
        yield { data, next: position + 1 };
      }
    },
  };
  return { source, asked };
}

describe('a backfill', () => {
  let clock: ReturnType<typeof createManualClock>;
  let store: ReturnType<typeof createInMemoryStore>;
  let backfills: Progresses<BackfillProgress>;
  /** Run just before the next writes of the progress, one for each. */
  let meanwhile: (() => Promise<unknown>)[];
  let sent: ChangedAdvert[][];
  let depth: () => number | Promise<number>;
  let refused: (messages: readonly ChangedAdvert[]) => string[];
  let isDelivering: boolean;
  let updates: [position: number, isWaiting: boolean][];
  let ids: number;

  beforeEach(() => {
    clock = createManualClock();
    store = createInMemoryStore();
    const { put } = store;
    backfills = ofProcess({
      ...store,
      async put(...args) {
        await meanwhile.shift()?.();
        return put(...args);
      },
    });
    [meanwhile, sent, updates, ids] = [[], [], [], 0];
    depth = () => 0;
    refused = () => [];
    isDelivering = true;
  });

  const value = async () => (await backfills.read(key))?.value;
  const counted = () => listedByOperations(store, key);
  /** As another process writes. */
  const change = (more: Partial<BackfillProgress>) =>
    ofProcess(store).change(key, 0, (before) => before && { ...before, ...more });
  const run = (source: AdvertSource, options: Partial<WalkOptions<BackfillProgress>> = {}) =>
    backfill(
      {
        ...{ backfills, clock, isDelivering: () => isDelivering },
        queue: {
          async send(messages) {
            sent.push([...messages]);
            return new Set(refused(messages));
          },
          depth: async (partnerAccount) => (partnerAccount === 'main' ? depth() : Number.NaN),
        },
        deadLetters: { sendMalformed: () => Promise.reject(new Error('a backfill has no dead letters')) },
        newId: () => `id-${++ids}`,
      },
      key,
      source,
      {
        signal: new AbortController().signal,
        onProgress: ({ position }, isWaiting) => updates.push([position, isWaiting]),
        ...options,
      },
    );
  const sentIds = () => sent.map((messages) => messages.map(({ advertId }) => advertId));
  /** Ended after its first page, by a queue that took no more. */
  const unfinished = async () => {
    refused = () => (sent.length > 1 ? ['any'] : []);
    await expect(run(listOf(['1', '2'], ['3']).source)).rejects.toThrow(BridgeFault);
    refused = () => [];
    sent = [];
  };

  it('puts every advert of the list into the queue, page by page, as if the feed had named it', async () => {
    const { source, asked } = listOf(['1', '2'], ['3']);

    const result = await run(source);

    const message = {
      ...{ partnerAccount: 'main', generation: 7, feed: 'adverts', cause: 'backfill' },
      listedAt: '2026-11-20T12:00:00.000Z',
    };
    expect(sent).toEqual([
      [
        { ...message, key: 'id-2:1', advertId: '1', correlationId: 'id-2' },
        { ...message, key: 'id-2:2', advertId: '2', correlationId: 'id-2' },
      ],
      [{ ...message, key: 'id-3:3', advertId: '3', correlationId: 'id-3' }],
    ]);
    expect(asked).toEqual([0, 1, 2]);
    expect(result).toEqual({
      end: 'done',
      progress: {
        ...{ id: 'id-1', state: 'done', source: 'list', position: 2, listed: 3, malformed: 0 },
        startedAt: '2026-11-20T12:00:00.000Z',
      },
    });
    expect(await value()).toEqual(result.progress);
    expect(await counted()).toBe(3);
    expect(updates.map(([position]) => position)).toEqual([0, 1, 2]);
  });

  it('counts what is no advert ID, and sends an advert once however often it is listed', async () => {
    const { source } = listOf(['1', '../x', '1', 7], ['', '2', '1', null], ['x']);

    expect(await run(source)).toMatchObject({ end: 'done', progress: { listed: 3, malformed: 4 } });

    // A number is an ID, as it is in the feed.
    expect(sentIds()).toEqual([['1', '7'], ['2']]);
    expect(await counted()).toBe(3);
  });

  it('stores nothing of a page that the queue did not take whole, and lists it again with fresh keys', async () => {
    await unfinished();
    const { source } = listOf(['1', '2'], ['3', '4', '5']);

    refused = (messages) => messages.slice(1).map((message) => message.key);
    await expect(run(source)).rejects.toMatchObject({ code: 'transient' });
    expect(await value()).toMatchObject({ position: 1, listed: 2, state: 'running' });
    expect(await counted()).toBe(2);

    refused = () => [];
    expect(await run(source)).toMatchObject({ end: 'done', progress: { id: 'id-1', listed: 5 } });
    expect(sentIds()).toEqual([
      ['3', '4', '5'],
      ['3', '4', '5'],
    ]);
    expect(new Set(sent.flat().map((message) => message.key))).toHaveLength(6);
  });

  it('ends at a page of the list that comes again: the list would never end', async () => {
    const listAdverts = async () => ({ data: ['1', '2'] }) as never;
    const service = async () => ({ listAdverts, readPage: listAdverts });
    const source = listSource({ service, clock }, key, { paging: 'page', pageSize: 2 });

    await expect(run(source)).rejects.toMatchObject({ code: 'contract-broken' });
    expect(await value()).toMatchObject({ position: 1, listed: 2, state: 'running' });
  });

  it('ends after the page in hand when it is told to, and goes on from there later', async () => {
    const controller = new AbortController();
    const { source, asked } = listOf(['1', '2'], ['3']);
    meanwhile.push(
      async () => undefined,
      async () => controller.abort(),
    );

    expect(await run(source, { signal: controller.signal })).toMatchObject({
      end: 'stopped',
      progress: { state: 'running', position: 1, listed: 2 },
    });
    clock.advance(60_000);

    expect(await run(source)).toMatchObject({
      end: 'done',
      progress: { id: 'id-1', listed: 3, startedAt: '2026-11-20T12:00:00.000Z' },
    });
    expect(asked).toEqual([0, 1, 2]);
    expect(sentIds()).toEqual([['1', '2'], ['3']]);
  });

  describe('while more messages wait than it may add to', () => {
    it('adds nothing, and looks again after a moment', async () => {
      const depths = [501, 600, 500];
      depth = () => depths.shift() ?? 0;

      expect(await run(listOf(['1']).source)).toMatchObject({ end: 'done' });

      expect(updates.map(([, isWaiting]) => isWaiting).slice(0, 3)).toEqual([true, true, false]);
    });

    it('stops when nothing takes them, and goes on from there', async () => {
      const first = Array.from({ length: 600 }, (_, index) => String(index + 1));
      depth = () => sent.flat().length;
      isDelivering = false;
      const { source } = listOf(first, ['601'], ['602']);

      expect(await run(source)).toMatchObject({ end: 'stuck', progress: { listed: 600 } });

      depth = () => 0;
      expect(await run(source)).toMatchObject({ end: 'done', progress: { listed: 602 } });
    });

    it('ends when it is told to', async () => {
      depth = () => 501;
      const controller = new AbortController();
      const onProgress = () => controller.abort();

      const ended = await run(listOf(['1']).source, { signal: controller.signal, onProgress });

      expect([ended.end, sent]).toEqual(['stopped', []]);
    });

    it('ends when another process goes on with it', async () => {
      depth = async () => {
        await change({ position: 9 });
        return 501;
      };

      expect(await run(listOf(['1']).source)).toMatchObject({ end: 'taken-over', progress: { position: 9 } });
    });
  });

  it('an unfinished one is left as it is by one with another source', async () => {
    await unfinished();
    const before = await value();

    expect(await run({ ...listOf(['8']).source, name: 'file' })).toEqual({
      end: 'other-source',
      progress: before,
    });
    expect([await value(), sent]).toEqual([before, []]);
  });

  it.each(['list', 'file'])('an unfinished one is replaced with --restart: from %s', async (name) => {
    await unfinished();
    clock.advance(1_000);

    expect(await run({ ...listOf(['1', '2'], ['3']).source, name }, { restart: true })).toMatchObject({
      end: 'done',
      progress: { id: expect.not.stringMatching(/^id-1$/), source: name, listed: 3 },
    });
    expect((await value())?.startedAt).toBe('2026-11-20T12:00:01.000Z');
  });

  it('begins anew when the one before is done, also from another source', async () => {
    await run(listOf(['1']).source);

    expect(await run({ ...listOf(['1', '2']).source, name: 'file' })).toMatchObject({
      end: 'done',
      progress: { id: 'id-3', source: 'file', listed: 2 },
    });
  });

  describe('when another process writes while it sends a page', () => {
    /** Runs it; `action` comes between the sending and the storing of the first page. */
    const interrupted = (action: () => Promise<unknown>, ...pages: string[][]) => {
      meanwhile.push(async () => undefined, action);
      return run(listOf(...pages).source);
    };

    it('pauses after the page, which is counted, and goes on behind it', async () => {
      const result = await interrupted(() => pauseWalk(ofProcess(store), key), ['1', '2'], ['3']);

      expect(result).toMatchObject({ end: 'paused', progress: { state: 'paused', position: 1, listed: 2 } });
      expect(await counted()).toBe(2);
      expect(await pauseWalk(backfills, key)).toEqual(result.progress);
      const { source, asked } = listOf(['1', '2'], ['3']);
      expect(await run(source)).toMatchObject({ end: 'done', progress: { id: 'id-1', listed: 3 } });
      expect(asked[0]).toBe(1);
    });

    it.each<[string, Partial<BackfillProgress>]>([
      ['another process has come further', { position: 9 }],
      ['another process has come to its end', { position: 9, state: 'done' }],
      ['another one was begun', { id: 'theirs' }],
      ['another one was begun, and paused', { id: 'theirs', state: 'paused' }],
    ])('leaves the progress to the other, with its own page counted: %s', async (_case, more) => {
      const result = await interrupted(() => change(more), ['1', '2'], ['3']);

      expect(result).toMatchObject({ end: more.state === 'done' ? 'done' : 'taken-over', progress: more });
      expect(await value()).toMatchObject({ listed: 0, ...more });
      expect(await counted()).toBe(2);
      expect(sentIds()).toEqual([['1', '2']]);
    });
  });
});
