import { beforeEach, describe, expect, it } from 'vitest';
import { backfill, pauseWalk, type WalkOptions } from '../../../operations/walk.ts';
import type { ChangedAdvert } from '../../../shared/contract/messages.ts';
import { BridgeFault } from '../../../shared/domain/faults.ts';
import { newEtag } from '../../../shared/ports/store.ts';
import type {
  AdvertSource,
  BackfillProgress,
  Progresses,
  SourcePage,
  StoredProgress,
} from '../../../shared/state/progress.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';

const key = { partnerAccount: 'main', generation: 7 };

/** One backfill's progress, with what was counted for the books, and a place to interfere before each write. */
function createStoredProgress() {
  let stored: StoredProgress<BackfillProgress> | undefined;
  let counted = 0;
  const interference: (() => void)[] = [];
  const backfills: Progresses<BackfillProgress> = {
    list: async () => [],
    read: async () => stored,
    async write(_key, value, expected, listed) {
      interference.shift()?.();
      if (stored?.etag !== expected?.etag) return undefined;
      stored = { value, counted: 0, etag: newEtag() };
      counted += listed;
      return stored;
    },
  };
  return {
    ...backfills,
    value: () => stored?.value,
    counted: () => counted,
    /** Stores a changed progress, as if by another process. */
    change(change: Partial<BackfillProgress> = {}) {
      if (!stored) throw new Error('nothing is stored');
      stored = { value: { ...stored.value, ...change }, counted: 0, etag: newEtag() };
    },
    erase() {
      stored = undefined;
    },
    /** Actions that run just before the next writes, one per write. */
    meanwhile: (...actions: (() => void)[]) => interference.push(...actions),
  };
}

/** A list of pages; its positions count adverts. */
function listOf(...pages: readonly (readonly unknown[])[]) {
  const asked: number[] = [];
  const starts = pages.map((_, index) => pages.slice(0, index).flat().length);
  const source: AdvertSource = {
    name: 'list',
    async page(position): Promise<SourcePage | undefined> {
      asked.push(position);
      const index = starts.indexOf(position);
      const data = pages[index];
      return data && { data, next: position + data.length };
    },
  };
  return { source, asked };
}

describe('a backfill', () => {
  let clock: ReturnType<typeof createManualClock>;
  let progress: ReturnType<typeof createStoredProgress>;
  let sent: ChangedAdvert[][];
  let depth: () => number;
  let refused: (messages: readonly ChangedAdvert[]) => string[];
  let told: [position: number, waiting: boolean][];
  let bridge: Parameters<typeof backfill>[0];
  let onProgress: WalkOptions<BackfillProgress>['onProgress'];

  beforeEach(() => {
    clock = createManualClock();
    progress = createStoredProgress();
    sent = [];
    depth = () => 0;
    refused = () => [];
    told = [];
    let ids = 0;
    onProgress = ({ position }, waiting) => told.push([position, waiting]);
    bridge = {
      backfills: progress,
      queue: {
        async send(messages) {
          sent.push([...messages]);
          return new Set(refused(messages));
        },
        depth: async (partnerAccount) => (partnerAccount === 'main' ? depth() : Number.NaN),
      },
      deadLetters: { sendMalformed: () => Promise.reject(new Error('a backfill has no dead letters')) },
      clock,
      newId: () => `id-${++ids}`,
      isDelivering: () => true,
    };
  });
  const run = (
    source: AdvertSource,
    options: Partial<WalkOptions<BackfillProgress>> = {},
    isDelivering = () => true,
  ) =>
    backfill({ ...bridge, isDelivering }, key, source, {
      signal: new AbortController().signal,
      ...(onProgress && { onProgress }),
      ...options,
    });
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
    expect(asked).toEqual([0, 2, 3]);
    expect(result).toEqual({
      end: 'done',
      progress: {
        ...{ id: 'id-1', state: 'done', source: 'list', position: 3, listed: 3, malformed: 0 },
        startedAt: '2026-11-20T12:00:00.000Z',
      },
    });
    expect(progress.value()).toEqual(result.progress);
    expect(progress.counted()).toBe(3);
    expect(told).toEqual([
      [0, false],
      [2, false],
      [3, false],
    ]);
  });

  it('counts what is no advert ID, and sends an advert once however often it is listed', async () => {
    const { source } = listOf(['1', '../x', '1', 7], ['', '2', '1', null], ['x']);

    expect(await run(source)).toMatchObject({ end: 'done', progress: { listed: 3, malformed: 4 } });

    // A number is an ID, as it is in the feed.
    expect(sentIds()).toEqual([['1', '7'], ['2']]);
    expect(progress.counted()).toBe(3);
  });

  it('stores nothing of a page that the queue did not take whole, and lists it again with fresh keys', async () => {
    await unfinished();

    refused = (messages) => messages.slice(1).map((message) => message.key);
    const failing = run(listOf(['1', '2'], ['3', '4', '5']).source);
    await expect(failing).rejects.toMatchObject({
      code: 'transient',
      message: 'the queue did not accept 2 of 3 messages',
    });
    expect(progress.value()).toMatchObject({ position: 2, listed: 2, state: 'running' });
    expect(progress.counted()).toBe(2);

    refused = () => [];
    expect(await run(listOf(['1', '2'], ['3', '4', '5']).source)).toMatchObject({
      end: 'done',
      progress: { id: 'id-1', listed: 5 },
    });
    expect(sentIds()).toEqual([
      ['3', '4', '5'],
      ['3', '4', '5'],
    ]);
    expect(new Set(sent.flat().map((message) => message.key))).toHaveLength(6);
  });

  it('ends when the source fails, and can go on', async () => {
    const fault = new BridgeFault('transient', 'no answer');
    await expect(run({ name: 'list', page: () => Promise.reject(fault) })).rejects.toBe(fault);

    expect(await run(listOf(['1']).source)).toMatchObject({ end: 'done', progress: { id: 'id-1' } });
  });

  describe('whose list is paged in another way than assumed', () => {
    /** Returns these pages for any request. */
    const givingAnyway = (...pages: unknown[][]): AdvertSource => ({
      name: 'list',
      page: async (position) => (pages[position] ? { data: pages[position], next: position + 1 } : undefined),
    });

    it('is broken off at the page that comes again', async () => {
      await expect(run(givingAnyway(['1', '2'], ['1', '2']))).rejects.toMatchObject({
        code: 'contract-broken',
        message: expect.stringContaining('the same page again'),
      });
      expect(progress.value()).toMatchObject({ position: 1, listed: 2, state: 'running' });
    });
  });

  it('ends after the page in hand when it is told to, and goes on from there later', async () => {
    const controller = new AbortController();
    const { source, asked } = listOf(['1', '2'], ['3']);
    const ending: AdvertSource = {
      ...source,
      page(position) {
        controller.abort();
        return source.page(position);
      },
    };

    expect(await run(ending, { signal: controller.signal })).toMatchObject({
      end: 'stopped',
      progress: { state: 'running', position: 2, listed: 2 },
    });
    clock.advance(60_000);

    expect(await run(source)).toMatchObject({
      end: 'done',
      progress: { id: 'id-1', listed: 3, startedAt: '2026-11-20T12:00:00.000Z' },
    });
    expect(asked).toEqual([0, 2, 3]);
    expect(sentIds()).toEqual([['1', '2'], ['3']]);
  });

  describe('while more messages wait than it may add to', () => {
    it('adds nothing, and looks again after a pause', async () => {
      const depths = [501, 600, 500];
      depth = () => depths.shift() ?? 0;
      const startMs = clock.now();

      expect(await run(listOf(['1']).source)).toMatchObject({ end: 'done' });

      expect(sent[0]?.[0]?.listedAt).toBe(new Date(startMs + 2_000).toISOString());
      expect(told.slice(0, 3)).toEqual([
        [0, true],
        [0, true],
        [0, false],
      ]);
    });

    it('stops when nothing takes them, and goes on from there', async () => {
      const first = Array.from({ length: 600 }, (_, index) => String(index + 1));
      depth = () => sent.flat().length;
      const { source } = listOf(first, ['601'], ['602']);

      expect(await run(source, {}, () => false)).toMatchObject({ end: 'stuck', progress: { listed: 600 } });

      depth = () => 0;
      expect(await run(source)).toMatchObject({ end: 'done', progress: { listed: 602 } });
    });

    it('is heard when it is told to end', async () => {
      depth = () => 501;
      const controller = new AbortController();
      onProgress = (_progress, waiting) => waiting && controller.abort();

      expect(await run(listOf(['1']).source, { signal: controller.signal })).toMatchObject({
        end: 'stopped',
      });
      expect(sent).toEqual([]);
    });

    it('ends when somebody else goes on with it', async () => {
      depth = () => {
        progress.change({ position: 9 });
        return 501;
      };

      expect(await run(listOf(['1']).source)).toMatchObject({ end: 'taken-over', progress: { position: 9 } });
    });
  });

  describe('that is unfinished', () => {
    beforeEach(unfinished);

    it('is left as it is by one with another source', async () => {
      const before = progress.value();

      expect(await run({ ...listOf(['8']).source, name: 'file' })).toEqual({
        end: 'other-source',
        progress: before,
      });
      expect(progress.value()).toEqual(before);
      expect(sent).toEqual([]);
    });

    it.each(['list', 'file'])('is left aside for a new one when asked for: from %s', async (name) => {
      clock.advance(1_000);

      expect(await run({ ...listOf(['1', '2'], ['3']).source, name }, { restart: true })).toMatchObject({
        end: 'done',
        progress: { id: expect.not.stringMatching(/^id-1$/), source: name, listed: 3 },
      });
      expect(progress.value()?.startedAt).toBe('2026-11-20T12:00:01.000Z');
    });
  });

  it('begins anew when the one before is done, also from another source', async () => {
    await run(listOf(['1']).source);
    const { source, asked } = listOf(['1', '2']);

    expect(await run({ ...source, name: 'file' })).toMatchObject({
      end: 'done',
      progress: { id: 'id-3', source: 'file', listed: 2 },
    });
    expect(asked[0]).toBe(0);
  });

  describe('that somebody else writes to while it sends a page', () => {
    /** Runs it; `action` comes between the sending and the storing of the first page. */
    const interrupted = (action: () => void, ...pages: string[][]) => {
      progress.meanwhile(() => {}, action);
      return run(listOf(...pages).source);
    };

    it('pauses after the page, which is counted, and goes on behind it', async () => {
      const result = await interrupted(() => progress.change({ state: 'paused' }), ['1', '2'], ['3']);

      expect(result).toMatchObject({ end: 'paused', progress: { state: 'paused', position: 2, listed: 2 } });
      expect(progress.value()).toEqual(result.progress);
      expect(progress.counted()).toBe(2);
      const { source, asked } = listOf(['1', '2'], ['3']);
      expect(await run(source)).toMatchObject({ end: 'done', progress: { id: 'id-1', listed: 3 } });
      expect(asked[0]).toBe(2);
    });

    it.each<[string, Partial<BackfillProgress>]>([
      ['another process has come further', { position: 9 }],
      ['another process has come to its end', { position: 9, state: 'done' }],
      ['another one was begun', { id: 'theirs' }],
      ['another one was begun, and paused', { id: 'theirs', state: 'paused' }],
    ])('leaves the progress to the other, with its own page counted: %s', async (_case, change) => {
      const result = await interrupted(() => progress.change(change), ['1', '2'], ['3']);

      expect(result).toMatchObject(
        change.state === 'done' ? { end: 'done', progress: change } : { end: 'taken-over', progress: change },
      );
      expect(progress.value()).toMatchObject({ listed: 0, ...change });
      expect(progress.counted()).toBe(2);
      expect(sentIds()).toEqual([['1', '2']]);
    });

    it('counts its page at a later try', async () => {
      const taking = () => progress.change({ id: 'theirs' });
      progress.meanwhile(() => {}, taking, taking, taking);
      expect(await run(listOf(['1', '2']).source)).toMatchObject({
        end: 'taken-over',
        progress: { id: 'theirs' },
      });
      expect(progress.counted()).toBe(2);
    });

    it('ends when its progress was removed', async () => {
      expect(await interrupted(() => progress.erase(), ['1'])).toMatchObject({ end: 'taken-over' });
      expect(progress.value()).toBeUndefined();
    });
  });

  describe('asked to pause', () => {
    const pause = () => pauseWalk(progress, key);

    it('is paused where it is, counts nothing, and stays so when asked again', async () => {
      await unfinished();
      const before = progress.value();

      const paused = await pause();

      expect(paused).toEqual({ ...before, state: 'paused' });
      expect(progress.value()).toEqual(paused);
      expect(progress.counted()).toBe(2);
      expect(await pause()).toEqual(paused);
    });
  });
});
