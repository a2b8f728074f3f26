import { beforeEach, describe, expect, it } from 'vitest';
import { createFanOut } from '../../../../functions/fan-out/fan-out.ts';
import { checked } from '../../../../shared/contract/checks.ts';
import { envelope } from '../../../../shared/contract/events.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { positionOf } from '../../../../shared/domain/queue/message-groups.ts';
import type { AdvertRow } from '../../../../shared/state/advert-histories.ts';
import { changedAdvert } from '../../../helpers/records.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const minuteMs = 60_000;

describe('fan-out', () => {
  let world: World;
  let generation: number;
  const key = (advertId: string) =>
    ({ partnerAccount: 'main', generation, feed: 'adverts', advertId }) as const;
  const summary = () =>
    world
      .advertEvents()
      .map(({ detail: { metadata, data } }) => [
        data.advertId,
        metadata.sequence,
        data.previousStatus,
        data.status,
      ]);
  const verdicts = async () => (await world.handleBatch()).map(({ verdict }) => verdict);
  const row = async (advertId = '1') => (await world.state.advertHistories.read(key(advertId))) as AdvertRow;
  const fail = (code: BridgeFault['code'], details = {}) => {
    world.service.state.beforeAdvert = () => {
      throw new BridgeFault(code, `told to be ${code}`, details);
    };
  };
  const heal = () => {
    world.service.state.beforeAdvert = () => undefined;
  };

  beforeEach(async () => {
    world = await createWorld();
    generation = (await world.account())?.generation ?? 0;
  });

  async function changed(advertId: string, status: string): Promise<void> {
    world.service.change(advertId, status);
    await world.round();
  }

  it.each([
    ['in time', 300_000, 'feed', 0],
    ['late', 300_001, 'feed', 1],
    ['late, of what a backfill lists', 300_001, 'backfill', 0],
  ] as const)('counts an event that is published %s', async (_how, laterMs, cause, late) => {
    world.service.change('1', 'active');
    const listedAt = new Date(world.clock.now()).toISOString();
    await world.state.queue.send([changedAdvert({ advertId: '1', generation, cause, listedAt })]);
    world.clock.advance(laterMs);

    await world.handleBatch();

    expect(world.advertEvents()).toHaveLength(1);
    expect(world.observer.counted(metrics.lateEvents)).toBe(late);
  });

  it.each([
    ['an audit finds', ['audit'], 1],
    ['a change on its way explains', ['audit', 'feed'], 0],
    ['the feed lists', ['feed'], 0],
  ] as const)('counts and logs a difference that %s', async (_how, causes, differences) => {
    await changed('1', 'active');
    await world.handleBatch();
    world.service.change('1', 'limited');
    const listedAt = new Date(world.clock.now()).toISOString();
    const messages = causes.map((cause) =>
      changedAdvert({ advertId: '1', generation, cause, listedAt, key: `${cause}:1` }),
    );
    await world.state.queue.send(messages);

    await world.handleBatch();

    expect(world.advertEvents()).toHaveLength(2);
    expect(world.observer.counted(metrics.auditDifferences)).toBe(differences);
    const named = { partnerAccount: 'main', advertId: '1', published: 'active', actual: 'limited' };
    const warnings = world.observer.lines.filter(({ level }) => level === 'warn');
    expect(warnings.map(({ fields }) => fields)).toEqual(differences > 0 ? [named] : []);
  });

  it('publishes the status of each advert named, numbered from 1', async () => {
    world.service.change('1', 'new');
    world.service.change('2', 'active');
    await world.round();

    await world.handleBatch();

    expect(summary()).toEqual([
      ['1', 1, null, 'new'],
      ['2', 1, null, 'active'],
    ]);
    expect(await world.books()).toMatchObject({ listed: 2, events: 2, inFlight: 0 });
  });

  it('publishes only the statuses that are to be published, with the fields that are to be copied', async () => {
    const settings = {
      ...world.fanOutDeps.settings,
      publishStatuses: ['sold'],
      eventFields: ['title', 'price.value', 'x'],
    };
    const fanOut = createFanOut({ ...world.fanOutDeps, settings });
    for (const status of ['new', 'active', 'sold', 'active', 'new']) {
      await changed('1', status);
      const batch = await world.state.queue.receive({ maxGroups: 1, maxPerGroup: 10, visibilityMs: 60_000 });
      await world.state.queue.settle(await fanOut.handle(batch, world.options()));
    }

    // The history continues: the next published event has the number and previous status that count all events.
    expect(summary()).toEqual([
      ['1', 3, 'active', 'sold'],
      ['1', 4, 'sold', 'active'],
    ]);
    const [event] = world.advertEvents();
    expect(checked(envelope, event, 'event')).toMatchObject({
      detail: { data: { fields: { title: 'Advert 1', 'price.value': 12 } } },
    });
    expect(await world.books()).toMatchObject({ listed: 5, events: 5, inFlight: 0 });
  });

  it('publishes envelopes of the contract, each with the page it came of', async () => {
    await changed('1', 'active');
    await world.handleBatch();

    const [event] = world.advertEvents();

    expect(checked(envelope, event, 'event')).toMatchObject({
      source: 'advert-bridge',
      'detail-type': 'AdvertStatusChanged',
      time: '2026-11-20T12:00:00Z',
      resources: ['advert-bridge/main/advert/1'],
      detail: {
        metadata: {
          eventId: `main/${generation}/1/1`,
          listedAt: '2026-11-20T12:00:00.000Z',
          cause: 'feed',
          correlationId: 'id1',
        },
      },
    });
  });

  it('logs one line a batch that leads from the page to the events', async () => {
    await changed('1', 'active');
    await world.handleBatch();

    const told = world.observer.lines.filter(({ message }) => /page accepted|batch handled/.test(message));

    expect(told.map(({ fields }) => fields)).toMatchObject([
      { partnerAccount: 'main', correlationId: 'id1', adverts: 1 },
      {
        pages: [{ partnerAccount: 'main', correlationId: 'id1', adverts: { events: ['1'] } }],
      },
    ]);
  });

  it('carries the previous status and the next number', async () => {
    await changed('1', 'new');
    await world.handleBatch();
    await changed('1', 'active');
    await world.handleBatch();

    expect(summary()[1]).toEqual(['1', 2, 'new', 'active']);
  });

  it('publishes nothing when the status is the one it knows', async () => {
    await changed('1', 'active');
    await world.handleBatch();
    await changed('1', 'active');

    expect(await verdicts()).toEqual([{ kind: 'done', outcome: 'unchanged' }]);
    expect(summary()).toHaveLength(1);
  });

  it('fetches once for all messages of an advert in a batch', async () => {
    await changed('1', 'new');
    await changed('1', 'active');
    world.service.fetched.length = 0;

    expect(await verdicts()).toEqual([
      { kind: 'done', outcome: 'events' },
      { kind: 'done', outcome: 'coalesced' },
    ]);
    expect(world.service.fetched).toEqual(['1']);
    expect(await world.books()).toMatchObject({ listed: 2, events: 1, coalesced: 1, inFlight: 0 });
  });

  it('writes the row when nothing has changed, so that a late worker conflicts', async () => {
    await changed('1', 'active');
    await world.handleBatch();
    await changed('1', 'active');
    await world.state.queue.receive({ maxGroups: 1, maxPerGroup: 10, visibilityMs: minuteMs });
    world.clock.advance(minuteMs);
    const before = await row();

    await world.handleBatch();

    const after = await row();
    expect(after.etag).not.toBe(before.etag);
  });

  it('fetches again when somebody else wrote in between', async () => {
    await changed('1', 'active');
    await world.handleBatch();
    await changed('1', 'sold');
    const write = world.state.advertHistories.write;
    let conflicts = 1;
    const fanOutDeps = {
      ...world.fanOutDeps,
      histories: {
        ...world.state.advertHistories,
        write: async (...[which, next]: Parameters<typeof write>) => {
          if (conflicts-- > 0) await write(which, await row());
          return write(which, next);
        },
      },
    };
    world.service.fetched.length = 0;
    const batch = await world.state.queue.receive({ maxGroups: 1, maxPerGroup: 10, visibilityMs: minuteMs });

    await createFanOut(fanOutDeps).handle(batch, world.options());

    expect(world.service.fetched).toEqual(['1', '1']);
    expect(summary().at(-1)).toEqual(['1', 2, 'active', 'sold']);
  });

  it('begins no history anew that was removed in between, while its account is being forgotten', async () => {
    await changed('1', 'active');
    await world.handleBatch();
    await changed('1', 'sold');
    const { advertHistories } = world.state;
    const histories = {
      ...advertHistories,
      write: async (...[key, next]: Parameters<typeof advertHistories.write>) => {
        await advertHistories.remove('main', generation);
        return advertHistories.write(key, next);
      },
    };
    const batch = await world.state.queue.receive({ maxGroups: 1, maxPerGroup: 10, visibilityMs: minuteMs });
    const before = summary();

    const settlements = await createFanOut({ ...world.fanOutDeps, histories }).handle(batch, world.options());

    expect(settlements.map(({ verdict }) => verdict.kind)).toEqual(['retry']);
    expect(summary()).toEqual(before);
  });

  describe('when the service does not know an advert', () => {
    beforeEach(async () => {
      await changed('1', 'active');
      await world.handleBatch();
      world.service.remove('1');
      await world.round();
    });

    it('looks again after confirmUnavailableSeconds before it says so', async () => {
      expect(await verdicts()).toEqual([{ kind: 'retry', delayMs: 30_000 }]);
      world.clock.advance(29_999);
      expect(await verdicts()).toEqual([]);
      world.clock.advance(1);
      expect(await verdicts()).toEqual([{ kind: 'done', outcome: 'unavailable' }]);

      expect(world.advertEvents().at(-1)).toMatchObject({
        'detail-type': 'AdvertUnavailable',
        detail: {
          metadata: { sequence: 2 },
          data: { advertId: '1', status: null, previousStatus: 'active' },
        },
      });
      expect(await world.books()).toMatchObject({ events: 1, unavailable: 1, inFlight: 0 });
    });

    it('does not take a redelivery before that for a confirmation', async () => {
      const [delivery] = await world.state.queue.receive({
        maxGroups: 1,
        maxPerGroup: 1,
        visibilityMs: minuteMs,
      });
      if (!delivery) throw new Error('nothing delivered');
      const again = async (receives: number) => {
        const position = positionOf('1', receives);
        const [settlement] = await world.fanOut.handle(
          [{ ...delivery, receives, position }],
          world.options(),
        );
        return settlement?.verdict;
      };

      expect(await again(1)).toEqual({ kind: 'retry', delayMs: 30_000 });
      world.clock.advance(10_000);
      expect(await again(2)).toEqual({ kind: 'retry', delayMs: 20_000 });
      world.clock.advance(19_999);
      expect(await again(3)).toEqual({ kind: 'retry', delayMs: 1 });
      world.clock.advance(1);
      expect(await again(4)).toEqual({ kind: 'done', outcome: 'unavailable' });
    });

    it('says nothing when the advert is back by then', async () => {
      await world.handleBatch();
      world.service.change('1', 'active');
      world.clock.advance(30_000);

      expect(await verdicts()).toEqual([{ kind: 'done', outcome: 'unchanged' }]);
      expect((await row()).missingSince).toBeUndefined();
    });

    it('says it once, and tells of its return with no previous status', async () => {
      await world.handleBatch();
      world.clock.advance(30_000);
      await world.handleBatch();
      world.service.remove('1');
      await world.round();
      expect(await verdicts()).toEqual([{ kind: 'done', outcome: 'unchanged' }]);
      await changed('1', 'active');
      await world.handleBatch();

      expect(summary().slice(1)).toEqual([
        ['1', 2, 'active', null],
        ['1', 3, null, 'active'],
      ]);
    });
  });

  it('publishes an advert that was gone before it was ever seen as unavailable, with sequence 1', async () => {
    world.service.remove('9');
    await world.round();
    await world.handleBatch();
    world.clock.advance(30_000);
    await world.handleBatch();

    expect(summary()).toEqual([['9', 1, null, null]]);
  });

  it('lets one bad advert delay no other', async () => {
    world.service.change('1', 'active');
    world.service.change('2', 'active');
    await world.round();
    world.service.state.beforeAdvert = (advertId) => {
      if (advertId === '1') throw new BridgeFault('forbidden', 'not yours', { status: 403 });
    };

    await world.handleBatch();

    expect(summary()).toEqual([['2', 1, null, 'active']]);
  });

  it('dead-letters a fault of the advert itself after a few tries within two minutes, with its reason', async () => {
    await changed('1', 'active');
    fail('contract-broken');
    const startedAt = world.clock.now();
    const kinds: string[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const [verdict] = await verdicts();
      kinds.push(verdict?.kind ?? 'none');
      if (verdict?.kind === 'retry') world.clock.advance(verdict.delayMs);
    }

    expect(kinds).toEqual(['retry', 'retry', 'retry', 'retry', 'dead-letter']);
    expect(world.clock.now() - startedAt).toBeLessThan(2 * minuteMs);
    const [stored] = await world.state.deadLetters.list();
    expect(stored?.letter).toMatchObject({
      partnerAccount: 'main',
      advertId: '1',
      fault: 'contract-broken',
      reason: 'told to be contract-broken',
      receives: 5,
    });
    expect(await world.books()).toMatchObject({ listed: 1, deadLettered: 1, inFlight: 0 });
  });

  it('dead-letters a request that the service calls wrong at its first try, with what it says', async () => {
    await changed('1', 'active');
    fail('invalid-request', { status: 400, serviceCode: 'validation_error' });

    const settled = await verdicts();
    world.clock.advance(24 * 60 * minuteMs);
    await verdicts();

    expect(settled).toMatchObject([
      {
        kind: 'dead-letter',
        letter: { fault: 'invalid-request', reason: 'told to be invalid-request', receives: 1 },
      },
    ]);
    expect(world.service.fetched).toEqual(['1']);
  });

  it('tries a request five times that is refused without a word about it', async () => {
    await changed('1', 'active');
    fail('request-refused', { status: 409 });
    const kinds: string[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      kinds.push(...(await verdicts()).map(({ kind }) => kind));
      world.clock.advance(minuteMs);
    }
    expect(kinds).toEqual(['retry', 'retry', 'retry', 'retry', 'dead-letter']);
  });

  it('does not count an outage as a try of the advert', async () => {
    await changed('1', 'active');
    fail('transient');
    for (let attempt = 0; attempt < 10; attempt += 1) {
      await world.handleBatch();
      world.clock.advance(5 * minuteMs);
    }
    fail('forbidden');

    expect(await verdicts()).toMatchObject([{ kind: 'retry' }]);
  });

  it('leaves a refused event to the next message when its own is dead-lettered', async () => {
    await changed('1', 'active');
    world.events.refuse();
    await world.handleBatch();
    world.clock.advance(24 * 60 * minuteMs);
    await world.handleBatch();
    expect(await row()).toMatchObject({ pending: true, sequence: 1 });
    world.events.accept();
    heal();
    await changed('1', 'sold');
    await world.handleBatch();

    expect(summary()).toEqual([
      ['1', 1, null, 'active'],
      ['1', 2, 'active', 'sold'],
    ]);
    expect((await row()).pending).toBe(false);
  });

  it('keeps the messages of a stopped partner account waiting', async () => {
    await changed('1', 'active');
    await world.connect.disconnect('main');

    expect(await verdicts()).toEqual([{ kind: 'hold' }]);
    expect(world.service.fetched).toEqual([]);
  });

  it('lets go of messages whose partner account was forgotten', async () => {
    await changed('1', 'active');
    await world.connect.forget('main');

    expect(await verdicts()).toEqual([{ kind: 'forgotten' }]);
  });

  describe('while its partner account is being forgotten', () => {
    const beginForget = () => world.connect.beginForget('main');

    it('lets go of messages, and writes no row where they were removed', async () => {
      await changed('1', 'active');
      await beginForget();
      world.clock.advance(minuteMs);
      await world.state.queue.receive({ maxGroups: 1, maxPerGroup: 10, visibilityMs: 0 });

      expect(await verdicts()).toEqual([{ kind: 'forgotten' }]);
      expect(await row()).toBeUndefined();
    });

    it('lets go of those that it has in hand, too', async () => {
      await changed('1', 'active');
      await world.state.queue.receive({ maxGroups: 1, maxPerGroup: 10, visibilityMs: 0 });
      const { fanOutDeps } = world;
      const adverts = {
        async readAdvert(): Promise<never> {
          await beginForget();
          throw new BridgeFault('account-stopped', 'partner account main is stopped');
        },
      };
      const batch = await world.state.queue.receive({
        maxGroups: 1,
        maxPerGroup: 10,
        visibilityMs: minuteMs,
      });

      const settlements = await createFanOut({ ...fanOutDeps, adverts }).handle(batch, world.options());

      expect(settlements.map(({ verdict }) => verdict)).toEqual([{ kind: 'forgotten' }]);
      expect(await row()).toBeUndefined();
    });
  });

  it('leaves a message of a newer bridge in the queue, with those of its advert behind it', async () => {
    await changed('1', 'active');
    await changed('2', 'active');
    const batch = await world.state.queue.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs: 60_000 });
    const about = { partnerAccount: 'main', advertId: '1' };
    const newer = { id: 'x', flaw: 'form: expected at most 1', isNewer: true, about } as const;

    const settlements = await world.fanOut.handle(
      [{ ...newer, position: '1', receives: 1, sentAt: 0 }, ...batch],
      world.options(),
    );

    const kinds = settlements.map(({ delivery, verdict }) => [
      (delivery.message ?? delivery.about)?.advertId,
      verdict.kind,
    ]);
    expect(kinds.sort()).toEqual([
      ['1', 'retry'],
      ['1', 'retry'],
      ['2', 'done'],
    ]);
  });
});
