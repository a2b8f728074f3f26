import { beforeEach, describe, expect, it } from 'vitest';
import { byAdvert } from '../../../../functions/fan-out/batch.ts';
import { createFanOut, type FanOutDeps } from '../../../../functions/fan-out/fan-out.ts';
import { delayAfter, minDelayMs } from '../../../../functions/fan-out/redelivery.ts';
import type { ChangedAdvert } from '../../../../shared/contract/messages.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { advertEvent } from '../../../../shared/domain/advert-event.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { positionOf } from '../../../../shared/domain/queue/message-groups.ts';
import { CachedAccounts } from '../../../../shared/partner-api/cached-rows.ts';
import type { Delivery } from '../../../../shared/ports/queue.ts';
import type { AdvertRow } from '../../../../shared/state/advert-histories.ts';
import type { PartnerAccounts } from '../../../../shared/state/partner-accounts.ts';
import { createInMemoryEvents } from '../../../fakes/event-publisher.ts';
import { stopped, tokenHold } from '../../../helpers/holds.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { changedAdvert, partnerAccount } from '../../../helpers/records.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const { generation } = partnerAccount();

/** Fan-out with one row and one account that tests can set, and an advert whose answers tests can set. */
function setUp(change: Partial<FanOutDeps> = {}) {
  const clock = createManualClock();
  const observer = createRecordingObserver();
  const events = createInMemoryEvents();
  const state = {
    row: undefined as AdvertRow | undefined,
    /** Writes that conflict before one is accepted. */
    conflicts: 0,
    writes: 0,
    reads: 0,
    account: partnerAccount() as PartnerAccount | undefined,
    looks: 0,
    deadlines: [] as number[],
    bridgePausedUntil: 0,
    answer: (): string => 'active',
  };
  const accounts: PartnerAccounts = {
    async read() {
      state.looks += 1;
      return state.account;
    },
    list: async () => [],
    add: async () => false,
    change: async () => undefined,
    remove: async () => undefined,
  };
  const deps: FanOutDeps = {
    accounts: new CachedAccounts(accounts, clock),
    histories: {
      async read() {
        state.reads += 1;
        return state.row;
      },
      async write(_key, row) {
        state.writes += 1;
        if (state.conflicts > 0) {
          state.conflicts -= 1;
          return undefined;
        }
        state.row = { ...row, etag: `write ${state.writes}` };
        return state.row;
      },
      remove: async () => undefined,
      page: async () => ({ advertIds: [], envelopes: [] }),
    },
    adverts: {
      async readAdvert(_name, _id, { deadlineMs }) {
        state.deadlines.push(deadlineMs - clock.now());
        return { status: state.answer(), receivedAt: clock.now() };
      },
    },
    events,
    bridgePausedUntil: async () => state.bridgePausedUntil,
    observer,
    clock,
    random: () => 0.5,
    settings: {
      bridge: 'AdvertBridge',
      advertTries: 5,
      maxAgeMs: dayMs,
      confirmUnavailableSeconds: 30,
      fetchMs: 10_000,
    },
    ...change,
  };
  const fanOut = createFanOut(deps);
  let sent = 0;
  const delivery = (own: Partial<Delivery> = {}): Delivery => {
    sent += 1;
    const { receives = 1 } = own;
    return {
      id: `delivery-${sent}`,
      message: changedAdvert(),
      position: positionOf(String(sent), receives),
      receives,
      sentAt: clock.now(),
      ...own,
    };
  };
  const handle = async (...deliveries: readonly Delivery[]) =>
    (await fanOut.handle(deliveries, { deadlineMs: clock.now() + minuteMs })).map(({ verdict }) => verdict);
  const fail = (code: FaultKind, details: ConstructorParameters<typeof BridgeFault>[2] = {}) => {
    state.answer = () => {
      throw new BridgeFault(code, `told to be ${code}`, details);
    };
  };
  return { clock, observer, events, state, accounts, deps, fanOut, delivery, handle, fail };
}
let world: ReturnType<typeof setUp>;
beforeEach(() => {
  world = setUp();
});

describe('what of a batch belongs together', () => {
  it('are deliveries of one advert of one generation, oldest first, and each that is no message by itself', () => {
    const of = (id: string, position: string, change: Parameters<typeof changedAdvert>[0]): Delivery => ({
      ...{ id, position, receives: 1, sentAt: 0 },
      message: changedAdvert(change),
    });
    const alien = (id: string): Delivery => ({ id, position: '1', receives: 1, sentAt: 0 });
    const groups = byAdvert([
      of('a', '3', { advertId: '1' }),
      alien('b'),
      of('c', '1', { advertId: '1' }),
      of('d', '1', { advertId: '2' }),
      of('e', '2', { advertId: '1' }),
      alien('f'),
      of('g', '1', { advertId: '1', partnerAccount: 'other' }),
      of('h', '1', { advertId: '1', generation: 1 }),
    ]);

    expect(groups.map((group) => group.map(({ id }) => id).join(''))).toEqual([
      ...['cea', 'b', 'd', 'f', 'g', 'h'],
    ]);
  });
});

describe('the delay after a fault', () => {
  const delayOf = (code: FaultKind, attempt: number, random: number, retryAfterMs?: number) =>
    delayAfter(
      new BridgeFault(code, code, retryAfterMs === undefined ? {} : { retryAfterMs }),
      { tries: attempt, receives: attempt },
      { longestHiddenMs: minuteMs, random: () => random },
    );

  it('grows to a quarter of a minute for a fault of the advert, to five minutes for a transient one', () => {
    const attempts = [1, 2, 3, 4, 5, 9, 10, 30];
    expect(attempts.map((attempt) => delayOf('contract-broken', attempt, 1))).toEqual([
      ...[2_000, 4_000, 8_000, 16_000, 16_000, 16_000, 16_000, 16_000],
    ]);
    expect(attempts.map((attempt) => delayOf('transient', attempt, 1))).toEqual([
      ...[1_000, 2_000, 4_000, 8_000, 16_000, 256_000, 300_000, 300_000],
    ]);
  });

  it('is at least half of that, and what the service asked for up to a minute', () => {
    expect(delayOf('transient', 3, 0)).toBe(2_000);
    expect(delayOf('transient', 3, 0.5)).toBe(3_000);
    expect(delayOf('rate-limited', 1, 0, 7_000)).toBe(7_000);
    expect(delayOf('rate-limited', 4, 0, 1_000)).toBe(4_000);
    expect(delayOf('rate-limited', 1, 0, 3_600_000)).toBe(minuteMs);
  });
});

describe('the shortest delay of a message', () => {
  it('is none for forty receives, and grows to a quarter of an hour after them', () => {
    expect([1, 40, 41, 42, 43, 51, 60].map((receives) => minDelayMs(receives, () => 1))).toEqual([
      ...[0, 0, 1_000, 2_000, 4_000, 900_000, 900_000],
    ]);
    expect(minDelayMs(41, () => 0)).toBe(850);
    expect(minDelayMs(41, () => 0.5)).toBe(925);
  });

  it('holds for each of those that go back together', async () => {
    world.fail('rate-limited', { retryAfterMs: 3_000 });

    expect(await world.handle(world.delivery(), world.delivery({ receives: 44 }))).toEqual([
      { kind: 'retry', delayMs: 3_000 },
      { kind: 'retry', delayMs: 7_400 },
    ]);
  });
});

describe('a message of a fault', () => {
  it('is dead-lettered by age on the day, and not a millisecond earlier', async () => {
    world.fail('transient');
    const old = world.delivery({ sentAt: world.clock.now() - dayMs + 1 });
    expect((await world.handle(old))[0]?.kind).toBe('retry');
    expect(world.observer.lines.at(-1)).toMatchObject({
      level: 'info',
      fields: { pages: [{ adverts: { retry: ['123'] } }] },
    });
    world.clock.advance(1);
    expect((await world.handle(old))[0]?.kind).toBe('dead-letter');
  });

  it('says in the log what went wrong with which advert, and calls for a person where one is needed', async () => {
    const cause = new Error('the reason of the reason');
    const { correlationId } = changedAdvert();
    const message = changedAdvert({ correlationId });
    world.fail('transient', { cause });
    await world.handle(world.delivery({ message }));
    const fields = { partnerAccount: 'main', advertId: '123', correlationId, error: cause };
    expect(world.observer.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { fields: { ...fields, fault: 'transient', reason: 'told to be transient' } },
    ]);
    expect(world.observer.counted(metrics.needsAttention)).toBe(0);

    world.fail('invalid-request', { cause });
    await world.handle(world.delivery({ message }));
    expect(world.observer.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { ...fields, fault: 'invalid-request', reason: 'told to be invalid-request' } },
    ]);

    world.fail('wrong-path');
    await world.handle(world.delivery({ message }));
    expect(world.observer.counted(metrics.needsAttention)).toBe(1);
  });

  it('counts its tries in the row, after its pending event was published', async () => {
    const row: AdvertRow = {
      ...{
        sequence: 3,
        status: 'new',
        envelope: '{"id":3}',
        by: 'somebody',
        pending: true,
        etag: 'before',
      },
    };
    world.state.row = row;
    world.fail('contract-broken');
    const delivery = world.delivery({ receives: 2 });

    await world.handle(delivery);
    expect(world.state.row).toEqual({ ...row, pending: false, tries: 1, etag: 'write 2' });
    await world.handle(delivery);
    expect(world.state.row).toMatchObject({ tries: 2, etag: 'write 3' });
    world.state.answer = () => 'new';
    await world.handle(delivery);
    // A successful answer: the tries are counted from zero again.
    const by = delivery.message?.key ?? '';
    expect(world.state.row).toEqual({ ...row, by, pending: false, etag: 'write 4' });
  });

  it('asks for a while of patience when its row is contended beyond reason', async () => {
    world.state.row = { sequence: 1, status: 'new', pending: false, etag: 'before' };
    world.state.conflicts = Number.POSITIVE_INFINITY;

    expect(await world.handle(world.delivery())).toEqual([{ kind: 'retry', delayMs: 1_000 }]);
    expect(world.state.writes).toBe(20);
    expect(world.state.deadlines).toHaveLength(20);
  });

  it('is not begun when the time of its batch is over', async () => {
    const settlements = await world.fanOut.handle([world.delivery()], { deadlineMs: world.clock.now() });

    expect(settlements).toMatchObject([{ verdict: { kind: 'retry', delayMs: 1_000 } }]);
    expect(world.state.deadlines).toEqual([]);
  });

  it('has the time of one fetch, and no more than its batch', async () => {
    await world.handle(world.delivery());
    await world.fanOut.handle([world.delivery()], { deadlineMs: world.clock.now() + 3_000 });

    expect(world.state.deadlines).toEqual([10_000, 3_000]);
  });
});

describe('a row', () => {
  it('is not written again while an advert that is gone waits to be confirmed', async () => {
    world.fail('not-found');
    await world.handle(world.delivery());
    world.clock.advance(10_000);

    expect(await world.handle(world.delivery())).toEqual([{ kind: 'retry', delayMs: 20_000 }]);
    expect(world.state.writes).toBe(1);
  });

  it('keeps its event pending when the bus refuses it until the message is dead-lettered', async () => {
    world.events.refuse();

    const [verdict] = await world.handle(world.delivery({ sentAt: world.clock.now() - dayMs }));

    expect(verdict?.kind).toBe('dead-letter');
    expect(world.state.row).toMatchObject({ sequence: 1, status: 'active', pending: true });
  });
});

describe('a message that is not of the contract', () => {
  it('is dead-lettered with what it was about, as far as that can be told', async () => {
    const verdicts = await world.handle(
      world.delivery({ message: undefined, flaw: 'no JSON', receives: 3 } as never),
      world.delivery({ message: undefined, about: { partnerAccount: 'main', advertId: '7' } } as never),
      world.delivery({ message: undefined, about: {} } as never),
    );

    const letter = {
      ...{ partnerAccount: null, advertId: null, fault: 'malformed-message', receives: 1, message: null },
      at: '2026-11-20T12:00:00.000Z',
    };
    const reason = 'the message is not of the contract';
    expect(verdicts).toEqual([
      { kind: 'dead-letter', letter: { ...letter, reason: 'no JSON', receives: 3 } },
      { kind: 'dead-letter', letter: { ...letter, reason, partnerAccount: 'main', advertId: '7' } },
      { kind: 'dead-letter', letter: { ...letter, reason } },
    ]);
    expect(world.observer.counted(metrics.deadLettered)).toBe(3);
  });
});

describe('a message that was delivered too often', () => {
  it('is given up after 300 times, and not before', async () => {
    expect((await world.handle(world.delivery({ receives: 300 })))[0]?.kind).toBe('done');
    const message = changedAdvert();
    const [verdict] = await world.handle(world.delivery({ receives: 301, message }));

    expect(verdict).toMatchObject({
      kind: 'dead-letter',
      letter: {
        ...{ partnerAccount: 'main', advertId: '123', fault: 'delivered-too-often', receives: 301, message },
        at: '2026-11-20T12:00:00.000Z',
      },
    });
    expect(world.observer.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { partnerAccount: 'main', advertId: '123', fault: 'delivered-too-often' } },
    ]);
  });

  it('has nothing to do with its neighbours at the 300th delivery', async () => {
    const neighbour = world.delivery({ message: changedAdvert({ advertId: '77' }) });

    const verdicts = await world.handle(world.delivery({ receives: 300 }), neighbour);

    expect(verdicts.map(({ kind }) => kind)).toEqual(['done', 'done']);
  });

  it('leaves with what is no message; each neighbour is settled once', async () => {
    const alien = world.delivery({ message: undefined } as never);
    const neighbour = world.delivery({ message: changedAdvert({ advertId: '77' }) });

    const verdicts = await world.handle(world.delivery({ receives: 301 }), alien, neighbour);

    expect(verdicts.map(({ kind }) => kind)).toEqual(['dead-letter', 'dead-letter', 'retry']);
  });

  it('is followed at once by the next of its advert, which was delivered as often', async () => {
    const deliveries = ['a:123', 'b:123', 'c:123'].map((key) =>
      world.delivery({ receives: 301, message: changedAdvert({ key }) }),
    );

    const verdicts = await world.handle(...deliveries);

    const atOnce = { kind: 'retry', delayMs: 0 };
    expect(verdicts).toEqual([expect.objectContaining({ kind: 'dead-letter' }), atOnce, atOnce]);
  });
});

describe('what the log says of a batch', () => {
  it('is each page with its adverts by what became of them, and which were delivered before', async () => {
    world.state.row = { sequence: 1, status: 'active', pending: false, etag: 'before' };
    const of = (correlationId: string, advertId: string, receives = 1) =>
      world.delivery({ receives, message: changedAdvert({ correlationId, advertId }) });
    await world.handle(
      ...[of('page-1', '1'), of('page-1', '1'), of('page-1', '2', 3), of('page-2', '3')],
      world.delivery({ message: undefined } as never),
    );

    const { observer } = world;
    expect(observer.lines).toEqual([
      {
        level: 'info',
        message: 'batch handled',
        fields: {
          pages: [
            {
              ...{ partnerAccount: 'main', correlationId: 'page-1', redelivered: { 2: 3 } },
              adverts: { unchanged: ['1', '2'], coalesced: ['1'] },
            },
            { partnerAccount: 'main', correlationId: 'page-2', adverts: { unchanged: ['3'] } },
            {
              ...{ partnerAccount: undefined, correlationId: undefined },
              adverts: { 'dead-letter': [undefined] },
            },
          ],
        },
      },
    ]);
    expect(observer.counted(metrics.unchanged)).toBe(3);
    expect(observer.counted(metrics.coalesced)).toBe(1);
    expect(observer.counted(metrics.deadLettered)).toBe(1);
    expect(observer.counted(metrics.redelivered)).toBe(1);
  });

  it('names what is no message by nothing, and how often it was received', async () => {
    await world.handle(world.delivery({ message: undefined, receives: 2 } as never));

    expect(world.observer.lines).toMatchObject([
      { fields: { pages: [{ adverts: { 'dead-letter': [undefined] }, redelivered: { '': 2 } }] } },
    ]);
  });

  it('is nothing of an empty one, nor of what is given one by one, whose outcomes are counted', async () => {
    await world.handle();
    await world.fanOut.handleAdvert([world.delivery()], { deadlineMs: world.clock.now() + minuteMs });

    expect(world.observer.lines).toEqual([]);
    expect(world.observer.counted(metrics.events)).toBe(1);
  });
});

describe('a partner account', () => {
  it('is read once for adverts given one by one, until the row is more than five seconds old', async () => {
    // The message is older than the look by more than what the clocks of queue and bridge may differ.
    const old = () => world.delivery({ sentAt: world.clock.now() - minuteMs });
    const { fanOut, state, clock } = world;
    const one = (delivery: Delivery) =>
      fanOut.handleAdvert([delivery], { deadlineMs: clock.now() + minuteMs });
    await one(old());
    clock.advance(5_000);
    await one(old());
    expect(state.looks).toBe(1);
    clock.advance(1);
    await one(old());
    expect(state.looks).toBe(2);
  });

  it('is looked at anew for a message that is hardly older than the last look', async () => {
    const { state, clock, handle, delivery } = world;
    const sentAt = clock.now();
    clock.advance(1_000);
    await handle(delivery({ sentAt }));
    await handle(delivery({ sentAt }));
    expect(state.looks).toBe(2);
    clock.advance(1);
    await handle(delivery({ sentAt }));
    await handle(delivery({ sentAt }));
    // One of the batch is younger: it decides for all.
    await handle(delivery({ sentAt }), delivery({ sentAt: sentAt + 1 }));
    expect(state.looks).toBe(4);
  });

  it('that is of an older generation than its message is waited for, a newer one has no use for it', async () => {
    const { state, handle, delivery } = world;
    state.account = partnerAccount({ generation: generation - 1 });
    expect(await handle(delivery())).toEqual([{ kind: 'retry', delayMs: 5_000 }]);
    expect(state.deadlines).toEqual([]);
    const reason = `the message is of generation ${generation}, its partner account still of ${generation - 1}`;
    expect(world.observer.lines[0]).toMatchObject({ level: 'warn', fields: { reason } });
    state.account = partnerAccount({ generation: generation + 1 });
    expect(await handle(delivery())).toEqual([{ kind: 'forgotten' }]);
    state.account = undefined;
    expect(await handle(delivery())).toEqual([{ kind: 'forgotten' }]);
  });

  it('whose look fails is looked at anew by the next message, and its own comes back', async () => {
    const { state, clock, delivery } = world;
    const old = () => delivery({ sentAt: clock.now() - minuteMs });
    let failures = 1;
    const read = async () => {
      if (failures-- > 0) throw new Error('throttled');
      return state.account;
    };
    const accounts = new CachedAccounts({ ...world.accounts, read }, clock);
    const fanOut = createFanOut({ ...world.deps, accounts });
    const one = async () =>
      (await fanOut.handle([old()], { deadlineMs: clock.now() + minuteMs })).map(
        ({ verdict }) => verdict.kind,
      );

    expect([await one(), await one()]).toEqual([['retry'], ['done']]);
  });

  it('keeps its messages in the queue where it cannot be told whether they are to wait outside', async () => {
    const { state, deps, delivery, fail, clock } = world;
    fail('paused', { retryAfterMs: 2 * minuteMs });
    state.bridgePausedUntil = clock.now() + 2 * minuteMs;
    const bridgePausedUntil = () => Promise.reject(new Error('throttled'));
    const settlements = await createFanOut({ ...deps, bridgePausedUntil }).handle([delivery()], {
      deadlineMs: clock.now() + minuteMs,
    });

    expect(settlements).toMatchObject([{ verdict: { kind: 'retry', delayMs: minuteMs } }]);
  });

  it('that is paused for a minute keeps its messages in the queue, for longer outside', async () => {
    const { state, clock, handle, delivery } = world;
    const holds = (ms: number) => [tokenHold(clock.now() + ms)];
    state.account = partnerAccount({ holds: holds(minuteMs) });
    expect((await handle(delivery()))[0]?.kind).toBe('done');
    state.account = partnerAccount({ holds: holds(minuteMs + 1) });
    expect((await handle(delivery()))[0]?.kind).toBe('hold');
    expect(world.observer.counted(metrics.held)).toBe(1);
  });

  it.each<[string, Partial<PartnerAccount> | undefined, string]>([
    ['goes on', {}, 'retry'],
    ['is stopped', stopped('revoked'), 'hold'],
    ['is stopped in another generation', { generation: 1, ...stopped('x') }, 'retry'],
    ['is forgotten', undefined, 'retry'],
  ])('decides after a fault of its own: it %s', async (_what, change, kind) => {
    const { state, handle, delivery, fail } = world;
    fail('account-stopped');
    const { answer } = state;
    state.answer = () => {
      state.account = change && partnerAccount(change);
      return answer();
    };

    expect((await handle(delivery()))[0]?.kind).toBe(kind);
  });

  it.each<[FaultKind, number | undefined, number, string]>([
    ['paused', 60_001, 60_001, 'hold'],
    ['paused', 60_000, 60_001, 'retry'],
    ['paused', 60_001, 60_000, 'retry'],
    ['paused', undefined, 60_001, 'retry'],
    ['rate-limited', 90_000, 90_000, 'hold'],
  ])(
    'has no say in a %s fault that asks for %s ms while the bridge is paused for %i',
    async (code, retryAfterMs, pausedMs, kind) => {
      const { state, clock, handle, delivery, fail } = world;
      fail(code, retryAfterMs === undefined ? {} : { retryAfterMs });
      state.bridgePausedUntil = clock.now() + pausedMs;

      expect((await handle(delivery()))[0]?.kind).toBe(kind);
    },
  );
});

describe('an advert whose event is pending', () => {
  const envelopeFor = (message: ChangedAdvert) =>
    JSON.stringify(
      advertEvent(message, {
        bridge: 'test',
        status: 'active',
        previousStatus: null,
        sequence: 1,
        observedAt: 0,
      }),
    );
  const envelope = envelopeFor(changedAdvert({ correlationId: 'page-0' }));
  const row: AdvertRow = {
    ...{
      sequence: 1,
      status: 'active',
      envelope,
      by: 'other',
      pending: false,
      etag: 'before',
    },
  };

  it.each<[string, Partial<AdvertRow>, string[], string]>([
    ['is published first, and then not pending', { pending: true }, [envelope], 'write 2'],
    ['is not published again when it is not pending', {}, [], 'write 1'],
  ])('%s', async (_what, change, published, etag) => {
    world.state.row = { ...row, ...change };

    expect(await world.handle(world.delivery())).toEqual([{ kind: 'done', outcome: 'unchanged' }]);
    expect(world.events.accepted).toEqual(published);
    expect(world.state.row).toMatchObject({ pending: false, etag });
  });

  it('is looked at again when its trace cannot be left', async () => {
    world.state.row = row;
    world.state.conflicts = 1;

    expect(await world.handle(world.delivery())).toEqual([{ kind: 'done', outcome: 'unchanged' }]);
    expect(world.state.deadlines).toHaveLength(2);
  });

  it.each<[string, Partial<AdvertRow>]>([
    ['tries', { tries: 2 }],
    ['an absence', { missingSince: 5 }],
  ])('or notes %s that an answer has ended is written without it', async (_what, change) => {
    world.state.row = { ...row, ...change };
    const delivery = world.delivery();
    await world.handle(delivery);

    expect(world.state.row).toEqual({ ...row, by: delivery.message?.key, etag: 'write 1' });
  });

  it('counts an event of its own message that the bus had refused', async () => {
    const message = changedAdvert();
    world.state.row = { ...row, envelope: envelopeFor(message) };
    expect(await world.handle(world.delivery({ message, receives: 2 }))).toEqual([
      { kind: 'done', outcome: 'events' },
    ]);

    world.state.row = { ...row, envelope: envelopeFor(message), status: null };
    world.fail('not-found');
    expect(await world.handle(world.delivery({ message, receives: 3 }))).toEqual([
      { kind: 'done', outcome: 'unavailable' },
    ]);
  });

  it('is looked at again when it cannot be written that an advert is missing', async () => {
    world.state.row = row;
    world.state.conflicts = 1;
    world.fail('not-found');
    const delivery = world.delivery();

    expect(await world.handle(delivery)).toEqual([{ kind: 'retry', delayMs: 30_000 }]);
    expect(world.state.row).toMatchObject({ missingSince: world.clock.now(), etag: 'write 2' });
    expect(world.state.deadlines).toHaveLength(2);
  });
});

describe('messages that are to wait outside the queue', () => {
  beforeEach(() => {
    world.state.account = partnerAccount(stopped('revoked'));
  });

  it('leave it without a write of the row', async () => {
    expect(await world.handle(world.delivery(), world.delivery())).toEqual([
      { kind: 'hold' },
      { kind: 'hold' },
    ]);
    expect(world.state.writes).toBe(0);
  });
});
