import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDrain, type DrainDeps } from '../../../../functions/drain/drain.ts';
import { pollFeed } from '../../../../functions/drain/poll-feed.ts';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import { advertsFeed } from '../../../../shared/contract/messages.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import type { MessageAside } from '../../../../shared/ports/queue.ts';
import type { CallOptions, FeedReader } from '../../../../shared/ports/readers.ts';
import { drainLimits } from '../../../../shared/runtime/limits.ts';
import { tokenHold } from '../../../helpers/holds.ts';
import { changedAdvert } from '../../../helpers/records.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const minuteMs = 60_000;
const key = { partnerAccount: 'main', feed: 'adverts' };

let world: World;
beforeEach(async () => {
  world = await createWorld();
  world.observer.lines.length = 0;
});
const drainWith = (change: Partial<DrainDeps>) => createDrain({ ...world.drainDeps, ...change });
const lines = (level: string) => world.observer.lines.filter((line) => line.level === level);
const failWith = (...[code, text, details]: ConstructorParameters<typeof BridgeFault>) => {
  world.service.state.beforePage = () => {
    throw new BridgeFault(code, text, details);
  };
};
const received = async () =>
  (await world.state.queue.receive({ maxGroups: 99, maxPerGroup: 99, visibilityMs: 1_000 })).map(
    ({ message }) => message,
  );

describe('a run of the drain', () => {
  it.each([
    [40_000, 90_000, 2],
    [40_001, 90_000, 3],
    [90_000, 40_000, 2],
    [90_000, 40_001, 3],
    [0, 0, 0],
  ])('with a deadline in %i ms, the next one in %i, polls %i times', async (deadline, next, times) => {
    const drain = drainWith({
      // The time advances after the current work has ended.
      clock: { now: world.clock.now, sleep: (ms) => nextTurn().then(() => world.clock.sleep(ms)) },
      settings: { ...world.drainDeps.settings, pollSeconds: 20 },
    });
    const now = world.clock.now();

    await drain.run({ deadlineMs: now + deadline, nextRunMs: now + next });

    expect(world.service.feedRequests).toHaveLength(times);
    expect(world.clock.now() - now).toBeLessThan(Math.max(1, Math.min(deadline, next)));
  });

  it('tells what its last round came to, and that one of them could not begin', async () => {
    expect(await world.drain.run({ deadlineMs: world.clock.now() + minuteMs, nextRunMs: 0 })).toMatchObject({
      polls: [{ partnerAccount: 'main', feed: 'adverts', end: 'up-to-date', pages: 1, listed: 0 }],
    });
    const accounts = { ...world.accounts, list: () => Promise.reject(new Error('throttled')) };
    await expect(
      drainWith({ accounts }).run({ deadlineMs: world.clock.now() + 1, nextRunMs: 0 }),
    ).rejects.toThrow('throttled');
  });
});

it('a crash stops a feed for two minutes at most', () => {
  expect(drainLimits.leaseMs).toBeLessThanOrEqual(2 * minuteMs);
});

describe('a round of the drain', () => {
  it('calls for a person for each row that cannot be read, and polls the others', async () => {
    const flaw = new ShapeError('feed main/adverts', [{ path: 'since', expected: 'text' }]);
    const feedStates: DrainDeps['feedStates'] = {
      ...world.state.feedStates,
      list(onUnreadable) {
        onUnreadable?.(flaw);
        return world.state.feedStates.list();
      },
    };
    const { polls } = await drainWith({ feedStates }).round(world.options());

    expect(polls).toHaveLength(1);
    expect(world.observer.counted(metrics.needsAttention)).toBe(1);
    expect(lines('error')).toMatchObject([{ fields: { reason: flaw.message } }]);
  });

  it('says which feeds wait a while, with the reason and until when', async () => {
    const until = world.clock.now() + minuteMs;
    await world.accounts.change('main', (account) => ({
      ...account,
      holds: [tokenHold(until)],
    }));
    expect(await world.round()).toMatchObject({
      ...{ polls: [], stopped: [], lagSeconds: 0 },
      paused: [{ partnerAccount: 'main', kind: 'partner-account', reason: 'tired', untilMs: until }],
    });

    await world.accounts.change('main', ({ holds: _over, ...account }): PartnerAccount => account);
    const lease = await world.state.feedStates.acquire(key, {
      holder: 'other',
      nowMs: world.clock.now(),
      leaseMs: minuteMs,
    });
    if (!lease || !('etag' in lease)) throw new Error('no lease');
    await world.state.feedStates.release(lease, { pausedUntil: until }, world.clock.now());
    const paused = async () => (await world.round()).paused;
    expect(await paused()).toEqual([
      { ...{ partnerAccount: 'main', kind: 'feed' }, reason: 'the feed is paused', untilMs: until },
    ]);
    world.clock.advance(minuteMs);
    expect(await paused()).toEqual([]);
  });

  it('counts how far the feeds are behind, from the connection where one was never read', async () => {
    world.clock.advance(90_000);
    failWith('transient', 'down');
    expect((await world.round()).lagSeconds).toBe(90);
    expect(world.observer.counted(metrics.feedLagSeconds)).toBe(90);
    // So a long pause that the service asks for raises the alarm of the lag.
    failWith('paused', 'the service asked for a pause');
    expect((await world.round()).lagSeconds).toBe(90);
    world.service.state.beforePage = () => world.clock.advance(1_000);
    expect((await world.round()).lagSeconds).toBe(0);
  });

  it('does not name what a person has disconnected as waiting for one', async () => {
    await world.connect.disconnect('main');

    expect(await world.round()).toMatchObject({ stopped: [], polls: [], paused: [] });
    expect(world.observer.counted(metrics.needsAttention)).toBe(0);
  });

  it('leaves a feed alone that this bridge does not know', async () => {
    const feedStates = {
      ...world.state.feedStates,
      list: async () => (await world.state.feedStates.list()).map((state) => ({ ...state, feed: 'threads' })),
    };
    expect((await drainWith({ feedStates }).round(world.options())).polls).toEqual([]);
  });
});

describe('a poll', () => {
  const poll = (name: string, options: Partial<Parameters<typeof pollFeed>[3]> = {}) =>
    pollFeed(world.drainDeps, advertsFeed, name, { ...world.options(), ...options });
  const deadlinesOf = async (
    change: Partial<DrainDeps>,
    forMs = 3_600_000,
  ): Promise<readonly CallOptions[]> => {
    const asked: CallOptions[] = [];
    const reader: FeedReader = {
      readPage(name, query, options) {
        asked.push({ ...options, deadlineMs: options.deadlineMs - world.clock.now() });
        return world.service.readPage(name, query, options);
      },
    };
    await drainWith({ reader, ...change }).round({ deadlineMs: world.clock.now() + forMs });
    return asked;
  };

  it('takes no lease when its time is over or it is told to end', async () => {
    const over = { end: 'out-of-time', pages: 0, listed: 0 };
    expect(await poll('main', { deadlineMs: world.clock.now() })).toEqual(over);
    expect(await poll('main', { signal: AbortSignal.abort() })).toEqual(over);

    expect((await world.feed())?.lastPolled).toBeUndefined();
  });

  it('of a feed that is not known, or that was polled since it was listed, asks for nothing', async () => {
    expect(await poll('other')).toEqual({ end: 'unknown-feed', pages: 0, listed: 0 });
    await poll('main');
    world.service.feedRequests.length = 0;
    expect(await poll('main', { listed: {} })).toEqual({ end: 'just-polled', pages: 0, listed: 0 });
    expect(world.service.feedRequests).toEqual([]);
  });

  it('gives each page twenty seconds, and what thirty adverts before it take of the rate budget', async () => {
    const { settings } = world.drainDeps;
    const generation = (await world.account())?.generation;
    const at = (maxRequestsPerSecond?: number) =>
      deadlinesOf({
        settings: { ...settings, ...(maxRequestsPerSecond === undefined ? {} : { maxRequestsPerSecond }) },
      });

    expect(await at()).toEqual([{ deadlineMs: 23_000, generation }]);
    expect(await at(1)).toEqual([{ deadlineMs: 50_000, generation }]);
    expect(await deadlinesOf({}, 5_000)).toEqual([{ deadlineMs: 5_000, generation }]);
  });

  it.each([
    ['30 s of the rate are read ahead', { waiting: 0 }, 300],
    ['so much less is read as waits', { waiting: 120 }, 180],
    ['the first page of a round is read even if 30 s of the rate wait', { waiting: 300 }, 50],
    ['nothing is read when the most waits that may wait', { waiting: 20_001 }, undefined],
    ['no more than that is read', { waiting: 0, maxWaiting: 70 }, 70],
    ['a page has at most a thousand', { waiting: 0, maxRequestsPerSecond: 500 }, 1_000],
  ])('%s', async (_title, { waiting, ...changed }, limit) => {
    const queue = { ...world.state.queue, depth: async () => waiting };
    const settings = { ...world.drainDeps.settings, ...changed };

    const { polls } = await drainWith({ queue, settings }).round(world.options());

    expect(polls.map(({ end }) => end)).toEqual([limit === undefined ? 'backlog' : 'up-to-date']);
    expect(world.service.feedRequests.map((request) => request.limit)).toEqual(limit ? [limit] : []);
  });

  it('goes on in the same round when the queue has room again', async () => {
    for (let id = 1; id <= 700; id += 1) world.service.change(String(id), 'active');
    const startedAt = world.clock.now();
    const fetched = () => (world.clock.now() - startedAt) / 100;
    const depth = async () => Math.max(0, (await world.state.queue.depth('main')) - fetched());
    const nextRoundMs = startedAt + 60_000;

    const report = await drainWith({ queue: { ...world.state.queue, depth } }).round({
      ...world.options(),
      nextRoundMs,
    });

    expect(report.polls).toMatchObject([{ end: 'up-to-date', listed: 700 }]);
    expect(world.service.feedRequests.map(({ limit }) => limit)).toEqual([300, 100, 100, 100, 100]);
  });

  it('shares what is read ahead among the accounts that are behind', async () => {
    const refreshToken = new Secret('refresh-1');
    await world.connect.connect({ partnerAccount: 'other', refreshToken }, world.options());
    for (let id = 1; id <= 1_000; id += 1) world.service.change(String(id), 'active');
    const drain = drainWith({});

    await drain.round(world.options());
    await drain.round(world.options());

    expect(world.service.feedRequests.map(({ limit }) => limit)).toEqual([300, 300, 25, 25]);
  });

  it('sends what its page named, under keys of its own and with the cause', async () => {
    world.service.change('1', 'active');
    const { generation } = (await world.account()) as PartnerAccount;
    const message = (id: string, cause: string) => ({
      ...{ key: `${id}:1`, partnerAccount: 'main', generation, feed: 'adverts', advertId: '1', cause },
      ...{ listedAt: '2026-11-20T12:00:00.000Z', correlationId: id },
    });
    await poll('main');
    expect(await received()).toEqual([message('id1', 'feed')]);
    expect(lines('info')).toMatchObject([
      { fields: { partnerAccount: 'main', feed: 'adverts', correlationId: 'id1', adverts: 1 } },
    ]);
    world.clock.advance(1_000);

    await poll('main', { resync: { since: '2026-11-01T00:00:00.000Z' } });
    expect((await received()).map((one) => one?.cause)).toContain('resync');
  });

  it('says of a page with something that is no ID which page that was, and what is wrong with it', async () => {
    world.service.list('a\u0007b');
    await poll('main');

    expect(lines('warn')).toMatchObject([
      { fields: { partnerAccount: 'main', correlationId: 'id1', count: 1 } },
    ]);
    expect(lines('info')).toEqual([]);
    const [stored] = await world.state.deadLetters.list();
    expect(stored?.letter).toEqual({
      ...{
        partnerAccount: 'main',
        advertId: 'a\u0007b',
        count: 1,
        fault: 'malformed-id',
        receives: 0,
        message: null,
      },
      ...{ at: '2026-11-20T12:00:00.000Z' },
      reason: 'the feed named 1 that is no advert ID (expected 1 to 20 digits): "a b"',
    });
  });

  it('tells how it failed: with a warning, or with a call for a person', async () => {
    const cause = new Error('the reason of the reason');
    const fields = { partnerAccount: 'main', feed: 'adverts', error: cause };
    failWith('transient', 'down', { status: 502, cause });
    await poll('main');
    expect(world.observer.lines).toMatchObject([
      { level: 'warn', fields: { ...fields, fault: 'transient', status: 502, reason: 'down' } },
    ]);
    expect(world.observer.counted(metrics.needsAttention)).toBe(0);
    expect(await world.feed()).toMatchObject({ fault: 'down', faultKind: 'transient' });
    expect(await world.feed()).not.toHaveProperty('needsPerson', true);

    failWith('wrong-path', 'lost', { status: 404, cause });
    await poll('main');
    expect(world.observer.lines.at(-1)).toMatchObject({
      ...{ level: 'error', fields: { ...fields, fault: 'wrong-path', status: 404, reason: 'lost' } },
    });
    expect(world.observer.counted(metrics.needsAttention)).toBe(1);
    expect(await world.feed()).toMatchObject({ fault: 'lost', faultKind: 'wrong-path', needsPerson: true });
    expect((await world.feed())?.pausedUntil).toBeUndefined();
  });

  it('keeps its place in the line when nothing was asked, and loses it otherwise', async () => {
    const { lastPolled } = (await world.feed()) ?? {};
    world.clock.advance(5_000);
    failWith('paused', 'not sent', { retryAfterMs: 1_000 });
    expect((await world.round()).polls).toMatchObject([{ end: 'fault', fault: { code: 'paused' } }]);
    expect((await world.feed())?.lastPolled).toBe(lastPolled);

    failWith('transient', 'down');
    await world.round();
    expect((await world.feed())?.lastPolled).toBe(world.clock.now());
  });

  it('says from where it starts over, and rests five minutes after three cursors in a row', async () => {
    await poll('main');
    world.service.state.beforePage = ({ cursor }) => {
      if (cursor !== undefined) throw new BridgeFault('not-found', 'gone', { status: 410 });
    };
    await poll('main');
    expect(lines('warn')).toMatchObject([
      { fields: { partnerAccount: 'main', feed: 'adverts', since: '2026-11-20T11:55:00.000Z' } },
    ]);
    expect(await poll('main')).toMatchObject({ end: 'up-to-date' });
    expect(await poll('main')).toMatchObject({ end: 'fault', pages: 1, fault: { code: 'contract-broken' } });

    expect(await world.feed()).toMatchObject({
      ...{ resets: 3, resetsInARow: 3, needsPerson: true, faultKind: 'contract-broken' },
      pausedUntil: world.clock.now() + 5 * minuteMs,
    });
    world.service.state.beforePage = () => undefined;
    world.clock.advance(5 * minuteMs);
    expect(await poll('main')).toMatchObject({ end: 'up-to-date' });
    expect(await world.feed()).toMatchObject({ resets: 3, resetsInARow: 0 });
  });

  it('does not outlive a lease that cannot be given back', async () => {
    const feedStates = { ...world.state.feedStates, release: () => Promise.reject(new Error('throttled')) };
    failWith('transient', 'down');

    expect(
      await pollFeed({ ...world.drainDeps, feedStates }, advertsFeed, 'main', world.options()),
    ).toMatchObject({
      ...{ end: 'fault', fault: { message: 'down' } },
    });
  });
});

describe('messages aside', () => {
  const message = changedAdvert();
  const messageAside = (name: string): MessageAside => ({
    key: { kind: 'aside', name: `${name}/1` },
    etag: name,
    message: { ...message, partnerAccount: name },
  });
  /** The accounts' messages, of which `sendAgain` refuses those of `refused`. */
  function release(names: readonly string[], refused: readonly string[] = [], deps: Partial<DrainDeps> = {}) {
    const aside = new Map(names.map((name) => [name, [messageAside(name)]]));
    const sent: string[] = [];
    const drain = drainWith({
      ...deps,
      aside: {
        accounts: async () => names,
        list: async (name) => aside.get(name) ?? [],
        remove: async (held) => held.forEach(({ etag }) => void aside.delete(etag)),
      },
      queue: {
        ...world.state.queue,
        async sendAgain(held) {
          sent.push(...held.map(({ etag }) => etag));
          return new Set(held.map(({ etag }) => etag).filter((etag) => refused.includes(etag)));
        },
      },
    });
    return drain.release(world.clock.now() + minuteMs).then(() => ({ sent, left: [...aside.keys()] }));
  }

  it('are put back, with a line in the log', async () => {
    expect(await release(['main'])).toEqual({ sent: ['main'], left: [] });
    expect(world.observer.lines).toMatchObject([
      { level: 'info', fields: { partnerAccount: 'main', count: 1 } },
    ]);
  });

  it('stay when the queue does not accept them', async () => {
    expect(await release(['main', 'other'], ['main'])).toMatchObject({ left: ['main'] });
  });

  it.each([
    [0, 1],
    [1, 0],
  ])('are put back when the bridge is paused for %i ms more: %i times', async (forMs, times) => {
    const bridgePausedUntil = async () => world.clock.now() + forMs;

    expect((await release(['main'], [], { bridgePausedUntil })).sent).toHaveLength(times);
  });

  it('of which there are none cost no look at the rate budget', async () => {
    let looks = 0;
    await release([], [], { bridgePausedUntil: async () => (looks += 1) });
    expect(looks).toBe(0);
  });

  it('of one account do not keep those of another when they cannot be put back', async () => {
    const error = new Error('throttled');
    const accounts = {
      ...world.accounts,
      read: (name: string) => (name === 'main' ? Promise.reject(error) : world.accounts.read(name)),
    };

    expect((await release(['main', 'other'], [], { accounts })).left).toEqual(['main']);
    expect(world.observer.lines).toContainEqual({
      ...{ level: 'warn', message: expect.any(String), fields: { partnerAccount: 'main', error } },
    });
  });
});
