import { beforeEach, describe, expect, it } from 'vitest';
import { type AdvertSource, auditSource } from '../../../operations/advert-sources.ts';
import { audit } from '../../../operations/audit.ts';
import type { ChangedAdvert } from '../../../shared/contract/messages.ts';
import { advertEvent } from '../../../shared/domain/advert-event.ts';
import type { AdvertRow } from '../../../shared/state/advert-histories.ts';
import type { AuditProgress } from '../../../shared/state/progress.ts';
import { createInMemoryState } from '../../fakes/state.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';

const key = { partnerAccount: 'main', generation: 7 };
const firstRow: AdvertRow = { sequence: 0, status: null, pending: false, etag: 'absent' };

describe('an audit', () => {
  let clock: ReturnType<typeof createManualClock>;
  let state: ReturnType<typeof createInMemoryState>;
  /** The messages that no worker has taken, and when the others were sent. */
  let waiting: ChangedAdvert[];
  let sentAt: number[];
  let ids = 0;
  let service: Record<string, string>;
  let isDelivering: boolean;
  let stop: AbortController;
  /** Adverts that the workers give up, or leave waiting. */
  let givenUp: string[];
  let stuck: string[];

  beforeEach(() => {
    clock = createManualClock();
    state = createInMemoryState({ clock });
    [waiting, sentAt, givenUp, stuck] = [[], [], [], []];
    service = {};
    isDelivering = true;
    stop = new AbortController();
  });

  const owner = (advertId: string) => ({ ...key, feed: 'adverts', advertId }) as const;

  /** What fan-out does with a message. */
  async function settle(message: ChangedAdvert): Promise<void> {
    const { advertId } = message;
    const row = (await state.advertHistories.read(owner(advertId))) ?? firstRow;
    const write = (more: Partial<AdvertRow>) =>
      state.advertHistories.write(owner(advertId), { ...row, ...more });
    const status = service[advertId] ?? null;
    if (givenUp.includes(advertId)) await write({ tries: 5 });
    else if (row.sequence > 0 && row.status === status) await write({ by: message.key });
    else {
      const sequence = row.sequence + 1;
      const seen = { status, previousStatus: row.status, sequence, observedAt: clock.now(), bridge: 'Test' };
      await write({
        ...{ by: message.key, sequence, status },
        envelope: JSON.stringify(advertEvent(message, seen)),
      });
    }
  }

  async function publish(statuses: Record<string, string>): Promise<void> {
    Object.assign(service, statuses);
    const message = {
      ...key,
      feed: 'adverts',
      listedAt: '2026-11-20T11:00:00.000Z',
      cause: 'feed',
      correlationId: 'page',
    } as const;
    for (const advertId of Object.keys(statuses))
      await settle({ ...message, advertId, key: `page:${advertId}` });
  }

  const bridge = (): Parameters<typeof audit>[0] => ({
    audits: state.audits,
    advertHistories: state.advertHistories,
    queue: {
      async send(messages) {
        sentAt.push(...messages.map(() => clock.now()));
        waiting.push(...messages);
        if (!isDelivering) return new Set();
        for (const message of messages) if (!stuck.includes(message.advertId)) await settle(message);
        waiting = waiting.filter(({ advertId }) => stuck.includes(advertId));
        return new Set();
      },
      depth: async () => waiting.length,
    },
    deadLetters: state.deadLetters,
    clock,
    newId: () => `id-${++ids}`,
    isDelivering: () => isDelivering,
    settings: async () => ({ maxRequestsPerSecond: 10 }),
    depthLagMs: 0,
  });
  const run = (source: AdvertSource) => audit(bridge(), key, source, { signal: stop.signal });
  const ofIds = async (ids: readonly string[]) => run(await auditSource(bridge(), key, { ids }));
  const sample = (size: number) => auditSource(bridge(), key, { sample: size, random: Math.random });
  const found = ({ equal, differing, neverPublished, unsettled }: AuditProgress) => ({
    equal,
    differing,
    neverPublished,
    unsettled,
  });

  it('tells what was right, what differed, and what had no event, and repairs it', async () => {
    await publish({ '1': 'active', '2': 'active', '3': 'sold' });
    Object.assign(service, { '2': 'limited', '4': 'new' });
    delete service['3'];

    const { end, progress } = await ofIds(['1', '2', '3', '4']);

    expect(end).toBe('done');
    expect(found(progress)).toEqual({
      equal: 1,
      differing: [
        { advertId: '2', published: 'active', actual: 'limited' },
        { advertId: '3', published: 'sold', actual: null },
      ],
      neverPublished: ['4'],
      unsettled: [],
    });
    expect(await state.advertHistories.read(owner('2'))).toMatchObject({ sequence: 2, status: 'limited' });
  });

  it('sends at half of the rate at most', async () => {
    const ids = Array.from({ length: 50 }, (_, index) => String(index + 1));
    await publish(Object.fromEntries(ids.map((id) => [id, 'active'])));
    const startMs = clock.now();

    await ofIds(ids);

    const counts = Map.groupBy(sentAt, (at) => at - startMs);
    expect([...counts].map(([at, batch]) => [at, batch.length])).toEqual([
      [0, 20],
      [4_000, 20],
      [8_000, 10],
    ]);
  });

  it('goes on without an advert that fan-out gave up', async () => {
    await publish({ '1': 'active', '2': 'active' });
    givenUp = ['1'];

    const { end, progress } = await ofIds(['1', '2']);

    expect(end).toBe('done');
    expect(found(progress)).toMatchObject({ equal: 1, unsettled: ['1'] });
  });

  it('goes on after five minutes without an advert that still waits', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => String(index + 1));
    await publish(Object.fromEntries(ids.map((id) => [id, 'active'])));
    stuck = ['3'];

    const { end, progress } = await ofIds(ids);

    expect(end).toBe('done');
    expect(found(progress)).toMatchObject({ equal: 29, unsettled: ['3'] });
  });

  it('stops when nothing is handled for five minutes, and goes on there', async () => {
    await publish({ '1': 'active', '2': 'active' });
    stuck = ['1', '2'];
    const first = await ofIds(['1', '2']);
    service['2'] = 'limited';
    for (const message of waiting.splice(0)) await settle(message);

    const second = await ofIds(['1', '2']);

    expect(first.end).toBe('stuck');
    expect(first.progress.waiting).toHaveLength(2);
    expect(second.end).toBe('done');
    expect(found(second.progress)).toMatchObject({ equal: 1, differing: [{ advertId: '2' }] });
    expect(sentAt).toHaveLength(2);
  });

  it('sends everything at once where nobody takes messages, and tells the rest when it goes on', async () => {
    const ids = Array.from({ length: 45 }, (_, index) => String(index + 1));
    await publish(Object.fromEntries(ids.map((id) => [id, 'active'])));
    isDelivering = false;
    const first = await ofIds(ids);
    for (const message of waiting.splice(0)) await settle(message);

    const second = await ofIds(ids);

    expect(first).toMatchObject({ end: 'stuck', progress: { listed: 45, equal: 0 } });
    expect(second).toMatchObject({ end: 'done', progress: { listed: 45, equal: 45 } });
  });

  it('draws a sample of published adverts, each once', async () => {
    const ids = Array.from({ length: 230 }, (_, index) => String(index + 1));
    await publish(Object.fromEntries(ids.map((id) => [id, 'active'])));

    const { progress } = await run(await sample(100));

    expect(progress).toMatchObject({ total: 100, equal: 100 });
    const all = await run(await sample(1_000));
    expect(all.progress).toMatchObject({ total: 230, equal: 230 });
  });

  it('finds adverts of the service that were never published', async () => {
    await publish({ '1': 'active', '2': 'active' });
    Object.assign(service, { '5': 'new', '6': 'new' });
    const pages = [
      ['1', '5'],
      ['2', '6'],
    ];
    const list: AdvertSource = {
      name: 'list',
      async *pages(from) {
        for (const [index, data] of pages.slice(from).entries()) yield { data, next: from + index + 1 };
      },
    };

    const { progress } = await run(await auditSource(bridge(), key, { list }));

    expect(found(progress)).toMatchObject({ equal: 2, differing: [], neverPublished: ['5', '6'] });
  });

  it('takes a page of the list again that was sent in part', async () => {
    const data = Array.from({ length: 45 }, (_, index) => String(index + 1));
    const list: AdvertSource = {
      name: 'list',
      async *pages() {
        yield { data, next: 1 };
      },
    };

    const sent: [number, number][] = [];
    for await (const page of (await auditSource(bridge(), key, { list })).pages(0))
      sent.push([page.data.length, page.next]);

    expect(sent.join(' ')).toBe('20,0 20,0 5,1');
  });

  it('can be stopped, and keeps what it has found', async () => {
    const ids = Array.from({ length: 50 }, (_, index) => String(index + 1));
    await publish(Object.fromEntries(ids.map((id) => [id, 'active'])));
    service['1'] = 'limited';
    const { end, progress } = await audit(bridge(), key, await auditSource(bridge(), key, { ids }), {
      signal: stop.signal,
      onProgress: ({ listed }) => listed >= 40 && stop.abort(),
    });
    stop = new AbortController();

    const second = await ofIds(ids);

    expect(end).toBe('stopped');
    expect(progress.listed).toBe(40);
    expect(found(second.progress)).toMatchObject({ equal: 49, differing: [{ advertId: '1' }] });
    expect(sentAt).toHaveLength(50);
  });
});
