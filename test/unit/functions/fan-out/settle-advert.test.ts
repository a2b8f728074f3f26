import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import type { AdvertDeps, Group, MessageDelivery } from '../../../../functions/fan-out/advert.ts';
import { settleAdvert } from '../../../../functions/fan-out/settle-advert.ts';
import type { AdvertEvent } from '../../../../shared/contract/events.ts';
import type { ChangedAdvert } from '../../../../shared/contract/messages.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import type { AdvertRow } from '../../../../shared/state/advert-histories.ts';
import { changedAdvert } from '../../../helpers/records.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const minuteMs = 60_000;

let world: World;
let generation: number;
/** Each access to a port, in order. */
let steps: string[];
/** The accesses, counted from 1, at which another worker writes the row first. */
let conflicts: readonly number[];
let isGone: boolean | 'alone';
let askedSince: number[];
let fetches: Parameters<AdvertDeps['adverts']['readAdvert']>[2][];
beforeEach(async () => {
  world = await createWorld();
  generation = (await world.account())?.generation ?? 0;
  world.service.know('1', 'active');
  steps = [];
  conflicts = [];
  isGone = true;
  askedSince = [];
  fetches = [];
});

const now = () => world.clock.now();
const key = () => ({ partnerAccount: 'main', generation, feed: 'adverts', advertId: '1' }) as const;
const row = () => world.state.advertHistories.read(key());
const storeRow = async (change: Partial<AdvertRow>) => {
  const first = { sequence: 0, status: null, pending: false };
  await world.state.advertHistories.write(key(), { ...first, ...change, etag: 'absent' });
};
function delivery(message: Partial<ChangedAdvert> = {}, listedMsAgo = 0): MessageDelivery {
  const listedAt = new Date(now() - listedMsAgo).toISOString();
  const made = changedAdvert({ advertId: '1', generation, listedAt, ...message });
  return { id: made.key, message: made, position: '1:1', receives: 1, sentAt: now() };
}
/** The envelope of an event that was made for a message of this page. */
const envelopeOf = (sequence: number, status: string | null, correlationId = 'earlier'): string => {
  const metadata = { sequence, partnerAccount: 'main', correlationId };
  const data = { advertId: '1', status, previousStatus: null };
  return JSON.stringify({ detail: { metadata, data } });
};
const published = (sequence: number, status: string | null) => ({
  ...{ sequence, status, envelope: envelopeOf(sequence, status), by: 'earlier:1' },
});

/** The ports as the world has them, each of which takes a moment and notes its step. */
function deps(settings: Partial<AdvertDeps['settings']> = {}): AdvertDeps {
  const { advertHistories } = world.state;
  let writes = 0;
  const noted = async (step: string) => {
    await nextTurn();
    steps.push(step);
  };
  return {
    ...world.fanOutDeps,
    settings: { ...world.fanOutDeps.settings, ...settings },
    witness: {
      answeredWell: (name, id, at) => noted(`good ${name} ${id} ${at - now()}`),
      isOtherWell: () => Promise.reject(new Error('not asked here')),
      async isGone(message, since, deadlineMs) {
        await noted(`gone ${message.advertId} ${deadlineMs - now()}`);
        askedSince.push(since - now());
        return isGone;
      },
    },
    advertHistories: {
      async read(of) {
        await noted('read');
        return advertHistories.read(of);
      },
      async write(of, written) {
        const { sequence, pending, missingSince } = written;
        writes += 1;
        const isConflict = conflicts.includes(writes);
        const what = pending ? ' pending' : missingSince === undefined ? '' : ' missing';
        await noted(`write ${sequence}${what}${isConflict ? ' in vain' : ''}`);
        return isConflict ? undefined : advertHistories.write(of, written);
      },
    },
    adverts: {
      async readAdvert(name, id, options) {
        fetches.push(options);
        await noted('fetch');
        return world.service.readAdvert(name, id, options);
      },
    },
    events: {
      async publish(envelope) {
        await noted(`publish ${(JSON.parse(envelope) as AdvertEvent).detail.metadata.sequence}`);
        await world.events.publish(envelope);
      },
    },
  };
}
const settle = async (settings: Partial<AdvertDeps['settings']> = {}, ...group: MessageDelivery[]) => {
  const [head = delivery(), ...others] = group;
  const deliveries: Group = [head, ...others];
  const settled = await settleAdvert(deps(settings), deliveries, now() + minuteMs);
  expect(settled.map((one) => one.delivery)).toEqual(deliveries);
  return settled.map(({ verdict }) => verdict);
};
const done = (outcome: string) => ({ kind: 'done', outcome });
const retry = (delayMs: number) => ({ kind: 'retry', delayMs });
const good = 'good main 1 0';

it.each<[string, Partial<AdvertRow> | undefined, string | null, string[], object]>([
  ['new', undefined, 'active', ['fetch', good, 'write 1 pending', 'publish 1', 'write 1'], done('events')],
  ['unchanged', published(1, 'active'), 'active', ['fetch', good, 'write 1'], done('unchanged')],
  [
    'changed',
    published(4, 'active'),
    'sold',
    ['fetch', good, 'write 5 pending', 'publish 5', 'write 5'],
    done('events'),
  ],
  [
    'pending, and unchanged',
    { ...published(4, 'active'), pending: true },
    'active',
    ['publish 4', 'write 4', 'fetch', good, 'write 4'],
    done('unchanged'),
  ],
  [
    'pending, and changed',
    { ...published(4, 'active'), pending: true },
    'sold',
    ['publish 4', 'write 4', 'fetch', good, 'write 5 pending', 'publish 5', 'write 5'],
    done('events'),
  ],
  ['only listed so far', { tries: 1 }, null, ['fetch', 'write 0 missing'], retry(30_000)],
  ['missing', published(1, 'active'), null, ['fetch', 'write 1 missing'], retry(30_000)],
  ['missing as before', published(2, null), null, ['fetch', 'write 2'], done('unchanged')],
  [
    'there again',
    published(2, null),
    'active',
    ['fetch', good, 'write 3 pending', 'publish 3', 'write 3'],
    done('events'),
  ],
])(
  'an advert that is %s is settled in the order of the protocol',
  async (_what, before, status, expected, verdict) => {
    if (before) await storeRow(before);
    if (status === null) world.service.remove('1');
    else world.service.know('1', status);

    expect(await settle()).toEqual([verdict]);
    expect(steps).toEqual(['read', ...expected]);
  },
);

const fromRead = ['read', 'fetch', good];
it.each<[string, Partial<AdvertRow> | undefined, string | null, number[], string[]]>([
  [
    'before its event',
    published(1, 'active'),
    'sold',
    [1],
    [...fromRead, 'write 2 pending in vain', ...fromRead, 'write 2 pending', 'publish 2', 'write 2'],
  ],
  [
    'after its event',
    published(1, 'active'),
    'sold',
    [2],
    [
      ...[...fromRead, 'write 2 pending', 'publish 2', 'write 2 in vain'],
      ...['read', 'publish 2', 'write 2', 'fetch', good, 'write 2'],
    ],
  ],
  [
    'after a pending event',
    { ...published(1, 'active'), pending: true },
    'active',
    [1],
    ['read', 'publish 1', 'write 1 in vain', 'read', 'publish 1', 'write 1', 'fetch', good, 'write 1'],
  ],
  [
    'although nothing changed',
    published(1, 'active'),
    'active',
    [1],
    [...fromRead, 'write 1 in vain', ...fromRead, 'write 1'],
  ],
  [
    'that is missing',
    published(1, 'active'),
    null,
    [1],
    ['read', 'fetch', 'write 1 missing in vain', 'read', 'fetch', 'write 1 missing'],
  ],
])('a conflict begins again from the read: an advert %s', async (_when, before, status, inVain, expected) => {
  if (before) await storeRow(before);
  conflicts = inVain;
  if (status === null) world.service.remove('1');
  else world.service.know('1', status);

  await settle();
  expect(steps).toEqual(expected);
});

it.each<[string, () => void, Partial<AdvertRow> | undefined, string[]]>([
  [
    'the bus refuses',
    () => world.events.refuse(),
    undefined,
    ['fetch', good, 'write 1 pending', 'publish 1'],
  ],
  [
    'the bus refuses a pending event',
    () => world.events.refuse(),
    { ...published(1, 'active'), pending: true },
    ['publish 1'],
  ],
  [
    'the service fails',
    () => {
      world.service.state.beforeAdvert = () => {
        throw new BridgeFault('transient', 'down');
      };
    },
    published(1, 'sold'),
    ['fetch'],
  ],
])('nothing follows when %s', async (_when, turn, before, expected) => {
  if (before) await storeRow(before);
  turn();
  await expect(settle()).rejects.toThrow();

  expect(steps).toEqual(['read', ...expected]);
  expect((await row())?.pending).toBe(expected.at(-1) === 'publish 1');
});

it.each<[string, Partial<PartnerAccount> | undefined, boolean]>([
  ['is being forgotten', { forgetting: true }, false],
  ['is of a later generation', { generation: 2_000_000_000 }, false],
  ['is unknown', undefined, false],
  ['is of an older generation that is being forgotten', { generation: 1, forgetting: true }, true],
])('no event is published when its account %s', async (_what, change, isPublished) => {
  if (change) await world.partnerAccounts.change('main', (account) => ({ ...account, ...change }));
  else await world.partnerAccounts.remove('main');
  const settled = settle();

  if (isPublished) expect(await settled).toEqual([done('events')]);
  else await expect(settled).rejects.toMatchObject({ code: 'generation-over' });
  expect(steps.includes('publish 1')).toBe(isPublished);
});

const failed = { tries: 2, fault: 'forbidden', failedAt: 5, missingSince: 7 } as const;
it.each<[string, string | null, object]>([
  ['the status of its last event', 'active', { sequence: 1, status: 'active' }],
  ['another status', 'sold', { sequence: 2, status: 'sold' }],
])('a row has no faults any more after an answer with %s', async (_what, status, expected) => {
  await storeRow({ ...published(1, 'active'), ...failed });
  world.service.know('1', status ?? '');
  const listed = delivery();
  await settle({}, listed);

  const [envelope] = status === 'active' ? [envelopeOf(1, 'active')] : world.events.accepted;
  const etag = expect.any(String);
  expect(await row()).toEqual({ ...expected, envelope, pending: false, by: listed.message.key, etag });
});

it('a row keeps its event, without faults, when its advert is missing', async () => {
  const { missingSince: _known, ...faults } = failed;
  await storeRow({ ...published(1, 'active'), ...faults });
  world.service.remove('1');
  const listed = delivery();
  await settle({}, listed);

  const { by, ...event } = published(1, 'active');
  const own = { by: listed.message.key, missingSince: now() };
  expect(await row()).toEqual({ ...event, ...own, pending: false, etag: expect.any(String) });
});

it.each([
  ['of its account', 'Bridge of the row'],
  ['of the settings', undefined],
])('an event says what was observed, and the name %s as its bridge', async (_whose, bridge) => {
  if (bridge) await world.partnerAccounts.change('main', (account) => ({ ...account, bridge }));
  await storeRow(published(3, 'active'));
  world.service.know('1', 'sold');
  world.service.state.beforeAdvert = () => world.clock.advance(1_500);
  const listed = delivery();
  await settle({ eventFields: ['title'] }, listed);

  const { listedAt, correlationId } = listed.message;
  const observedAt = new Date(now()).toISOString();
  const metadata = {
    ...{ sequence: 4, bridge: bridge ?? 'AdvertBridge', observedAt, listedAt, correlationId },
    ...{ eventId: `main/${generation}/1/4`, partnerAccount: 'main', generation, cause: 'feed' },
  };
  const data = { advertId: '1', status: 'sold', previousStatus: 'active', fields: { title: 'Advert 1' } };
  expect(world.advertEvents()).toMatchObject([{ detail: { metadata, data } }]);
});

it.each([
  ['its status is not published', { publishStatuses: ['sold'] }],
  ['its account is not published', { publishPartnerAccounts: ['other'] }],
])('an event that is kept from the bus is settled like others: %s', async (_why, settings) => {
  expect(await settle(settings)).toEqual([done('events')]);
  expect(steps).toEqual(['read', 'fetch', good, 'write 1 pending', 'write 1']);
});

it.each<[string, readonly (readonly [cause: ChangedAdvert['cause'], listedMsAgo: number])[], number]>([
  ['just now', [['feed', 0]], 10_000],
  ['4 s ago', [['feed', 4_000]], 6_000],
  ['1 ms less than 10 s ago', [['feed', 9_999]], 1],
  ['10 s ago', [['feed', 10_000]], 0],
  [
    'twice: the later counts',
    [
      ['feed', 8_000],
      ['feed', 2_000],
    ],
    8_000,
  ],
  [
    'with a backfill',
    [
      ['backfill', 0],
      ['feed', 3_000],
    ],
    7_000,
  ],
  ['by a backfill alone', [['backfill', 0]], 0],
  ['by a clock a minute ahead', [['feed', -60_000]], 10_000],
  ['by a clock further ahead', [['feed', -60_001]], 0],
])('an unchanged advert is asked for again 10 s after it was listed: %s', async (_when, listed, delayMs) => {
  await storeRow(published(1, 'active'));
  const group = listed.map(([cause, ago]) => delivery({ cause }, ago));

  const [first, ...others] = await settle({ confirmUnchangedSeconds: 10 }, ...group);

  expect(first).toEqual(delayMs > 0 ? retry(delayMs) : done('unchanged'));
  for (const other of others) expect(other).toEqual(first);
  expect((await row())?.by).toBe(delayMs > 0 ? 'earlier:1' : group[0]?.message.key);
});

it.each<[string, string | null, string[], object[]]>([
  ['its only message', 'active', ['page-1'], [done('events')]],
  ['its only message: gone', null, ['page-1'], [done('unavailable')]],
  ['both messages', 'active', ['page-1', 'page-1'], [done('events'), done('coalesced')]],
  ['only the second message', 'active', ['page-2', 'page-1'], [retry(10_000), retry(10_000)]],
  ['none', 'active', ['page-2'], [retry(10_000)]],
])('an unchanged advert counts as its event, if that is of %s', async (_whose, status, pages, verdicts) => {
  await storeRow({ sequence: 2, status, envelope: envelopeOf(2, status, 'page-1') });
  if (status === null) world.service.remove('1');
  const group = pages.map((correlationId, index) => delivery({ correlationId, key: `k${index}:1` }));

  expect(await settle({ confirmUnchangedSeconds: 10 }, ...group)).toEqual(verdicts);
});

it.each<[string, number | undefined, number, boolean]>([
  ['is new', undefined, 30_000, true],
  ['is older', -29_999, 1, false],
  ['is of a clock a minute ahead', 60_000, 30_000, false],
  ['is of a clock further ahead', 60_001, 30_000, true],
])(
  'a missing advert is asked for again after 30 s, if that %s',
  async (_what, sinceMs, delayMs, isWritten) => {
    const missingSince = sinceMs === undefined ? {} : { missingSince: now() + sinceMs };
    await storeRow({ ...published(1, 'active'), ...missingSince });
    world.service.remove('1');

    expect(await settle({}, delivery(), delivery())).toEqual([retry(delayMs), retry(delayMs)]);
    expect((await row())?.missingSince).toBe(isWritten ? now() : now() + (sinceMs ?? 0));
    expect(steps.length).toBe(isWritten ? 3 : 2);
  },
);

it.each([
  [30_000, 30_000],
  [299_999, 299_999],
  [300_001, 300_000],
])('%i ms later a missing advert without a witness waits %i ms aside', async (sinceMs, forMs) => {
  await storeRow({ ...published(1, 'active'), missingSince: now() - sinceMs });
  world.service.remove('1');
  isGone = false;
  world.observer.lines.length = 0;

  const verdict = { kind: 'hold', wait: { dueMs: now() + forMs, forMs } };
  expect(await settle({}, delivery(), delivery())).toEqual([verdict, verdict]);
  expect(steps).toEqual(['read', 'fetch', 'gone 1 10000']);
  expect(askedSince).toEqual([-sinceMs]);
  const fields = { partnerAccount: 'main', advertId: '1' };
  expect(world.observer.lines).toMatchObject([{ level: 'warn', fields }]);
});

it.each<[string, boolean | 'alone' | 'by operator', number, object]>([
  ['with a witness', true, 30, done('unavailable')],
  ['alone, and is looked at an hour later', 'alone', 30, { kind: 'hold', wait: { forMs: 3_600_000 } }],
  ['at once without a confirmation', false, 0, done('unavailable')],
  [
    'by belief, and is looked at an hour later',
    'by operator',
    30,
    { kind: 'hold', wait: { forMs: 3_600_000 } },
  ],
])('a missing advert is published as gone %s', async (_how, believed, confirmUnavailableSeconds, verdict) => {
  await storeRow({ ...published(1, 'active'), ...failed, missingSince: now() - 30_000 });
  world.service.remove('1');
  const isByOperator = believed === 'by operator';
  isGone = isByOperator ? false : believed;
  const [head, other] = [delivery(), delivery(isByOperator ? { believed: true } : {})];

  const verdicts = await settle({ confirmUnavailableSeconds }, head, other);

  expect(verdicts).toMatchObject([verdict, done('coalesced')]);
  const asked = confirmUnavailableSeconds > 0 ? ['gone 1 10000'] : [];
  expect(steps).toEqual(['read', 'fetch', ...asked, 'write 2 pending', 'publish 2', 'write 2']);
  const { envelope: _event, ...stored } = (await row()) ?? {};
  const { key: by } = head.message;
  expect(stored).toEqual({ sequence: 2, status: null, pending: false, by, etag: expect.any(String) });
});

it.each<[string, Partial<ChangedAdvert>, string | undefined, boolean]>([
  ['nothing', {}, undefined, false],
  ['its message', { failed: { times: 1, waitedMs: 0 } }, undefined, true],
  ['a passing fault in its row', {}, 'transient', true],
  ['a fault of its own in its row', {}, 'forbidden', true],
  ['a fault that blames nothing else', {}, 'not-found' satisfies FaultKind, false],
  ['a fault of a newer bridge', {}, 'unheard-of', false],
])('an advert is asked for as one that failed before, by %s', async (_what, message, fault, isIll) => {
  await storeRow({ ...published(1, 'active'), ...(fault !== undefined && { fault }) });
  await settle({}, delivery(message));

  const options = { deadlineMs: now() + 10_000, generation, feed: 'adverts' };
  expect(fetches).toEqual([{ ...options, isIll }]);
});

it('an advert that conflicts is asked for in a time of its own each', async () => {
  conflicts = [1, 2, 3, 4];
  world.service.state.beforeAdvert = () => world.clock.advance(11_000);
  const startedAt = now();
  await settle();
  expect(fetches.map(({ deadlineMs }) => deadlineMs - startedAt)).toEqual(
    [10, 21, 32, 43, 54].map((s) => s * 1_000),
  );
});

it.each([
  ['all messages are of an audit', ['audit', 'audit'], 1],
  ['one message is of the feed', ['audit', 'feed'], 0],
] as const)('an event counts as found by an audit when %s', async (_when, causes, differences) => {
  await storeRow(published(2, null));
  world.observer.lines.length = 0;
  await settle({}, ...causes.map((cause) => delivery({ cause })));

  expect(world.observer.counted(metrics.auditDifferences)).toBe(differences);
  const fields = { partnerAccount: 'main', advertId: '1', published: null, actual: 'active' };
  expect(world.observer.lines).toMatchObject(differences > 0 ? [{ level: 'warn', fields }] : []);
});
