import { beforeEach, describe, expect, it } from 'vitest';
import { createConnect } from '../../../../functions/connect/connect.ts';
import type { ConnectRequest } from '../../../../functions/connect/connect-account.ts';
import type { TokenRefresh } from '../../../../functions/refresh-token/refresh-lock.ts';
import { createRefreshToken } from '../../../../functions/refresh-token/refresh-token.ts';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { endOfHold } from '../../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { holdOf, stopped, tokenHold } from '../../../helpers/holds.ts';
import { partnerAccount } from '../../../helpers/records.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const dayMs = 86_400_000;
let world: World;
beforeEach(async () => {
  world = await createWorld();
  world.service.grants.length = 0;
});

const version = async () => (await world.account())?.token?.version ?? '';
const refresh = async (change: Partial<TokenRefresh> = {}) =>
  world.refreshToken.refresh(
    { partnerAccount: 'main', rejectedVersion: await version(), because: 'token-rejected', ...change },
    world.options(),
  );
const connect = (change: Partial<ConnectRequest> = {}, deps = world.connectDeps) =>
  createConnect(deps).connect(
    { partnerAccount: 'other', refreshToken: new Secret('theirs'), ...change },
    world.options(),
  );
const connectByCode = (change: object = {}) =>
  world.connect.connect({ partnerAccount: 'other', code: new Secret('code-1'), ...change }, world.options());
/** Stores a changed account, as if another process had written it. */
async function change(name: string, changed: (account: PartnerAccount) => PartnerAccount) {
  await world.accounts.change(name, changed);
}
const lockedFor = (ms: number) => (account: PartnerAccount) => ({
  ...account,
  refreshing: { holder: 'somebody', startedAt: world.clock.now(), until: world.clock.now() + ms },
});
const answer = (changed: object) => {
  world.service.state.tokens = () => ({
    ...{ access_token: 'access-new', refresh_token: 'refresh-new', expires_in: 86_400 },
    ...{ token_type: 'bearer', scope: 'v2 read write' },
    ...changed,
  });
};
const lines = () => world.observer.lines.map(({ level, fields }) => ({ level, fields }));

describe('connect', () => {
  it('exchanges a code with the scope and the redirect URI that it was got with', async () => {
    await connectByCode();
    await connectByCode({ redirectUri: 'https://here/' });

    const grant = { type: 'authorization_code', code: new Secret('code-1'), scope: 'v2 read write' };
    expect(world.service.grants).toEqual([grant, { ...grant, redirectUri: 'https://here/' }]);
    expect(world.service.grants[0]).not.toHaveProperty('redirectUri');
  });

  it('keeps a refresh token that was handed in where the answer has none; a code leaves none to keep', async () => {
    answer({ refresh_token: undefined });
    await connect();
    expect((await world.state.vault.read('other'))?.pair.refreshToken.reveal()).toBe('theirs');

    const error = { code: 'contract-broken', message: expect.stringMatching(/no usable refresh_token$/) };
    await expect(connectByCode({ partnerAccount: 'third' })).rejects.toMatchObject(error);
    answer({ access_token: undefined });
    await expect(connectByCode({ partnerAccount: 'third' })).rejects.toMatchObject({
      message: expect.stringMatching(/no usable access_token$/),
    });
    expect(await world.account('third')).toBeUndefined();
  });

  it('warns of a token type that it does not know', async () => {
    answer({ token_type: 'mac' });
    await connect();

    expect(lines()).toContainEqual({ level: 'warn', fields: { partnerAccount: 'other' } });
  });

  it('gives up when somebody else has the account in hand until its deadline', async () => {
    await change('main', lockedFor(60_000));
    const startedAt = world.clock.now();

    const request = { partnerAccount: 'main', code: new Secret('code-1') };
    await expect(world.connect.connect(request, world.options())).rejects.toMatchObject({
      code: 'account-busy',
    });

    expect(world.clock.now() - startedAt).toBe(59_500);
    expect(world.service.grants).toEqual([]);
  });

  it('is told when the account was forgotten meanwhile', async () => {
    const { vault } = world.connectDeps;
    const forgetting = {
      ...world.connectDeps,
      vault: {
        ...vault,
        async write(...args: Parameters<typeof vault.write>) {
          await world.accounts.remove('main');
          return vault.write(...args);
        },
      },
    };

    await expect(connect({ partnerAccount: 'main', sameUser: true }, forgetting)).rejects.toThrow(
      /forgotten/,
    );
  });

  it('says what the service said when a refresh token was handed in for nothing', async () => {
    const told = { status: 503, serviceCode: 'down', retryAfterMs: 5_000 };
    const failing = (error: Error) => ({
      ...world.connectDeps,
      vault: { ...world.connectDeps.vault, write: () => Promise.reject(error) },
    });

    const fault = new BridgeFault('transient', 'no answer', told);
    await expect(connect({}, failing(fault))).rejects.toMatchObject({
      ...{ ...told, code: 'transient', cause: fault },
      message: expect.stringMatching(/^no answer \(.*not stored/),
    });
    const bare = new BridgeFault('transient', 'no answer');
    await expect(connect({}, failing(bare))).rejects.toMatchObject({ status: undefined, cause: bare });
    const other = new Error('disk full');
    await expect(connect({}, failing(other))).rejects.toBe(other);
  });

  it('does not mind what other partner accounts have', async () => {
    world.clock.advance(5_000);
    const other = await connect();

    expect(await connect({ partnerAccount: 'main' })).toMatchObject({ isNew: false });
    expect((await world.account())?.generation).toBeLessThan(other.generation);
  });
});

describe('disconnect', () => {
  it('tells whether the name was known, and leaves no credentials', async () => {
    expect(await world.connect.disconnect('main')).toBe(true);
    expect(await world.state.vault.read('main')).toBeUndefined();
    expect(await world.connect.disconnect('nobody')).toBe(false);
  });

  it('waits fifteen seconds for a refresh that is under way', async () => {
    await change('main', lockedFor(14_000));
    expect(await world.connect.disconnect('main')).toBe(true);

    await change('main', lockedFor(16_000));
    await expect(world.connect.disconnect('main')).rejects.toMatchObject({ code: 'account-busy' });
  });

  it('removes nothing of an account that is gone by then', async () => {
    const removed: string[] = [];
    const { vault, accounts } = world.connectDeps;
    let changes = 0;
    const { disconnect } = createConnect({
      ...world.connectDeps,
      accounts: {
        ...accounts,
        async change(...args) {
          changes += 1;
          // Found and locked, and then forgotten by another process.
          return changes > 1 ? undefined : accounts.change(...args);
        },
      },
      vault: { ...vault, remove: async (name) => void removed.push(name) },
    });

    expect(await disconnect('main')).toBe(false);
    expect(removed).toEqual([]);
  });

  it('removes nothing when the account was connected again while its process stood still', async () => {
    let isFrozen = false;
    const { accounts } = world.connectDeps;
    const frozen: typeof accounts = {
      ...accounts,
      async read(name) {
        const isStopped = holdOf(await accounts.read(name), 'authorization') !== undefined;
        if (isStopped && !isFrozen) {
          isFrozen = true;
          world.clock.advance(90_000);
          await connect({ partnerAccount: 'main' });
        }
        return accounts.read(name);
      },
    };

    const { disconnect } = createConnect({ ...world.connectDeps, accounts: frozen });
    await expect(disconnect('main')).rejects.toMatchObject({ code: 'account-busy' });

    expect(isFrozen).toBe(true);
    expect(await world.state.vault.read('main')).toBeDefined();
    expect(holdOf(await world.account(), 'authorization')).toBeUndefined();
  });
});

describe('forgetting', () => {
  it('removes histories between the two halves, and tells whether the name was known', async () => {
    const generation = (await world.account())?.generation;
    const told: unknown[] = [];

    expect(
      await world.connect.forget('main', async (upTo) => {
        told.push(upTo, (await world.account())?.forgetting);
      }),
    ).toBe(true);

    expect(told).toEqual([generation, true]);
    expect([await world.account(), await world.feed()]).toEqual([undefined, undefined]);
    expect(await world.connect.forget('main', async () => void told.push('retry'))).toBe(false);
    expect(told).toHaveLength(2);
  });

  it('removes no history as long as a worker may begin an advert anew that it has not heard the end of', async () => {
    world.service.change('1', 'active');
    await world.round();
    await world.handleBatch();
    world.service.change('1', 'sold');
    world.service.change('2', 'active');
    await world.round();
    world.clock.advance(2_000);
    // The worker sees the account now, and has one of the two messages left to do.
    await world.handleBatch(1);
    const before = world.advertEvents();
    const later: string[] = [];

    await world.connect.forget('main', async (generation) => {
      await world.state.advertHistories.remove('main', generation);
      later.push(...(await world.handleBatch()).map(({ verdict }) => verdict.kind));
    });

    expect(before).toHaveLength(2);
    expect(later).toEqual(['forgotten']);
    expect(world.advertEvents()).toEqual(before);
  });

  it('waits until a clock that is five seconds behind has come past the generation, and no longer', async () => {
    // Given by a clock that is three seconds ahead.
    await change('main', (account) => ({ ...account, generation: account.generation + 3 }));
    const generation = (await world.connect.beginForget('main')) ?? 0;
    await world.connect.endForget('main', generation);
    expect(world.clock.now()).toBe((generation + 1) * 1000 + 5_000);

    world.clock.advance(60_000);
    const later = world.clock.now();
    await world.connect.endForget('main', generation);
    expect(world.clock.now()).toBe(later);
    expect(await world.connect.beginForget('main')).toBeUndefined();
  });

  it.each<[string, (account: PartnerAccount) => PartnerAccount]>([
    ['with a new generation', (account) => ({ ...account, generation: account.generation + 1 })],
    [
      'and goes on',
      ({ holds: _holds, unanswered: _unanswered, forgetting: _forgetting, ...account }) => account,
    ],
    [
      'and was disconnected',
      ({ forgetting: _forgetting, ...account }) => ({ ...account, ...stopped('disconnected') }),
    ],
  ])('leaves an account alone that was connected again in between: %s', async (_case, connectedAgain) => {
    const generation = (await world.connect.beginForget('main')) ?? 0;
    await change('main', connectedAgain);

    await expect(world.connect.endForget('main', generation)).rejects.toMatchObject({ code: 'account-busy' });
    expect(await world.account()).toBeDefined();
    expect(await world.feed()).toBeDefined();
  });

  it('waits fifteen seconds for somebody who has the account in hand', async () => {
    const generation = (await world.connect.beginForget('main')) ?? 0;
    world.clock.advance(10_000);
    await change('main', lockedFor(16_000));
    await expect(world.connect.endForget('main', generation)).rejects.toMatchObject({ code: 'account-busy' });
    await world.connect.endForget('main', generation);
    expect(await world.account()).toBeUndefined();
  });

  it.each([
    ['before it removes the feed', 'read'],
    ['before it removes the account', 'remove'],
  ] as const)('removes nothing of a later connect when its process is frozen %s', async (_when, method) => {
    const generation = (await world.connect.beginForget('main')) ?? 0;
    world.clock.advance(60_000);
    const { accounts } = world.connectDeps;
    let isFrozen = false;
    /** Until its lock has expired, and the name is connected again. */
    async function freeze() {
      isFrozen = true;
      world.clock.advance(world.connectDeps.settings.lockMs);
      await connect({ partnerAccount: 'main' });
    }
    const frozen: typeof accounts = {
      ...accounts,
      async read(name) {
        const account = await accounts.read(name);
        if (method === 'read' && account?.refreshing && !isFrozen) await freeze();
        return account;
      },
      async remove(...args) {
        if (method === 'remove') await freeze();
        return accounts.remove(...args);
      },
    };

    await createConnect({ ...world.connectDeps, accounts: frozen })
      .endForget('main', generation)
      .catch(() => undefined);

    expect(isFrozen).toBe(true);
    expect((await world.account())?.generation).toBeGreaterThan(generation);
    expect((await world.feed())?.generation).toBe((await world.account())?.generation);
  });

  it('stays begun when the account is disconnected again, and connecting begins a new generation', async () => {
    const generation = (await world.connect.beginForget('main')) ?? 0;
    await world.connect.disconnect('main');
    expect(await world.account()).toMatchObject({ forgetting: true, holds: [{ reason: 'disconnected' }] });

    const again = await connect({ partnerAccount: 'main' });
    expect(again).toMatchObject({ isNew: true });
    expect(again.generation).toBeGreaterThan(generation);
  });
});

describe('a refresh', () => {
  it('is refused for an account that is not connected', async () => {
    expect(await refresh({ partnerAccount: 'nobody' })).toEqual({
      kind: 'stopped',
      reason: 'partner account nobody is not connected',
    });
  });

  it('stops an account whose secret is gone', async () => {
    await world.state.vault.remove('main');

    expect(await refresh()).toEqual({ kind: 'stopped', reason: 'refresh-token-rejected' });
  });

  it('asks for nothing while the account is disconnected', async () => {
    const rejectedVersion = await version();
    await world.connect.disconnect('main');

    for (const because of ['token-rejected', 'unused'] as const)
      expect(await refresh({ rejectedVersion, because })).toEqual({
        kind: 'stopped',
        reason: 'disconnected',
      });
    expect(world.service.grants).toEqual([]);
  });

  it('asks for nothing when the account is stopped just before it has it in hand', async () => {
    const rejectedVersion = await version();
    let isStopped = false;
    const { accounts } = world.tokenDeps;
    const stage = createRefreshToken({
      ...world.tokenDeps,
      accounts: {
        ...accounts,
        async read(name) {
          const account = await accounts.read(name);
          const stop = stopped('scope-insufficient');
          if (!isStopped) await change('main', (account) => ({ ...account, ...stop }));
          isStopped = true;
          return account;
        },
      },
    });

    expect(
      await stage.refresh(
        { partnerAccount: 'main', rejectedVersion, because: 'token-rejected' },
        world.options(),
      ),
    ).toEqual({ kind: 'stopped', reason: 'scope-insufficient' });
    expect(world.service.grants).toEqual([]);
  });

  it.each(['token-rejected', 'expired'] as const)(
    'does nothing for a version that is not the current one: %s',
    async (because) => {
      expect(await refresh({ rejectedVersion: 'an older one', because })).toEqual({ kind: 'renewed' });
      expect(world.service.grants).toEqual([]);
    },
  );

  it('pauses an account whose answer has no access token, and calls for a person', async () => {
    answer({ access_token: undefined });

    expect(await refresh()).toEqual({
      kind: 'paused',
      untilMs: world.clock.now() + 5_000,
      reason: 'token-answer-broken',
    });
    expect(world.observer.counted(metrics.needsAttention)).toBe(1);
    expect(lines().at(-1)).toEqual({
      level: 'error',
      fields: { partnerAccount: 'main', fault: 'contract-broken' },
    });
  });

  it.each([
    ['with another token ends a pause', 'access-new', false],
    ['with the same token leaves a pause as it is', 'access-1', true],
  ] as const)('only so that the refresh token lives on, %s', async (_case, access_token, stays) => {
    const hold = tokenHold(world.clock.now() + 60_000);
    await change('main', (account) => ({ ...account, holds: [hold] }));
    answer({ access_token });

    expect(await refresh({ because: 'unused' })).toEqual({ kind: 'renewed' });

    expect(holdOf(await world.account(), 'token')).toEqual(stays ? hold : undefined);
  });

  it('of a paused account is put off for any other reason, until the very end of the pause', async () => {
    const hold = tokenHold(world.clock.now() + 60_000);
    await change('main', (account) => ({ ...account, holds: [hold] }));

    for (const because of ['token-rejected', 'expired'] as const)
      expect(await refresh({ because })).toEqual({
        kind: 'paused',
        untilMs: endOfHold(hold),
        reason: 'tired',
      });
    expect(world.service.grants).toEqual([]);
    world.clock.advance(60_000);
    expect(await refresh({ because: 'expired' })).toEqual({ kind: 'renewed' });
  });

  it.each([
    ['transient', 'warn', 0],
    ['client-rejected', 'error', 1],
  ] as const)('that fails as %s says so with its reason', async (code, level, attention) => {
    const cause = new Error('deep down');
    world.service.state.tokens = () => {
      throw new BridgeFault(code, 'told so', { cause });
    };

    expect(await refresh()).toEqual({ kind: 'failed', fault: code, reason: 'told so' });

    const fields = { partnerAccount: 'main', fault: code, reason: 'told so', error: cause };
    expect(lines().at(-1)).toEqual({ level, fields });
    expect(world.observer.counted(metrics.needsAttention)).toBe(attention);
  });

  it('tells which scopes are missing', async () => {
    answer({ scope: 'read' });
    await refresh();

    expect(lines().at(-1)).toEqual({
      level: 'error',
      fields: { partnerAccount: 'main', missing: ['v2', 'write'] },
    });
  });
});

describe('events that an account owes', () => {
  it('are published in their order, each once, also when the bus takes one at a time', async () => {
    await change('main', (account) => ({ ...account, owedEvents: ['"one"', '"two"', '"three"'] }));
    world.events.refuse((envelope) => envelope === '"two"');

    await world.refreshToken.sweep(world.options());

    expect(world.events.accepted).toEqual(['"one"']);
    expect((await world.account())?.owedEvents).toEqual(['"two"', '"three"']);
    expect(lines()).toContainEqual({
      level: 'warn',
      fields: { partnerAccount: 'main', error: expect.any(Error) },
    });
    world.events.refuse(() => false);
    await world.refreshToken.sweep(world.options());
    expect(world.events.accepted).toEqual(['"one"', '"two"', '"three"']);
    expect(await world.account()).not.toHaveProperty('owedEvents');
  });
});

describe('a sweep', () => {
  it('takes the refresh token first that was unused longest, and leaves accounts without one alone', async () => {
    world.clock.advance(1_000);
    await connect({ partnerAccount: 'earlier' });
    world.clock.advance(1_000);
    await connect({ partnerAccount: 'a-later' });
    await world.accounts.add(partnerAccount({ name: 'b-bare' }));
    world.clock.advance(dayMs);

    expect(await world.refreshToken.sweep(world.options())).toEqual({
      refreshed: ['main', 'earlier', 'a-later'],
      failed: [],
    });
  });

  it('begins no refresh with less than five seconds left, and says how many wait', async () => {
    await connect();
    world.clock.advance(dayMs);
    const sweep = (ms: number) => world.refreshToken.sweep({ deadlineMs: world.clock.now() + ms });

    expect(await sweep(4_999)).toEqual({ refreshed: [], failed: [] });
    expect(lines().at(-1)).toEqual({ level: 'warn', fields: { count: 2 } });
    const before = lines().length;
    expect(await sweep(5_000)).toEqual({ refreshed: ['main', 'other'], failed: [] });
    expect(
      lines()
        .slice(before)
        .filter(({ level }) => level === 'warn'),
    ).toEqual([]);
  });

  it('reports what failed or stopped, and nothing of what was stopped before', async () => {
    world.clock.advance(dayMs);
    world.service.state.tokens = () => {
      throw new BridgeFault('grant-rejected', 'invalid_grant');
    };

    expect(await world.refreshToken.sweep(world.options())).toEqual({ refreshed: [], failed: ['main'] });
    world.clock.advance(40 * dayMs);
    const before = world.observer.counted(metrics.needsAttention);
    expect(await world.refreshToken.sweep(world.options())).toEqual({ refreshed: [], failed: [] });
    expect(world.observer.counted(metrics.needsAttention)).toBe(before);
  });

  it('names the account whose refresh token dies within a week', async () => {
    world.service.state.tokens = () => {
      throw new BridgeFault('transient', 'no answer');
    };
    world.clock.advance(23 * dayMs);
    await world.refreshToken.sweep(world.options());

    expect(lines().at(-1)).toEqual({ level: 'error', fields: { partnerAccount: 'main' } });
  });

  it('goes on beside a row that cannot be read, and calls for a person', async () => {
    world.clock.advance(dayMs);
    const { accounts } = world.tokenDeps;
    const { sweep } = createRefreshToken({
      ...world.tokenDeps,
      accounts: {
        ...accounts,
        list(onUnreadable) {
          onUnreadable?.(new ShapeError('row x', [{ path: 'name', expected: 'no name' }]));
          return accounts.list();
        },
      },
    });

    expect(await sweep(world.options())).toEqual({ refreshed: ['main'], failed: [] });
    expect(lines()).toContainEqual({ level: 'error', fields: { reason: 'row x: name: no name' } });
    expect(world.observer.counted(metrics.needsAttention)).toBe(1);
  });
});
