import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDrain } from '../../../../functions/drain/drain.ts';
import { pollFeed } from '../../../../functions/drain/poll-feed.ts';
import { advertsFeed } from '../../../../shared/contract/messages.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import type { FeedReader } from '../../../../shared/ports/readers.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

describe('drain', () => {
  let world: World;
  const waiting = async () => (await world.state.bookKeeper.queue()).waiting;
  const end = async () => (await world.round()).polls[0];

  beforeEach(async () => {
    world = await createWorld();
  });

  it('asks for changes since the connection, less the overlap, and stores the cursor', async () => {
    world.service.change('1', 'active');

    expect(await end()).toMatchObject({ end: 'up-to-date', pages: 1, listed: 1 });

    expect(world.service.feedRequests).toMatchObject([
      { since: '2026-11-20T11:55:00.000Z', cursor: undefined },
    ]);
    expect(await world.feed()).toMatchObject({ cursor: '1', lastSuccess: world.clock.now() });
  });

  it('reads a feed that was connected after a resync chose its start from the connection on', async () => {
    const resync = { since: '2026-11-20T11:59:00.000Z' };

    await pollFeed(world.drainDeps, advertsFeed, 'main', { ...world.options(), resync });

    expect(world.service.feedRequests).toMatchObject([{ since: '2026-11-20T11:55:00.000Z' }]);
  });

  it('sends the cursor back with the same since, also after empty pages', async () => {
    await world.round();
    world.clock.advance(60_000);
    await world.round();

    expect(world.service.feedRequests.at(-1)).toMatchObject({
      since: '2026-11-20T11:55:00.000Z',
      cursor: '0',
    });
  });

  it('reads on while hasMore says so, however short the page', async () => {
    for (let id = 1; id <= 5; id += 1) world.service.change(String(id), 'active');
    world.service.state.pageSize = 2;

    expect(await end()).toMatchObject({ end: 'up-to-date', pages: 3, listed: 5 });
    expect(await waiting()).toBe(5);
  });

  it('reads a backlog of several turns to its end in one round', async () => {
    for (let id = 1; id <= 25; id += 1) world.service.change(String(id), 'active');
    world.service.state.pageSize = 1;

    expect(await end()).toMatchObject({ end: 'up-to-date', pages: 25, listed: 25 });
  });

  it('leaves off after ten pages, so that the backlog of one feed does not stand before all others', async () => {
    for (let id = 1; id <= 25; id += 1) world.service.change(String(id), 'active');
    world.service.state.pageSize = 1;
    const turn = () => pollFeed(world.drainDeps, advertsFeed, 'main', world.options());

    expect(await turn()).toEqual({ end: 'turn-over', pages: 10, listed: 10 });
    expect(await turn()).toEqual({ end: 'turn-over', pages: 10, listed: 10 });
    expect(await turn()).toEqual({ end: 'up-to-date', pages: 5, listed: 5 });
  });

  it('stores nothing when the queue did not accept everything, and reads the page again', async () => {
    world.service.change('1', 'active');
    world.service.change('2', 'active');
    const refusing = createDrain({
      ...world.drainDeps,
      queue: { ...world.state.queue, send: async () => new Set(['id:2']) },
    });

    const report = await refusing.round(world.options());

    expect(report.polls[0]).toMatchObject({ end: 'fault', fault: { code: 'transient' } });
    expect((await world.feed())?.cursor).toBeUndefined();
    await world.round();
    expect(await waiting()).toBe(2);
  });

  it('gives each read of a page keys of its own', async () => {
    world.service.change('1', 'active');
    await world.round();
    world.service.change('1', 'sold');
    await world.round();

    const batch = await world.state.queue.receive({ maxGroups: 9, maxPerGroup: 9, visibilityMs: 1000 });

    expect(new Set(batch.map(({ message }) => message?.key)).size).toBe(2);
  });

  it('sends an advert that a page names twice only once', async () => {
    world.service.change('1', 'new');
    world.service.change('1', 'active');
    await world.round();

    expect(await waiting()).toBe(1);
    expect(await world.books()).toMatchObject({ listed: 2, coalesced: 1, inFlight: 1 });
  });

  it.each(['', 'abc', '1/../2', '123456789012345678901', null, 1.5, { id: 1 }])(
    'dead-letters %j, which is no advert ID, and goes on with the rest of the page',
    async (malformed) => {
      world.service.list(malformed);
      world.service.change('7', 'active');

      expect(await end()).toMatchObject({ end: 'up-to-date' });

      expect(await world.books()).toMatchObject({ listed: 2, deadLettered: 1, inFlight: 1 });
      expect(await world.state.deadLetters.list()).toMatchObject([
        { letter: { fault: 'malformed-id', partnerAccount: 'main', message: null } },
      ]);
    },
  );

  it('dead-letters the malformed IDs of a page in one letter, which counts them and shows a few', async () => {
    const malformed = ['\u202e\u001b[31mred', 'x'.repeat(300), null, { id: 1 }, '1/../2'];
    for (const entry of malformed) world.service.list(entry);
    for (let id = 6; id <= 299; id += 1) world.service.list(`no-${id}`);
    world.service.list('300');

    expect(await end()).toMatchObject({ end: 'up-to-date' });

    expect(await world.books()).toMatchObject({ listed: 300, deadLettered: 299, inFlight: 1 });
    const letters = await world.state.deadLetters.list();
    expect(letters).toMatchObject([{ letter: { count: 299, fault: 'malformed-id', message: null } }]);
    const { reason = '' } = letters[0]?.letter ?? {};
    expect(reason).toContain('299 that are no advert IDs (expected 1 to 20 digits): ');
    expect(reason).toContain('"null", "{\\"id\\":1}", "1/../2", …');
    expect(reason).not.toMatch(/[\p{Cc}\p{Bidi_C}]|x{41}|no-6/u);
  });

  it('counts a page in the metrics when its cursor is stored: every ID listed, repeats and malformed ones settled', async () => {
    for (const id of ['1', '1', 'abc']) world.service.list(id);
    const stuck = createDrain({
      ...world.drainDeps,
      queue: { ...world.state.queue, send: async () => new Set(['id:1']) },
    });
    await stuck.round(world.options());
    const { counted } = world.observer;
    expect(counted(metrics.deadLettered)).toBe(0);

    await world.round();

    expect(counted(metrics.listed)).toBe(3);
    expect(counted(metrics.coalesced)).toBe(1);
    expect(counted(metrics.deadLettered)).toBe(1);
  });

  it('counts nothing in the metrics of a page whose cursor was not stored', async () => {
    for (const id of ['1', '1', 'abc']) world.service.list(id);
    world.service.state.beforePage = () => world.clock.advance(90_001);

    expect(await end()).toMatchObject({ end: 'lease-lost' });

    for (const metric of [metrics.listed, metrics.coalesced, metrics.deadLettered]) {
      expect(world.observer.counted(metric)).toBe(0);
    }
  });

  it('stores nothing of a page that breaks the contract, and tells so in the state of the feed', async () => {
    const before = await world.feed();
    const flaw = 'GET /feed: data: expected at most the 1000 entries asked for, not 1001';
    world.service.state.beforePage = () => {
      throw new BridgeFault('contract-broken', flaw, { status: 200 });
    };

    expect(await end()).toMatchObject({ end: 'fault', fault: { code: 'contract-broken' } });

    expect(await world.feed()).toEqual({
      ...before,
      fault: flaw,
      faultKind: 'contract-broken',
      lastPolled: world.clock.now(),
    });
  });

  it('takes a whole number for an ID', async () => {
    world.service.list(12);
    await world.round();

    expect(await world.books()).toMatchObject({ listed: 1, deadLettered: 0, inFlight: 1 });
  });

  it('leaves a feed to the drain that holds its lease, and says who that is', async () => {
    await world.state.feedStates.acquire(
      { partnerAccount: 'main', feed: 'adverts' },
      { holder: 'other', nowMs: world.clock.now(), leaseMs: 90_000 },
    );

    expect(await end()).toMatchObject({ end: 'held', by: 'other' });
    expect(world.service.feedRequests).toHaveLength(0);
    world.clock.advance(90_001);
    expect(await end()).toMatchObject({ end: 'up-to-date' });
  });

  it('stores nothing once its lease has run out', async () => {
    world.service.change('1', 'active');
    world.service.state.beforePage = () => world.clock.advance(90_001);

    expect(await end()).toMatchObject({ end: 'lease-lost' });
    expect((await world.feed())?.cursor).toBeUndefined();
  });

  it('does not poll a stopped partner account, and says which it is', async () => {
    const account = await world.account();
    await world.refreshToken.refresh(
      {
        partnerAccount: 'main',
        rejectedVersion: account?.token?.version ?? '',
        because: 'scope-insufficient',
      },
      world.options(),
    );

    const report = await world.round();

    expect(report).toMatchObject({ polls: [], stopped: ['main'] });
    expect(world.observer.counted(metrics.stoppedPartnerAccounts)).toBe(1);
  });

  it('says of an account without a feed of its generation that it is not polled, once that is no connect under way', async () => {
    const read = await world.accounts.read('main');
    if (!read) throw new Error('not connected');
    const generation = read.generation - 1;
    await world.accounts.change('main', (account) => ({ ...account, generation }));
    const calls = () => world.observer.counted(metrics.needsAttention);

    world.clock.advance(59_999);
    await world.round();
    expect(calls()).toBe(0);
    world.clock.advance(1);
    expect((await world.round()).polls).toEqual([]);

    expect(calls()).toBe(1);
    expect(world.observer.lines.at(-1)).toMatchObject({
      message: expect.stringContaining('no feed of its generation'),
      fields: { partnerAccount: 'main', generation },
    });
  });

  it('tells how long the feed that waited longest has been behind', async () => {
    await world.round();
    world.clock.advance(120_000);
    world.service.state.beforePage = () => {
      throw new BridgeFault('transient', 'down');
    };

    expect((await world.round()).lagSeconds).toBe(120);
  });

  describe('starting over', () => {
    const reject = (status: number, code: BridgeFault['code'] = 'invalid-request', serviceCode?: string) => {
      world.service.state.beforePage = ({ cursor }) => {
        if (cursor !== undefined) throw new BridgeFault(code, 'no such cursor', { status, serviceCode });
      };
    };

    beforeEach(async () => {
      world.service.change('1', 'active');
      await world.round();
      world.clock.advance(60_000);
    });

    it.each([400, 403, 404, 409, 410, 422])(
      'asks without the cursor after a %i, from the last success less the overlap',
      async (status) => {
        reject(status);

        expect(await end()).toMatchObject({ end: 'up-to-date' });

        const asked = world.service.feedRequests.at(-1);
        expect(asked?.since).toBe('2026-11-20T11:55:00.000Z');
        expect(asked?.cursor).toBeUndefined();
        expect(await world.feed()).toMatchObject({
          since: '2026-11-20T11:55:00.000Z',
          cursor: '1',
          ...{ resets: 1, lastReset: world.clock.now() },
        });
        expect(world.observer.counted(metrics.cursorResets)).toBe(1);
      },
    );

    it('sends the new since with the new cursor from then on', async () => {
      await world.round();
      world.clock.advance(60_000);
      reject(410);
      await world.round();
      world.service.state.beforePage = () => undefined;
      await world.round();

      expect(world.service.feedRequests.at(-1)).toMatchObject({
        since: '2026-11-20T11:56:00.000Z',
        cursor: '1',
      });
    });

    it.each([
      ['a rejected token', 401, 'token-rejected', 'invalid_token'],
      ['a scope too small', 403, 'scope-insufficient', 'insufficient_scope'],
      ['a rate answer', 429, 'rate-limited', undefined],
      ['an unsupported version', 400, 'invalid-request', 'unsupported_version'],
      ['a fault of the service', 500, 'transient', undefined],
    ] as const)('does not start over for %s', async (_what, status, code, serviceCode) => {
      reject(status, code, serviceCode);
      const before = await world.feed();

      expect(await end()).toMatchObject({ end: 'fault', fault: { code } });

      expect(await world.feed()).toMatchObject({ cursor: before?.cursor, since: before?.since, resets: 0 });
    });

    it('leaves the state as it is when asking without the cursor fails alike', async () => {
      world.service.state.beforePage = () => {
        throw new BridgeFault('forbidden', 'blocked', { status: 403 });
      };
      const before = await world.feed();

      expect(await end()).toMatchObject({ end: 'fault', fault: { code: 'forbidden' } });

      expect(await world.feed()).toMatchObject({ cursor: before?.cursor, resets: 0 });
    });

    describe('with a last success in the future, as earlier versions stored it', () => {
      beforeEach(async () => {
        const reader = {
          readPage: async (...args: Parameters<typeof world.service.readPage>) => ({
            ...(await world.service.readPage(...args)),
            serviceTime: Date.parse('9999-12-31T23:59:59Z'),
          }),
        };
        await createDrain({ ...world.drainDeps, reader }).round(world.options());
        world.clock.advance(60_000);
      });

      it('asks from where reading first began', async () => {
        reject(410);

        await world.round();

        expect(world.service.feedRequests.at(-1)?.since).toBe('2026-11-20T11:55:00.000Z');
      });

      it('counts the lag from the connection', async () => {
        world.service.state.beforePage = () => {
          throw new BridgeFault('transient', 'down');
        };

        expect((await world.round()).lagSeconds).toBe(120);
      });
    });

    describe('during a resync', () => {
      const resyncSince = '2026-11-01T00:00:00.000Z';
      /** Reads one page of the resync, of two. */
      const beginResync = async () => {
        world.service.change('2', 'active');
        world.service.state.pageSize = 1;
        const stop = new AbortController();
        world.service.state.beforePage = () => stop.abort();
        const options = { ...world.options(), signal: stop.signal, resync: { since: resyncSince } };
        await pollFeed(world.drainDeps, advertsFeed, 'main', options);
      };

      it('begins again from where the resync began, not from the last success', async () => {
        await beginResync();
        let rejections = 0;
        world.service.state.beforePage = ({ cursor }) => {
          if (cursor === undefined || rejections > 0) return;
          rejections += 1;
          throw new BridgeFault('not-found', 'no such cursor', { status: 410 });
        };

        expect(await end()).toMatchObject({ end: 'up-to-date', pages: 2 });

        const asked = world.service.feedRequests.filter(({ cursor }) => cursor === undefined);
        expect(asked.at(-1)?.since).toBe(resyncSince);
        expect(rejections).toBe(1);
      });

      it('is not shortened by a second resync that chose its later start before', async () => {
        await beginResync();
        world.service.state.beforePage = () => undefined;

        const resync = { since: '2026-11-20T11:50:00.000Z' };
        const report = await pollFeed(world.drainDeps, advertsFeed, 'main', { ...world.options(), resync });

        expect(report).toMatchObject({ end: 'up-to-date' });
        const asked = world.service.feedRequests.filter(({ cursor }) => cursor === undefined);
        expect(asked.at(-1)?.since).toBe(resyncSince);
      });

      it('keeps the last success until the resync is at its end', async () => {
        const before = await world.feed();
        await beginResync();

        expect(await world.feed()).toMatchObject({
          since: resyncSince,
          cursor: '1',
          lastSuccess: before?.lastSuccess,
        });
      });

      it('starts over from the last success again once the resync has come to its end', async () => {
        await beginResync();
        world.service.state.beforePage = () => undefined;
        await world.round();
        world.clock.advance(60_000);
        reject(410);
        await world.round();

        const asked = world.service.feedRequests.filter(({ cursor }) => cursor === undefined);
        expect(asked.at(-1)?.since).toBe('2026-11-20T11:56:00.000Z');
      });
    });

    it('calls for a person instead of looping when cursors are rejected again and again', async () => {
      reject(410);
      await world.round();
      await world.round();

      expect(await end()).toMatchObject({ end: 'fault' });
      expect(world.observer.counted(metrics.needsAttention)).toBe(1);
      expect(await world.round()).toMatchObject({ polls: [] });
    });
  });

  it.each([
    ['for five minutes', 5 * 60_000],
    ['until a clock is set back by hours', -5 * 3_600_000],
  ])('stops a feed whose cursor stands still although there is more, %s', async (_when, passedMs) => {
    world.service.state.pageSize = 1;
    world.service.state.nextCursor = '1';
    for (const id of ['1', '2', '3']) world.service.change(id, 'active');

    expect(await end()).toMatchObject({ end: 'fault', pages: 2 });

    expect(world.observer.counted(metrics.needsAttention)).toBe(1);
    expect(await world.round()).toMatchObject({ polls: [] });
    world.clock.advance(passedMs);
    expect((await world.round()).polls).toHaveLength(1);
  });

  it('stops a feed whose cursor stands still under changes of a last page, which would be listed for ever', async () => {
    await world.round();
    world.service.state.nextCursor = '0';
    world.service.change('1', 'active');

    expect(await end()).toMatchObject({
      end: 'fault',
      pages: 1,
      listed: 1,
      fault: { code: 'contract-broken' },
    });

    expect(await waiting()).toBe(1);
    expect(await world.round()).toMatchObject({ polls: [] });
  });

  it('asks for no page whose answer might come when the lease has run out', async () => {
    const deadlines: number[] = [];
    const reader: FeedReader = {
      readPage(partnerAccount, query, options) {
        deadlines.push(options.deadlineMs - world.clock.now());
        // Each page takes two seconds of the lease, and renews it.
        world.clock.advance(2_000);
        return world.service.readPage(partnerAccount, query, options);
      },
    };
    world.service.state.pageSize = 1;
    for (const id of ['1', '2']) world.service.change(id, 'active');
    const settings = { ...world.drainDeps.settings, leaseMs: 15_000 };

    await createDrain({ ...world.drainDeps, reader, settings }).round(world.options());

    expect(deadlines).toEqual([5_000, 5_000]);
  });

  it('polls again within one run when pollSeconds is below a minute', async () => {
    const drain = createDrain({
      ...world.drainDeps,
      // The time advances after the current work has ended.
      clock: { now: world.clock.now, sleep: (ms) => nextTurn().then(() => world.clock.sleep(ms)) },
      settings: { ...world.drainDeps.settings, pollSeconds: 20 },
    });
    const startedAt = world.clock.now();

    await drain.run({ deadlineMs: startedAt + 58_000, nextRunMs: startedAt + 60_000 });

    expect(world.service.feedRequests).toHaveLength(3);
  });

  it('polls once a run when pollSeconds is a minute', async () => {
    const startedAt = world.clock.now();

    await world.drain.run({ deadlineMs: startedAt + 58_000, nextRunMs: startedAt + 60_000 });

    expect(world.service.feedRequests).toHaveLength(1);
  });

  it('leaves a feed its place in the line when there was no time for it', async () => {
    const request = { partnerAccount: 'other', refreshToken: new Secret('theirs') };
    await world.connect.connect(request, world.options());
    world.service.state.beforePage = () => world.clock.advance(60_000);
    const oneAtATime = createDrain({
      ...world.drainDeps,
      settings: { ...world.drainDeps.settings, feedsAtOnce: 1 },
    });

    const first = await oneAtATime.round(world.options());
    const second = await oneAtATime.round(world.options());

    const polled = [first, second].map(({ polls }) => polls.find(({ pages }) => pages > 0)?.partnerAccount);
    expect(polled.toSorted()).toEqual(['main', 'other']);
  });

  it('ends after the page in hand when it is told to', async () => {
    world.service.state.pageSize = 1;
    for (const id of ['1', '2', '3']) world.service.change(id, 'active');
    const stop = new AbortController();
    world.service.state.beforePage = () => stop.abort();

    const report = await world.drain.round({ ...world.options(), signal: stop.signal });

    expect(report.polls[0]).toMatchObject({ end: 'out-of-time', pages: 1 });
    expect((await world.feed())?.cursor).toBe('1');
  });
});
