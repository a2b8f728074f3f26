import { beforeEach, expect, it } from 'vitest';
import { byAdvert, settlementsByPage } from '../../../../functions/fan-out/batch.ts';
import { createFanOut, type FanOutDeps } from '../../../../functions/fan-out/fan-out.ts';
import { checked } from '../../../../shared/contract/checks.ts';
import { envelope } from '../../../../shared/contract/events.ts';
import type { ChangedAdvert } from '../../../../shared/contract/messages.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import type { Hold } from '../../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { rowMaxAgeMs } from '../../../../shared/partner-api/cached-rows.ts';
import { deliveryPosition } from '../../../../shared/ports/message-groups.ts';
import type { Delivery, Settlement, Verdict } from '../../../../shared/ports/queue.ts';
import { stopped, tokenHold } from '../../../helpers/holds.ts';
import { changedAdvert } from '../../../helpers/records.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const minuteMs = 60_000;

let world: World;
let generation: number;
let sent: number;
beforeEach(async () => {
  world = await createWorld();
  generation = (await world.account())?.generation ?? 0;
  sent = 0;
  world.service.know('1', 'active');
  world.observer.lines.length = 0;
});

const rowKey = () => ({ partnerAccount: 'main', generation, feed: 'adverts', advertId: '1' }) as const;
const row = () => world.state.advertHistories.read(rowKey());
/** A delivery of a message about advert 1. */
function delivery(message: Partial<ChangedAdvert> = {}, own: Partial<Delivery> = {}): Delivery {
  sent += 1;
  const { receives = 1 } = own;
  const listedAt = new Date(world.clock.now()).toISOString();
  return {
    id: `delivery-${sent}`,
    message: changedAdvert({ advertId: '1', generation, listedAt, ...message }),
    ...{ position: deliveryPosition(String(sent), receives), receives, sentAt: world.clock.now() },
    ...own,
  };
}
const alien = (own: Partial<Delivery> = {}): Delivery => {
  const { message: _none, ...rest } = delivery({}, own);
  return rest;
};
const fanOutWith = (change: Partial<FanOutDeps>) => createFanOut({ ...world.fanOutDeps, ...change });
const handleWith = async (change: Partial<FanOutDeps>, ...deliveries: readonly Delivery[]) =>
  (await fanOutWith(change).handle(deliveries, world.options())).map(({ verdict }) => verdict);
const handle = async (...deliveries: readonly Delivery[]) =>
  (await world.fanOut.handle(deliveries, world.options())).map(({ verdict }) => verdict);
const kinds = async (...deliveries: readonly Delivery[]) =>
  (await handle(...deliveries)).map(({ kind }) => kind);
const fail = (code: FaultKind, details: ConstructorParameters<typeof BridgeFault>[2] = {}) => {
  world.service.state.beforeAdvert = () => {
    throw new BridgeFault(code, `told to be ${code}`, details);
  };
};
const write = (change: Partial<PartnerAccount>) =>
  world.partnerAccounts.change('main', (account) => ({ ...account, ...change }));
const summary = () =>
  world
    .advertEvents()
    .map(({ detail: { metadata, data } }) => [metadata.sequence, data.previousStatus, data.status]);
const done = (outcome: string) => ({ kind: 'done', outcome });
const retry = (delayMs: number) => ({ kind: 'retry', delayMs });
const hold = { kind: 'hold' };
/** How long a message waits, in the queue or outside it. */
function secondsOf(verdict: Verdict | undefined): number {
  if (verdict?.kind === 'retry') return verdict.delayMs / 1_000;
  return verdict?.kind === 'hold' ? (verdict.wait?.forMs ?? 0) / 1_000 : 0;
}

it('an advert becomes an event numbered from 1, with the status before', async () => {
  const message = { correlationId: 'page-1', listedAt: '2026-11-20T11:59:59.801Z' };
  expect(await handle(delivery(message))).toEqual([done('events')]);
  expect(await handle(delivery())).toEqual([done('unchanged')]);
  world.service.know('1', 'sold');
  expect(await handle(delivery(), delivery())).toEqual([done('events'), done('coalesced')]);

  expect(world.service.fetched).toEqual(['1', '1', '1']);
  expect(summary()).toEqual([
    [1, null, 'active'],
    [2, 'active', 'sold'],
  ]);
  const metadata = { eventId: `main/${generation}/1/1`, cause: 'feed', ...message };
  expect(checked(envelope, world.advertEvents()[0], 'event')).toMatchObject({
    source: 'advert-bridge',
    'detail-type': 'AdvertStatusChanged',
    time: '2026-11-20T12:00:00Z',
    resources: ['advert-bridge/main/advert/1'],
    detail: { metadata },
  });
});

it('an event that the bus refused is published before the next one', async () => {
  world.events.refuse();
  expect(await kinds(delivery())).toEqual(['retry']);
  world.events.accept();
  world.service.know('1', 'sold');

  expect(await handle(delivery())).toEqual([done('events')]);
  expect(summary()).toEqual([
    [1, null, 'active'],
    [2, 'active', 'sold'],
  ]);
});

it('an event is published twice alike when its acceptance is not stored', async () => {
  const { advertHistories } = world.state;
  const write: typeof advertHistories.write = async (key, stored) => {
    if (!stored.pending) throw new Error('killed after PutEvents');
    return advertHistories.write(key, stored);
  };
  await handleWith({ advertHistories: { ...advertHistories, write } }, delivery());
  expect(await handle(delivery())).toEqual([done('unchanged')]);

  const [first, second, ...others] = world.events.accepted;
  expect(second).toBe(first);
  expect(others).toEqual([]);
});

it('only the statuses and copied fields of the settings are published', async () => {
  const publishStatuses = ['sold'];
  const eventFields = ['title', 'price.value', 'x'];
  const settings = { ...world.fanOutDeps.settings, publishStatuses, eventFields };
  for (const status of ['new', 'active', 'sold', 'active', 'new']) {
    world.service.know('1', status);
    await handleWith({ settings }, delivery());
  }

  expect(summary()).toEqual([
    [3, 'active', 'sold'],
    [4, 'sold', 'active'],
  ]);
  expect(checked(envelope, world.advertEvents()[0], 'event')).toMatchObject({
    detail: { data: { fields: { title: 'Advert 1', 'price.value': 12 } } },
  });
});

it.each<[string, number, ChangedAdvert['cause'], string | null, number]>([
  ['is published in time', 300_000, 'feed', 'active', 0],
  ['is published', 300_001, 'feed', 'active', 1],
  ['says that its advert is gone', 300_001, 'feed', null, 1],
  ['was listed by a backfill', 300_001, 'backfill', 'active', 0],
  ['was published before', 300_001, 'feed', 'before', 0],
])('an event counts as late after five minutes when it %s', async (_what, laterMs, cause, status, late) => {
  if (status === 'before') await handle(delivery());
  if (status === null) world.service.remove('1');
  const settings = { ...world.fanOutDeps.settings, confirmUnavailableSeconds: 0 };
  const listed = delivery({ cause });
  world.clock.advance(laterMs);

  await handleWith({ settings }, listed);
  expect(world.observer.counted(metrics.lateEvents)).toBe(late);
});

it.each<[string, FaultKind | undefined, Partial<Delivery>, object]>([
  ['settled', undefined, { receives: 2 }, { [metrics.events]: 1, [metrics.redelivered]: 1 }],
  ['put aside', 'operator-paused', {}, { [metrics.held]: 1 }],
  ['sent back', 'rate-limited', { receives: 3 }, { [metrics.redelivered]: 1 }],
  ['of a generation that is over', 'generation-over', { receives: 2 }, { [metrics.redelivered]: 1 }],
  ['given up', undefined, { receives: 301 }, { [metrics.deadLettered]: 1, [metrics.redelivered]: 1 }],
])('a message is counted when it is %s', async (_what, code, own, expected) => {
  if (code) fail(code);
  await handle(delivery({}, own));
  expect(Object.fromEntries(world.observer.counts)).toEqual(expected);
});

it('the rows of accounts are read once for a batch, and again for the next', async () => {
  let reads = 0;
  const { partnerAccounts } = world.fanOutDeps;
  const read = (name: string) => {
    reads += 1;
    return partnerAccounts.read(name);
  };
  const fanOut = fanOutWith({ partnerAccounts: { ...partnerAccounts, read } });
  for (const id of ['2', '3']) world.service.know(id, 'active');
  for (const batch of [1, 2]) {
    const deliveries = ['1', '2', '3'].map((advertId) => delivery({ advertId }));
    await fanOut.handle(deliveries, world.options());
    expect(reads).toBe(batch);
  }
});

it('an advert is settled although another one of its batch hangs', async () => {
  world.service.know('2', 'active');
  const readAdvert: FanOutDeps['adverts']['readAdvert'] = (name, id, options) =>
    id === '2' ? new Promise(() => undefined) : world.service.readAdvert(name, id, options);
  const { handleEach } = fanOutWith({ adverts: { readAdvert } });
  const [, first] = handleEach([delivery({ advertId: '2' }), delivery()], world.options());
  expect(await first).toMatchObject([{ verdict: done('events') }]);
});

it('an advert is fetched within ten seconds, or the rest of its batch', async () => {
  const deadlines: number[] = [];
  const readAdvert: FanOutDeps['adverts']['readAdvert'] = (name, id, options) => {
    deadlines.push(options.deadlineMs - world.clock.now());
    return world.service.readAdvert(name, id, options);
  };
  const { handle } = fanOutWith({ adverts: { readAdvert } });
  for (const ms of [minuteMs, 3_000, 0]) {
    const [settlement] = await handle([delivery()], { deadlineMs: world.clock.now() + ms });
    if (ms === 0) expect(settlement?.verdict).toEqual({ kind: 'retry', delayMs: 1_000 });
  }

  expect(deadlines).toEqual([10_000, 3_000]);
});

it('an advert is left to other workers after twenty conflicts', async () => {
  await handle(delivery());
  const advertHistories = { ...world.state.advertHistories, write: async () => undefined };

  expect(await handleWith({ advertHistories }, delivery())).toEqual([{ kind: 'retry', delayMs: 1_000 }]);
  expect(world.service.fetched).toHaveLength(1 + 20);
});

it('a late row publishes no first event after its histories were removed', async () => {
  const { advertHistories } = world.state;
  const write: typeof advertHistories.write = async (...row) => {
    await world.partnerAccounts.change('main', (account) => ({ ...account, forgetting: true }));
    await advertHistories.remove('main', generation);
    world.clock.advance(rowMaxAgeMs + 1);
    return advertHistories.write(...row);
  };

  const verdicts = await handleWith({ advertHistories: { ...advertHistories, write } }, delivery());

  expect(verdicts).toEqual([{ kind: 'forgotten' }]);
  expect(summary()).toEqual([]);
});

const confirming = () => ({ settings: { ...world.fanOutDeps.settings, confirmUnchangedSeconds: 10 } });

it('a change is published when a replica behind the feed shows it', async () => {
  await handle(delivery());
  const listed = delivery();
  await handleWith(confirming(), listed);
  world.service.know('1', 'sold');
  world.clock.advance(10_000);
  expect(await handleWith(confirming(), listed)).toEqual([done('events')]);
});

it.each([
  [[1, null, 'active'], true],
  [undefined, false],
])('an unknown advert is unavailable after confirmUnavailableSeconds: %j', async (before, isKnown) => {
  world.service.know('2', 'active');
  await handleWith({ events: { publish: async () => undefined } }, delivery({ advertId: '2' }));
  if (isKnown) await handle(delivery());
  world.service.remove('1');
  const listed = delivery();
  for (const [passedMs, delayMs] of [
    [0, 30_000],
    [10_000, 20_000],
    [19_999, 1],
  ] as const) {
    world.clock.advance(passedMs);
    expect(await handle(listed)).toEqual([{ kind: 'retry', delayMs }]);
  }
  world.clock.advance(1);
  expect(await handle(listed)).toEqual([done('unavailable')]);
  expect(await handle(delivery())).toEqual([done('unchanged')]);
  world.service.know('1', 'active');
  await handle(delivery());

  const number = isKnown ? 2 : 1;
  const events = [
    [number, isKnown ? 'active' : null, null],
    [number + 1, null, 'active'],
  ];
  expect(summary()).toEqual(before ? [before, ...events] : events);
  expect(world.advertEvents()[number - 1]).toMatchObject({ 'detail-type': 'AdvertUnavailable' });
});

it('an advert is not believed gone while the service answers 404 to all', async () => {
  world.service.know('2', 'active');
  await handle(delivery(), delivery({ advertId: '2' }));
  fail('not-found');
  const listed = delivery();
  const waits: unknown[] = [];
  for (let look = 0; look < 6; look += 1) {
    const [verdict] = await handle(listed);
    const seconds = secondsOf(verdict);
    waits.push([verdict?.kind, seconds]);
    world.clock.advance(seconds * 1_000);
  }
  const aside = [30, 60, 120, 240, 300].map((seconds) => ['hold', seconds]);
  expect(waits).toEqual([['retry', 30], ...aside]);
  expect(world.service.fetched.filter((id) => id === '2')).toHaveLength(2);

  world.service.state.beforeAdvert = () => undefined;
  expect(await handle(listed)).toEqual([done('unchanged')]);
  expect(summary()).toHaveLength(2);
});

it('an advert is not believed gone by a witness of a clock ahead', async () => {
  world.service.know('2', 'active');
  const hoursMs = 26 * 60 * minuteMs;
  world.clock.advance(hoursMs);
  await world.round();
  await handle(delivery(), delivery({ advertId: '2' }));
  world.clock.advance(-hoursMs);
  fail('not-found');
  const listed = delivery();
  await handle(listed);
  world.clock.advance(16 * minuteMs);

  expect(await kinds(listed)).toEqual(['hold']);
});

it('an advert is believed gone when another one is answered well', async () => {
  world.service.know('2', 'active');
  await handle(delivery({ advertId: '2' }));
  const listed = delivery();
  world.service.remove('1');
  world.clock.advance(minuteMs);
  await handle(listed);
  world.clock.advance(30_000);

  // A process that has seen no other advert knows one from the account's row.
  expect(await handleWith({}, listed)).toEqual([done('unavailable')]);
  expect(world.service.fetched.slice(-2)).toEqual(['1', '2']);
});

it('a witness that fails is not asked for again by the next advert', async () => {
  world.service.know('2', 'active');
  await handle(delivery({ advertId: '2' }));
  fail('invalid-request', { status: 400 });
  for (const advertId of ['1', '3', '1', '3']) await handle(delivery({ advertId }));

  expect(world.service.fetched).toEqual(['2', '1', '3', '1', '2', '3']);
});

it('an advert is no witness against itself', async () => {
  const fanOut = fanOutWith(confirming());
  const look = async () => (await fanOut.handle([delivery()], world.options()))[0]?.verdict.kind;
  await look();
  for (const isWell of [false, true, false]) {
    fail('invalid-request', { status: 400 });
    if (isWell) world.service.state.beforeAdvert = () => undefined;
    world.clock.advance(1);

    expect(await look()).toBe('retry');
  }
});

it('a lone advert is believed gone after 15 minutes of reading its feed', async () => {
  const listed = delivery();
  world.service.remove('1');
  await handle(listed);
  world.clock.advance(14 * minuteMs);
  await world.round();
  expect(await kinds(listed)).toEqual(['hold']);
  world.clock.advance(minuteMs);

  expect((await handle(listed)).map(secondsOf)).toEqual([3_600]);
  expect(summary()).toEqual([[1, null, null]]);
});

it.each([
  ['is still gone', () => undefined, 'unavailable', 1],
  ['is there', () => world.service.know('1', 'active'), 'events', 2],
])('a lone advert believed gone is looked at an hour later: it %s', async (_what, turn, outcome, events) => {
  const listed = delivery();
  world.service.remove('1');
  await handle(listed);
  world.clock.advance(15 * minuteMs);
  await world.round();
  await handle(listed);
  world.clock.advance(60 * minuteMs);
  turn();

  expect(await handle(listed)).toEqual([done(outcome)]);
  expect(summary()).toHaveLength(events);
});

it('a lone advert is not believed gone while its feed cannot be read', async () => {
  await world.round();
  const listed = delivery();
  world.service.remove('1');
  await handle(listed);
  world.clock.advance(60 * minuteMs);
  expect(await kinds(listed)).toEqual(['hold']);
  expect(summary()).toEqual([]);
});

it('an advert causes no event when the second fetch finds it', async () => {
  await handle(delivery());
  world.service.remove('1');
  await handle(delivery());
  expect(await row()).toMatchObject({ missingSince: world.clock.now() });
  world.service.know('1', 'active');

  expect(await handle(delivery())).toEqual([done('unchanged')]);
  expect((await row())?.missingSince).toBeUndefined();
});

it('a batch is grouped by generation and advert, oldest first', () => {
  const of = (id: string, position: string, change: Partial<ChangedAdvert> = {}) =>
    delivery(change, { id, position });
  const groups = byAdvert([
    of('a', '3'),
    of('c', '1'),
    of('d', '1', { advertId: '2' }),
    of('e', '2'),
    of('g', '1', { partnerAccount: 'other' }),
    of('h', '1', { generation: 1 }),
  ]);

  expect(groups.map((group) => group.map(({ id }) => id).join(''))).toEqual(['cea', 'd', 'g', 'h']);
});

it('a batch is one log line that leads from its pages to the outcomes', async () => {
  for (const id of ['1', '2', '3']) {
    world.service.know(id, 'active');
    await handle(delivery({ advertId: id }));
  }
  world.observer.lines.length = 0;
  const of = (correlationId: string, advertId: string, receives = 1) =>
    delivery({ correlationId, advertId }, { receives });

  await handle(of('page-1', '1'), of('page-1', '1'), of('page-1', '2', 3), of('page-2', '3'), alien());
  await handle();
  await Promise.all(world.fanOut.handleEach([delivery()], world.options()));

  const first = { adverts: { unchanged: ['1', '2'], coalesced: ['1'] }, redelivered: { 2: 3 } };
  const pages = [
    { partnerAccount: 'main', correlationId: 'page-1', ...first },
    { partnerAccount: 'main', correlationId: 'page-2', adverts: { unchanged: ['3'] } },
    { adverts: { 'dead-letter': [undefined] } },
  ];
  expect(world.observer.lines).toEqual([{ level: 'info', message: 'batch handled', fields: { pages } }]);
  const { counted } = world.observer;
  const { events, unchanged, coalesced, deadLettered, redelivered } = metrics;
  expect([events, unchanged, coalesced, deadLettered, redelivered].map(counted)).toEqual([3, 4, 1, 1, 1]);
});

it('a batch’s log line has each page by itself, with what came again', () => {
  const of = (message: Partial<ChangedAdvert>, receives: number, verdict: Verdict) => ({
    ...{ delivery: delivery({ correlationId: 'page-1', ...message }, { receives }), verdict },
  });
  const settled = { kind: 'done', outcome: 'events' } as const;
  const settlements: Settlement[] = [
    of({}, 1, settled),
    of({ advertId: '2' }, 2, { kind: 'retry', delayMs: 0 }),
    of({ advertId: '3' }, 3, { kind: 'hold' }),
    of({ partnerAccount: 'other' }, 1, { kind: 'forgotten' }),
    { delivery: alien({ receives: 4 }), verdict: { kind: 'retry', delayMs: 0 } },
  ];

  expect(settlementsByPage(settlements)).toEqual([
    {
      ...{ partnerAccount: 'main', correlationId: 'page-1', redelivered: { 2: 2, 3: 3 } },
      adverts: { events: ['1'], retry: ['2'], hold: ['3'] },
    },
    { partnerAccount: 'other', correlationId: 'page-1', adverts: { forgotten: ['1'] } },
    { adverts: { retry: [undefined] }, redelivered: { '': 4 } },
  ]);
});

it('a batch’s log line has the answers of the service meanwhile', async () => {
  const take = () => ({ 200: 3 });
  await handleWith({ answers: { take } as unknown as FanOutDeps['answers'] & object }, delivery());
  expect(world.observer.lines).toMatchObject([{ fields: { answers: { 200: 3 } } }]);
});

it('a message that breaks the contract is dead-lettered with what is known', async () => {
  const malformed = { fault: 'malformed-message', at: '2026-11-20T12:00:00.000Z', message: null };
  const unknown = { ...malformed, partnerAccount: null, advertId: null };
  const about = { partnerAccount: 'main', advertId: '7' };
  const reason = 'the message is not of the contract';

  expect(await handle(alien({ flaw: 'no JSON', receives: 3 }), alien({ about }), alien())).toEqual([
    { kind: 'dead-letter', deadLetter: { ...unknown, reason: 'no JSON', receives: 3 } },
    { kind: 'dead-letter', deadLetter: { ...malformed, ...about, reason, receives: 1 } },
    { kind: 'dead-letter', deadLetter: { ...unknown, reason, receives: 1 } },
  ]);
});

it.each<[string, Partial<Delivery>, string[]]>([
  ['a newer bridge', { isNewer: true }, ['retry', 'done', 'done', 'retry']],
  ['nobody', {}, ['done', 'done', 'done', 'dead-letter']],
])('a message that %s can read keeps those of its advert back', async (_who, own, expected) => {
  world.service.know('2', 'active');
  const other = { ...(await world.account()), name: 'other' };
  const read = async (name: string) => (name === 'other' ? other : world.account(name)) as PartnerAccount;
  const partnerAccounts = { ...world.fanOutDeps.partnerAccounts, read, recent: read };
  const about = { partnerAccount: 'main', advertId: '1' };
  const unread = alien({ flaw: 'form: expected at most 1', about, ...own });
  const others = [delivery({ advertId: '2' }), delivery({ partnerAccount: 'other' })];

  const verdicts = await handleWith({ partnerAccounts }, delivery(), ...others, unread);

  expect(verdicts.map(({ kind }) => kind)).toEqual(expected);
  const { isNewer } = own;
  if (isNewer) expect([verdicts[0], verdicts[3]]).toEqual([retry(0), retry(900_000)]);
  expect(world.observer.counted(metrics.needsAttention)).toBe(isNewer ? 1 : 0);
  const fields = { reason: 'form: expected at most 1' };
  const warnings = world.observer.lines.filter(({ level }) => level === 'warn');
  expect(warnings).toMatchObject(isNewer ? [{ fields }] : []);
});

it('a message that came over 300 times is given up before any other work', async () => {
  await world.partnerAccounts.remove('main');
  const [verdict] = await handle(delivery({}, { receives: 301 }));
  expect(verdict).toMatchObject({ deadLetter: { reason: expect.stringContaining('301 times') } });
});

it('a batch handles only risky messages when one came over 300 times', async () => {
  world.service.know('77', 'active');
  const neighbour = () => delivery({ advertId: '77' });
  expect(await kinds(delivery({}, { receives: 300 }), neighbour())).toEqual(['done', 'done']);

  const spent = () => delivery({}, { receives: 301 });
  const verdicts = await handle(spent(), spent(), neighbour(), alien());

  const deadLetter = { partnerAccount: 'main', advertId: '1', fault: 'delivered-too-often', receives: 301 };
  expect(verdicts).toMatchObject([
    { kind: 'dead-letter', deadLetter },
    { kind: 'retry', delayMs: 0 },
    { kind: 'retry', delayMs: 0 },
    { kind: 'dead-letter' },
  ]);
});

it('a message is not given up when its advert’s row cannot be written', async () => {
  const write = () => Promise.reject(new Error('throttled'));
  const advertHistories = { ...world.state.advertHistories, write };

  expect(await handleWith({ advertHistories }, delivery({}, { receives: 301 }))).toMatchObject([
    { kind: 'retry' },
  ]);
});

const startMs = Date.parse('2026-11-20T12:00:00Z');
const operatorHold = (forMs: number): Hold => ({ kind: 'operator', since: 0, until: startMs + forMs });

it.each<[string, Partial<PartnerAccount> | undefined, object]>([
  ['connected', {}, done('events')],
  ['on hold for a minute', { holds: [tokenHold(Date.parse('2026-11-20T12:01:00Z'))] }, done('events')],
  ['on hold for longer', { holds: [tokenHold(Date.parse('2026-11-20T12:01:00.001Z'))] }, { kind: 'hold' }],
  ['stopped', stopped('revoked'), { kind: 'hold' }],
  ['paused by a person for a second', { holds: [operatorHold(1_000)] }, { kind: 'hold' }],
  ['not paused any more', { holds: [operatorHold(0)] }, done('events')],
  ['of an older generation', { generation: 1 }, { kind: 'retry', delayMs: 5_000 }],
  ['forgotten in an older one', { generation: 1, forgetting: true }, { kind: 'retry', delayMs: 5_000 }],
  ['of a newer generation', { generation: 2_000_000_000 }, { kind: 'forgotten' }],
  ['being forgotten', { forgetting: true }, { kind: 'forgotten' }],
  ['unknown', undefined, { kind: 'forgotten' }],
])('messages of an account that is %s follow the account', async (_what, change, verdict) => {
  if (change) await write(change);
  else await world.partnerAccounts.remove('main');

  expect(await handle(delivery())).toEqual([verdict]);
  expect(world.service.fetched).toHaveLength('outcome' in verdict ? 1 : 0);
  if ('kind' in verdict && verdict.kind === 'forgotten') expect(await row()).toBeUndefined();
});

it.each<[string, Partial<PartnerAccount> | undefined, string]>([
  ['connected', {}, 'retry'],
  ['stopped', stopped('revoked'), 'hold'],
  ['stopped in another generation', { generation: 1, ...stopped('x') }, 'retry'],
  ['being forgotten', { forgetting: true }, 'forgotten'],
  ['unknown', undefined, 'forgotten'],
])('messages of an account that is %s by then follow it after a fault', async (_what, change, kind) => {
  const readAdvert = async () => {
    if (change) await write(change);
    else await world.partnerAccounts.remove('main');
    throw new BridgeFault('account-stopped', 'stopped');
  };

  expect(await handleWith({ adverts: { readAdvert } }, delivery())).toMatchObject([{ kind }]);
});

const pauseOf = (forMs: number, kind: Hold['kind'] = 'service'): Hold => ({
  ...{ kind, since: 0, until: startMs + forMs, forMs },
});
/** Of an account whose adverts go one at a time. */
const alike: Hold = { ...pauseOf(0), fault: 'transient' };

it.each<[FaultKind, object, Hold[], Hold[], object]>([
  ['paused', {}, [], [pauseOf(60_001)], hold],
  ['paused', { retryAfterMs: 1_000 }, [], [pauseOf(60_000)], retry(60_000)],
  ['contract-broken', {}, [], [pauseOf(60_001)], hold],
  ['contract-broken', {}, [], [pauseOf(30_000)], retry(30_000)],
  ['contract-broken', {}, [], [pauseOf(1)], retry(1)],
  ['contract-broken', {}, [], [pauseOf(0)], retry(750)],
  ['contract-broken', {}, [pauseOf(60_001)], [], hold],
  ['contract-broken', {}, [pauseOf(60_001)], [pauseOf(10_000)], hold],
  ['contract-broken', {}, [pauseOf(10_000)], [pauseOf(60_001)], hold],
  ['contract-broken', {}, [], [pauseOf(1_000, 'operator')], hold],
  ['operator-paused', { retryAfterMs: 2_000 }, [], [], hold],
  ['account-paused', { retryAfterMs: 30_000 }, [], [], retry(3_750)],
  ['account-paused', {}, [pauseOf(30_000)], [], retry(30_000)],
  ['account-paused', {}, [alike], [], retry(3_750)],
  ['transient', { status: 500 }, [alike], [], { ...hold, failedAt: startMs }],
  ['transient', { status: 500 }, [], [], retry(750)],
  ['transient', {}, [alike], [], retry(750)],
  ['transient', { status: 500 }, [pauseOf(0)], [], retry(750)],
])('a message follows the holds that are stored after %s, %j: %j, %j', async (...given) => {
  const [code, details, ofAccount, ofBridge, verdict] = given;
  world.service.state.beforeAdvert = () => {
    throw new BridgeFault(code, `told to be ${code}`, details);
  };
  // The row that was read before the request had no hold.
  const [account, { read }] = [await world.account(), world.fanOutDeps.partnerAccounts];
  let reads = 0;
  const partnerAccounts = {
    ...world.fanOutDeps.partnerAccounts,
    read: async (name: string) => (reads++ === 0 ? account : read(name)),
  };
  await write({ holds: ofAccount });
  await world.state.budgetStore.change((state) => ({ ...state, holds: ofBridge }));

  expect(await handleWith({ partnerAccounts }, delivery())).toEqual([verdict]);
  expect(reads).toBe(code === 'operator-paused' ? 1 : 2);
});

it.each([
  [1, retry(3_750)],
  [2, retry(7_500)],
  [3, retry(7_500)],
  [4, retry(7_500)],
  [5, hold],
])('a turn that is refused for the %i. time waits ever longer, then aside', async (receives, verdict) => {
  fail('account-paused', { retryAfterMs: 1 });
  expect(await handle(delivery({}, { receives }))).toEqual([verdict]);
});

it.each([
  [0, retry(2_500)],
  [1, retry(5_000)],
])('half of the wait of a turn that is refused is by chance: %i', async (chance, verdict) => {
  fail('account-paused');
  expect(await handleWith({ random: () => chance }, delivery())).toEqual([verdict]);
});

it('messages stay queued when the pause of the bridge cannot be read', async () => {
  fail('paused', { retryAfterMs: 2 * minuteMs });
  const budgetStore = { read: () => Promise.reject(new Error('throttled')) };

  expect(await handleWith({ budgetStore }, delivery())).toEqual([{ kind: 'retry', delayMs: minuteMs }]);
});
