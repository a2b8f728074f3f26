import { beforeEach, expect, it } from 'vitest';
import { byAdvert } from '../../../../functions/fan-out/batch.ts';
import { createFanOut, type FanOutDeps } from '../../../../functions/fan-out/fan-out.ts';
import { deadLetterOf } from '../../../../functions/fan-out/redelivery.ts';
import { checked } from '../../../../shared/contract/checks.ts';
import { envelope } from '../../../../shared/contract/events.ts';
import type { ChangedAdvert } from '../../../../shared/contract/messages.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { rowMaxAgeMs } from '../../../../shared/partner-api/cached-rows.ts';
import { deliveryPosition } from '../../../../shared/ports/message-groups.ts';
import type { Delivery, Verdict } from '../../../../shared/ports/queue.ts';
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
const summary = () =>
  world
    .advertEvents()
    .map(({ detail: { metadata, data } }) => [metadata.sequence, data.previousStatus, data.status]);
const done = (outcome: string) => ({ kind: 'done', outcome });
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

it.each([
  ['in time', 300_000, 'feed', 0],
  ['late', 300_001, 'feed', 1],
  ['late, but listed by a backfill', 300_001, 'backfill', 0],
] as const)('an event is counted as late when it is published %s', async (_how, laterMs, cause, late) => {
  const listed = delivery({ cause });
  world.clock.advance(laterMs);

  expect(await handle(listed)).toEqual([done('events')]);
  expect(world.observer.counted(metrics.lateEvents)).toBe(late);
});

it.each([
  ['an audit finds it', ['audit'], 1],
  ['a change is on its way', ['audit', 'feed'], 0],
  ['the feed lists it', ['feed'], 0],
] as const)('a difference is reported when %s', async (_how, causes, differences) => {
  await handle(delivery());
  world.service.know('1', 'limited');

  await handle(...causes.map((cause) => delivery({ cause })));

  expect(world.observer.counted(metrics.auditDifferences)).toBe(differences);
  const warnings = world.observer.lines.filter(({ level }) => level === 'warn');
  const fields = { partnerAccount: 'main', advertId: '1', published: 'active', actual: 'limited' };
  expect(warnings.map((line) => line.fields)).toEqual(differences > 0 ? [fields] : []);
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

it('an unchanged advert is fetched again 10 s after the feed listed it', async () => {
  await handle(delivery());
  const listed = delivery();
  world.clock.advance(4_000);
  expect(await handleWith(confirming(), listed)).toEqual([{ kind: 'retry', delayMs: 6_000 }]);
  world.clock.advance(6_000);
  expect(await handleWith(confirming(), listed)).toEqual([done('unchanged')]);
});

it('a change is published when a replica behind the feed shows it', async () => {
  await handle(delivery());
  const listed = delivery();
  await handleWith(confirming(), listed);
  world.service.know('1', 'sold');
  world.clock.advance(10_000);
  expect(await handleWith(confirming(), listed)).toEqual([done('events')]);
});

it('an advert is fetched again although an older message has its event', async () => {
  const settled = delivery({ correlationId: 'page-1' });
  await handle(settled);
  const listed = delivery({ correlationId: 'page-2' });
  const again = { kind: 'retry', delayMs: 10_000 };
  expect(await handleWith(confirming(), settled, listed)).toEqual([again, again]);
  expect(await handleWith(confirming(), settled)).toEqual([done('events')]);
});

it.each(['backfill', 'resync', 'audit'] as const)(
  'an advert is unchanged at once when a %s lists it',
  async (cause) => {
    await handle(delivery());
    expect(await handleWith(confirming(), delivery({ cause }))).toEqual([done('unchanged')]);
  },
);

it('an advert is unchanged at once when a clock was 5 h ahead', async () => {
  await handle(delivery());
  const listed = delivery();
  world.clock.advance(-5 * 3_600_000);
  expect(await handleWith(confirming(), listed)).toEqual([done('unchanged')]);
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

it('an unknown advert is fetched again after 30 s although a clock was off', async () => {
  world.service.know('2', 'active');
  await handle(delivery({ advertId: '2' }));
  world.service.remove('1');
  const listed = delivery();
  await handle(listed);
  world.clock.advance(-5 * 3_600_000);
  expect(await handle(listed)).toEqual([{ kind: 'retry', delayMs: 30_000 }]);
  world.clock.advance(30_000);
  expect(await handle(listed)).toEqual([done('unavailable')]);
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
  const aside = [120, 240, 300].map((seconds) => ['hold', seconds]);
  expect(waits).toEqual([['retry', 30], ['retry', 30], ['retry', 60], ...aside]);
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

it('the reason of a dead letter is stored without the ID of its advert', () => {
  const given = { fault: 'x', reason: 'GET /adverts/7 answered 400: 7 is older than 77' };

  expect(deadLetterOf(delivery({ advertId: '7' }), given, 0)).toMatchObject({
    ...{ advertId: '7', reason: 'GET /adverts/ADVERT answered 400: ADVERT is older than 77' },
  });
});

it('a newer bridge’s message stays queued, with those of its advert', async () => {
  world.service.know('2', 'active');
  const about = { partnerAccount: 'main', advertId: '1' };
  const newer = alien({ flaw: 'form: expected at most 1', isNewer: true, about });

  expect(await kinds(delivery(), delivery({ advertId: '2' }), newer)).toEqual(['retry', 'done', 'retry']);
  expect(world.service.fetched).toEqual(['2']);
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

const write = (change: Partial<PartnerAccount>) =>
  world.partnerAccounts.change('main', (account) => ({ ...account, ...change }));

it.each<[string, Partial<PartnerAccount> | undefined, object]>([
  ['connected', {}, done('events')],
  ['on hold for a minute', { holds: [tokenHold(Date.parse('2026-11-20T12:01:00Z'))] }, done('events')],
  ['on hold for longer', { holds: [tokenHold(Date.parse('2026-11-20T12:01:00.001Z'))] }, { kind: 'hold' }],
  ['stopped', stopped('revoked'), { kind: 'hold' }],
  ['of an older generation', { generation: 1 }, { kind: 'retry', delayMs: 5_000 }],
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

it.each<[FaultKind, number | undefined, number, object]>([
  ['paused', 60_001, 60_001, { kind: 'hold' }],
  ['paused', 1_000, 60_000, { kind: 'retry', delayMs: 60_000 }],
  ['contract-broken', undefined, 60_001, { kind: 'hold' }],
  ['operator-paused', 2_000, 0, { kind: 'hold' }],
])('a fault decides about its message while the bridge pauses: %s, %s, %i', async (...given) => {
  const [code, retryAfterMs, pausedMs, verdict] = given;
  fail(code, retryAfterMs === undefined ? {} : { retryAfterMs });
  const { budgetStore } = world.state;
  const hold = { kind: 'service', since: 0, until: world.clock.now() + pausedMs } as const;
  await budgetStore.change((state) => ({ ...state, holds: [hold] }));

  expect(await handle(delivery())).toEqual([verdict]);
});

it('messages stay queued when the pause of the bridge cannot be read', async () => {
  fail('paused', { retryAfterMs: 2 * minuteMs });
  const budgetStore = { read: () => Promise.reject(new Error('throttled')) };

  expect(await handleWith({ budgetStore }, delivery())).toEqual([{ kind: 'retry', delayMs: minuteMs }]);
});
