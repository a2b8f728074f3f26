import { beforeEach, describe, expect, it } from 'vitest';
import { createConnect } from '../../../../functions/connect/connect.ts';
import { createRefreshToken } from '../../../../functions/refresh-token/refresh-token.ts';
import { checked } from '../../../../shared/contract/checks.ts';
import { envelope } from '../../../../shared/contract/events.ts';
import type { Rejection } from '../../../../shared/contract/invocations.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createPartnerAccounts } from '../../../../shared/state/partner-accounts.ts';
import { holdOf } from '../../../helpers/holds.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const dayMs = 86_400_000;

describe('refresh-token', () => {
  let world: World;
  const version = async () => (await world.account())?.token?.version ?? '';
  const refresh = async (rejectedVersion?: string, because: Rejection = 'token-rejected') =>
    world.refreshToken.refresh(
      { partnerAccount: 'main', rejectedVersion: rejectedVersion ?? (await version()), because },
      world.options(),
    );
  const stored = async () => {
    const read = await world.state.vault.read('main');
    return {
      access: read?.pair.accessToken.reveal(),
      refresh: read?.pair.refreshToken.reveal(),
      scope: read?.pair.scope,
    };
  };
  const refuse = (code: BridgeFault['code']) => {
    world.service.state.tokens = () => {
      throw new BridgeFault(code, `told to be ${code}`);
    };
  };
  const answer = (change: object) => {
    world.service.state.tokens = () => ({
      access_token: 'access-new',
      refresh_token: 'refresh-new',
      expires_in: 86_400,
      token_type: 'bearer',
      scope: 'v2 read write',
      ...change,
    });
  };
  const types = () => world.published().map((event) => event['detail-type']);

  beforeEach(async () => {
    world = await createWorld();
    world.service.grants.length = 0;
  });

  it('stores the pair that the service returns and tells the account of it', async () => {
    answer({});

    expect(await refresh()).toEqual({ kind: 'renewed' });

    expect(await stored()).toEqual({ access: 'access-new', refresh: 'refresh-new', scope: 'v2 read write' });
    expect((await world.account())?.token).toEqual({
      version: (await world.state.vault.read('main'))?.version,
      expiresAt: world.clock.now() + dayMs,
      usedAt: world.clock.now(),
    });
    expect((await world.account())?.refreshing).toBeUndefined();
  });

  it('counts the lifetime from before the request, and the use from its answer', async () => {
    const { requestTokens } = world.service;
    const endpoint = {
      requestTokens: async (...call: Parameters<typeof requestTokens>) => {
        const received = await requestTokens(...call);
        return { ...received, receivedAt: received.sentAt + 3_000 };
      },
    };
    const slow = createRefreshToken({ ...world.tokenDeps, endpoint });
    const request = {
      partnerAccount: 'main',
      rejectedVersion: await version(),
      because: 'expired',
    } as const;
    answer({ expires_in: 60 });
    const sentAt = world.clock.now();

    await slow.refresh(request, world.options());

    expect((await world.account())?.token).toMatchObject({
      expiresAt: sentAt + 60_000,
      usedAt: sentAt + 3_000,
    });
  });

  it('says which version it stored', async () => {
    await refresh();

    expect(world.observer.lines.at(-1)).toMatchObject({
      level: 'info',
      fields: { partnerAccount: 'main', tokenVersion: await version() },
    });
  });

  it('keeps what the answer leaves out', async () => {
    answer({ refresh_token: undefined, scope: undefined });
    await refresh();

    expect(await stored()).toEqual({ access: 'access-new', refresh: 'refresh-1', scope: 'v2 read write' });
  });

  it('does nothing when the rejected token has been replaced already', async () => {
    const old = await version();
    await refresh();

    expect(await refresh(old)).toEqual({ kind: 'renewed' });
    expect(world.service.grants).toHaveLength(1);
  });

  it('lets one caller refresh while the others hear that it is under way', async () => {
    const rejected = await version();

    const outcomes = await Promise.all([refresh(rejected), refresh(rejected), refresh(rejected)]);

    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['busy', 'busy', 'renewed']);
    expect(world.service.grants).toHaveLength(1);
  });

  it('takes the lock of a refresh that died when its time is over', async () => {
    const account = await world.accounts.read('main');
    if (!account) throw new Error('not connected');
    const lock = { holder: 'dead', startedAt: world.clock.now(), until: world.clock.now() + 90_000 };
    await world.accounts.change(account.name, () => ({ ...account, refreshing: lock }));

    expect(await refresh()).toMatchObject({ kind: 'busy' });
    world.clock.advance(90_000);
    expect(await refresh()).toEqual({ kind: 'renewed' });
  });

  it('goes on with a pair that a crash kept from being told of', async () => {
    const rejected = await version();
    const pair = (await world.state.vault.read('main'))?.pair;
    if (!pair) throw new Error('no pair');
    const newer = await world.state.vault.write('main', { ...pair, follows: rejected });

    expect(await refresh(rejected)).toEqual({ kind: 'renewed' });

    expect(await version()).toBe(newer);
    expect(world.service.grants).toHaveLength(0);
  });

  it('goes on with such a pair when a new history has begun since', async () => {
    const rejected = await version();
    const pair = (await world.state.vault.read('main'))?.pair;
    if (!pair) throw new Error('no pair');
    const newer = await world.state.vault.write('main', { ...pair, follows: rejected });
    await world.accounts.change('main', ({ generation, token, ...account }) => ({
      ...account,
      ...(token && { token: { ...token, issuedFor: generation } }),
      generation: generation + 1,
    }));

    expect(await refresh(rejected)).toEqual({ kind: 'renewed' });

    expect(await version()).toBe(newer);
    expect(world.service.grants).toHaveLength(0);
  });

  it('uses no pair that does not follow from the one that the row names', async () => {
    const rejected = await version();
    const pair = (await world.state.vault.read('main'))?.pair;
    if (!pair) throw new Error('no pair');
    await world.state.vault.write('main', { ...pair, follows: 'a version of before' });
    await world.state.vault.write('main', { ...pair, follows: rejected, generation: pair.generation - 1 });

    expect(await refresh(rejected)).toEqual({ kind: 'renewed' });

    expect(world.service.grants).toMatchObject([{ refreshToken: pair.refreshToken }]);
    const stored = await world.state.vault.read('main', await version());
    expect(stored?.pair).toMatchObject({ follows: rejected, generation: pair.generation });
  });

  it('waits for a pair that reads do not show yet', async () => {
    const { vault } = world.tokenDeps;
    let missing = 3;
    const read: typeof vault.read = async (...args) => (missing-- > 0 ? undefined : vault.read(...args));
    const { createRefreshToken } = await import('../../../../functions/refresh-token/refresh-token.ts');
    const stage = createRefreshToken({ ...world.tokenDeps, vault: { ...vault, read } });
    const rejectedVersion = await version();

    expect(
      await stage.refresh({ partnerAccount: 'main', rejectedVersion, because: 'expired' }, world.options()),
    ).toEqual({ kind: 'renewed' });
  });

  it('stores no pair of an account that was disconnected while its process stood still', async () => {
    const requestTokens: typeof world.service.requestTokens = async (...call) => {
      const received = await world.service.requestTokens(...call);
      world.clock.advance(90_000);
      await world.connect.disconnect('main');
      return received;
    };
    const { createRefreshToken } = await import('../../../../functions/refresh-token/refresh-token.ts');
    const stage = createRefreshToken({ ...world.tokenDeps, endpoint: { requestTokens } });
    const rejectedVersion = await version();

    await stage.refresh(
      { partnerAccount: 'main', rejectedVersion, because: 'expired' },
      { deadlineMs: world.clock.now() + 600_000 },
    );

    expect(await world.state.vault.read('main')).toBeUndefined();
  });

  describe('when the service rejects the refresh token', () => {
    it('stops the account, tells of it once, and keeps the cursor', async () => {
      world.service.change('1', 'active');
      await world.round();
      refuse('grant-rejected');

      expect(await refresh()).toEqual({ kind: 'stopped', reason: 'refresh-token-rejected' });
      expect(await refresh()).toEqual({ kind: 'stopped', reason: 'refresh-token-rejected' });
      // Pages for each account that stops, also while another one is stopped.
      expect(world.observer.counted(metrics.needsAttention)).toBe(1);
      await world.refreshToken.sweep(world.options());

      expect(types()).toEqual(['PartnerAuthorizationRequired']);
      expect(checked(envelope, world.published()[0], 'event')).toMatchObject({
        resources: ['advert-bridge/main'],
        detail: { metadata: { partnerAccount: 'main' }, data: { reason: 'refresh-token-rejected' } },
      });
      expect((await world.feed())?.cursor).toBe('1');
      expect(await world.round()).toMatchObject({ polls: [], stopped: ['main'] });
    });

    it('believes it only while it has the lock', async () => {
      const rejected = await version();
      world.service.state.tokens = () => {
        throw new BridgeFault('grant-rejected', 'invalid_grant');
      };
      const endpoint = {
        requestTokens: async (...call: Parameters<typeof world.service.requestTokens>) => {
          const until = world.clock.now() + 90_000;
          const refreshing = { holder: 'another process', startedAt: world.clock.now(), until };
          await world.accounts.change('main', (account) => ({ ...account, refreshing }));
          return world.service.requestTokens(...call);
        },
      };
      const { createRefreshToken } = await import('../../../../functions/refresh-token/refresh-token.ts');

      const outcome = await createRefreshToken({ ...world.tokenDeps, endpoint }).refresh(
        { partnerAccount: 'main', rejectedVersion: rejected, because: 'token-rejected' },
        world.options(),
      );

      expect(outcome).toEqual({ kind: 'renewed' });
      expect(holdOf(await world.account(), 'authorization')).toBeUndefined();
    });

    it('publishes the event later when the bus refuses it now', async () => {
      refuse('grant-rejected');
      world.events.refuse();
      await refresh();
      world.events.accept();
      await world.refreshToken.sweep(world.options());
      await world.refreshToken.sweep(world.options());

      expect(types()).toEqual(['PartnerAuthorizationRequired']);
    });

    it.each<[string, () => unknown]>([
      ['the refresh token was rejected', () => refuse('grant-rejected')],
      ['the scope no longer sufficed', () => answer({ scope: 'v2 read' })],
    ])(
      'goes on, after %s, when it is connected again: told once, and nothing that changed in between is missing',
      async (_why, happen) => {
        await world.round();
        happen();
        expect(await refresh()).toMatchObject({ kind: 'stopped' });
        world.service.change('1', 'active');
        answer({});
        const request = { partnerAccount: 'main', refreshToken: new Secret('fresh') };

        const connected = await world.connect.connect(request, world.options());
        await world.connect.connect(request, world.options());
        await world.round();
        await world.handleBatch();

        expect(connected).toMatchObject({ isNew: false });
        expect(types()).toEqual([
          'PartnerAuthorizationRequired',
          'PartnerAuthorizationRestored',
          'AdvertStatusChanged',
        ]);
        expect(world.service.feedRequests.at(-1)?.cursor).toBe('0');
      },
    );

    describe('and the account is disconnected before it is connected again', () => {
      const connect = () =>
        world.connect.connect({ partnerAccount: 'main', refreshToken: new Secret('fresh') }, world.options());

      beforeEach(async () => {
        refuse('grant-rejected');
        await refresh();
        answer({});
      });

      it('tells once that it goes on, however often it was disconnected', async () => {
        await world.connect.disconnect('main');
        await world.connect.disconnect('main');
        expect(types()).toEqual(['PartnerAuthorizationRequired']);

        await connect();
        await world.connect.disconnect('main');
        await connect();

        expect(types()).toEqual(['PartnerAuthorizationRequired', 'PartnerAuthorizationRestored']);
        expect(checked(envelope, world.published()[1], 'event')).toMatchObject({
          detail: { data: { reason: 'connected-again' } },
        });
        expect(await world.round()).toMatchObject({ stopped: [], polls: [{ end: 'up-to-date' }] });
      });

      it('tells so later when the bus refuses it now', async () => {
        await world.connect.disconnect('main');
        world.events.refuse();
        await connect();
        world.events.accept();
        await world.refreshToken.sweep(world.options());
        await world.refreshToken.sweep(world.options());

        expect(types()).toEqual(['PartnerAuthorizationRequired', 'PartnerAuthorizationRestored']);
      });

      it('tells nothing when it was forgotten: its generation is over', async () => {
        const before = await world.account();
        await world.connect.forget('main');
        const again = await connect();

        expect(types()).toEqual(['PartnerAuthorizationRequired']);
        expect(again.generation).toBeGreaterThan(before?.generation ?? 0);
      });
    });

    it('asks the service for nothing while the account is stopped', async () => {
      refuse('grant-rejected');
      await refresh();
      world.service.grants.length = 0;

      expect(await world.refreshToken.sweep(world.options())).toEqual({ refreshed: [], failed: [] });

      expect(world.service.grants).toEqual([]);
      expect(holdOf(await world.account(), 'authorization')).toBeDefined();
    });
  });

  it.each(['transient', 'rate-limited', 'paused', 'client-rejected'] as const)(
    'stops nobody for a fault that is %s',
    async (code) => {
      refuse(code);

      expect(await refresh()).toMatchObject({ kind: 'failed', fault: code });

      expect(holdOf(await world.account(), 'authorization')).toBeUndefined();
      expect((await world.account())?.refreshing).toBeUndefined();
      expect(world.observer.counted(metrics.needsAttention)).toBe(code === 'client-rejected' ? 1 : 0);
    },
  );

  it('leaves it to the answers whether a token is bad that the service rejects and returns again', async () => {
    const current = (await stored()).access;
    answer({ access_token: current });

    expect(await refresh()).toEqual({ kind: 'renewed' });
    expect((await world.accounts.read('main'))?.holds).toBeUndefined();
  });

  it('does not pause an account whose token has run out by its own clock alone', async () => {
    const current = (await stored()).access;
    answer({ access_token: current, expires_in: 0 });

    expect(await refresh(undefined, 'expired')).toEqual({ kind: 'renewed' });
  });

  it('stops an account whose scope no longer suffices, with the new pair stored first', async () => {
    answer({ scope: 'v2 read' });

    expect(await refresh()).toEqual({ kind: 'stopped', reason: 'scope-insufficient' });
    expect((await stored()).access).toBe('access-new');
    expect(types()).toEqual(['PartnerAuthorizationRequired']);
    expect(world.observer.counted(metrics.needsAttention)).toBe(1);
  });

  it('tells of a stop once, also when the write that says so is carried out and answered as a conflict', async () => {
    const { store } = world.state;
    let answered = 0;
    const accounts = createPartnerAccounts({
      ...store,
      async put(key, value, expected) {
        const put = await store.put(key, value, expected);
        if (!holdOf(value as PartnerAccount, 'authorization')) return put;
        answered += 1;
        return answered > 1 ? put : { conflict: await store.get(key) };
      },
    });
    const doubting = createRefreshToken({ ...world.tokenDeps, accounts });
    answer({ scope: 'v2 read' });
    const request = {
      partnerAccount: 'main',
      rejectedVersion: await version(),
      because: 'token-rejected',
    } as const;

    expect(await doubting.refresh(request, world.options())).toMatchObject({ kind: 'stopped' });
    expect(types()).toEqual(['PartnerAuthorizationRequired']);
  });

  it('stops an account that met a scope too small, without a refresh', async () => {
    expect(await refresh(undefined, 'scope-insufficient')).toEqual({
      kind: 'stopped',
      reason: 'scope-insufficient',
    });
    expect(world.service.grants).toHaveLength(0);
  });

  it('reports a secret edited by hand and does not overwrite it', async () => {
    const rejected = await version();
    world.state.vault.edit('main', '{"accessToken": "x"');

    expect(await refresh(rejected)).toMatchObject({ kind: 'failed', fault: 'malformed-state' });
    expect(world.service.grants).toHaveLength(0);
    expect(world.observer.counted(metrics.needsAttention)).toBe(1);
  });

  it('refreshes on schedule what has run out, and nothing else', async () => {
    expect(await world.refreshToken.sweep(world.options())).toEqual({ refreshed: [], failed: [] });
    world.clock.advance(dayMs);
    expect(await world.refreshToken.sweep(world.options())).toEqual({ refreshed: ['main'], failed: [] });
  });

  it('calls for a person a week before an unused refresh token dies', async () => {
    refuse('transient');
    world.clock.advance(22 * dayMs);
    await world.refreshToken.sweep(world.options());
    expect(world.observer.counted(metrics.needsAttention)).toBe(0);
    world.clock.advance(dayMs);
    await world.refreshToken.sweep(world.options());
    expect(world.observer.counted(metrics.needsAttention)).toBe(1);
  });

  describe('connect', () => {
    const connect = (change: object = {}) =>
      world.connect.connect(
        { partnerAccount: 'other', refreshToken: new Secret('theirs'), ...change },
        world.options(),
      );

    it('registers the feed from the service clock less the overlap, with a generation', async () => {
      const connected = await connect();

      expect(connected).toMatchObject({ isNew: true, generation: Math.floor(world.clock.now() / 1000) });
      expect(await world.feed('other')).toMatchObject({ since: '2026-11-20T11:55:00.000Z' });
    });

    it('takes the time that it is given instead', async () => {
      await connect({ since: '2026-01-01T00:00:00Z' });

      expect((await world.feed('other'))?.since).toBe('2026-01-01T00:00:00Z');
    });

    it('waits for a refresh under way, which would store a dead pair after the new one', async () => {
      await connect();
      const account = await world.accounts.read('other');
      if (!account) throw new Error('not connected');
      const lock = { holder: 'a refresh', startedAt: world.clock.now(), until: world.clock.now() + 20_000 };
      await world.accounts.change(account.name, () => ({ ...account, refreshing: lock }));
      const startedAt = world.clock.now();

      await connect();

      expect(world.clock.now() - startedAt).toBeGreaterThanOrEqual(20_000);
      expect((await world.account('other'))?.refreshing).toBeUndefined();
    });

    it('that was overtaken leaves the account as it is, and says so', async () => {
      const { feedStates } = world.connectDeps;
      const slow = createConnect({
        ...world.connectDeps,
        feedStates: {
          ...feedStates,
          async register(feed) {
            await feedStates.register(feed);
            world.clock.advance(world.connectDeps.settings.lockMs);
            expect(await refresh()).toEqual({ kind: 'renewed' });
            expect(await refresh(undefined, 'scope-insufficient')).toMatchObject({ kind: 'stopped' });
          },
        },
      });
      const request = { partnerAccount: 'main', refreshToken: new Secret('theirs'), sameUser: true };

      await expect(slow.connect(request, world.options())).rejects.toThrow('connect it again');
      expect(holdOf(await world.account(), 'authorization')).toMatchObject({ reason: 'scope-insufficient' });
      expect(types()).toEqual(['PartnerAuthorizationRequired']);

      await world.connect.connect(request, world.options());
      expect(types()).toEqual(['PartnerAuthorizationRequired', 'PartnerAuthorizationRestored']);
    });

    it('stores nothing when the scope granted is too small', async () => {
      answer({ scope: 'read v2' });

      await expect(connect()).rejects.toMatchObject({
        code: 'scope-refused',
        message: expect.stringContaining('write'),
      });
      expect(await world.account('other')).toBeUndefined();
      expect(await world.state.vault.read('other')).toBeUndefined();
    });

    it('takes scopes in another order or with plus signs', async () => {
      answer({ scope: 'write+read+v2' });

      expect(await connect()).toMatchObject({ scope: 'write read v2' });
    });

    it('stores nothing when the service refuses', async () => {
      refuse('grant-rejected');

      await expect(connect()).rejects.toMatchObject({ code: 'grant-rejected' });
      expect(await world.account('other')).toBeUndefined();
      expect(await world.feed('other')).toBeUndefined();
    });

    it('gives a forgotten account a greater generation when it comes back', async () => {
      const first = await connect();
      await world.connect.forget('other');
      const second = await connect();

      expect(second.isNew).toBe(true);
      expect(second.generation).toBeGreaterThan(first.generation);
    });

    it('keeps cursor and generation of an account that was disconnected', async () => {
      world.service.change('1', 'active');
      await world.round();
      const before = await world.account();
      await world.connect.disconnect('main');
      expect(await world.round()).toMatchObject({ polls: [], stopped: [] });

      const again = await world.connect.connect(
        { partnerAccount: 'main', refreshToken: new Secret('r') },
        world.options(),
      );

      expect(again).toMatchObject({ isNew: false, generation: before?.generation });
      expect((await world.feed())?.cursor).toBe('1');
      expect(types()).toEqual([]);
    });
  });
});
