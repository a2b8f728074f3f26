import { beforeEach, expect, it } from 'vitest';
import { createConnect } from '../../../../functions/connect/connect.ts';
import { refreshLockMs } from '../../../../functions/refresh-token/refresh-lock.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { stopped } from '../../../helpers/holds.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld();
});
const connect = () =>
  world.connect.connect({ partnerAccount: 'main', refreshToken: new Secret('theirs') }, world.options());
const change = (changed: (account: PartnerAccount) => PartnerAccount) =>
  world.partnerAccounts.change('main', changed);
/** As if another process had the account in hand. */
const lockFor = (ms: number) => {
  const startedAt = world.clock.now();
  return change((account) => ({
    ...account,
    refreshing: { holder: 'somebody', startedAt, until: startedAt + ms },
  }));
};

it('disconnect removes credentials and returns whether it knew the name', async () => {
  expect(await world.connect.disconnect('main')).toBe(true);
  expect(await world.state.vault.read('main')).toBeUndefined();
  expect(await world.connect.disconnect('nobody')).toBe(false);
});

it('disconnect waits fifteen seconds for another process', async () => {
  await lockFor(14_000);
  expect(await world.connect.disconnect('main')).toBe(true);

  await lockFor(16_000);
  await expect(world.connect.disconnect('main')).rejects.toMatchObject({ code: 'account-busy' });
});

it('disconnect keeps cursor and generation for the next connect', async () => {
  world.service.change('1', 'active');
  await world.round();
  const before = await world.account();
  await world.connect.disconnect('main');
  expect(await world.round()).toMatchObject({ polls: [], stopped: [] });

  expect(await connect()).toMatchObject({ isNew: false, generation: before?.generation });
  expect((await world.feed())?.cursor).toBe('1');
  expect(world.published()).toEqual([]);
});

it('forgetting keeps the account until its histories may be removed', async () => {
  const generation = (await world.account())?.generation;

  expect(await world.connect.beginForget('main')).toBe(generation);
  expect(await world.account()).toMatchObject({ forgetting: true });
  await world.connect.endForget('main', generation ?? 0);

  expect([await world.account(), await world.feed()]).toEqual([undefined, undefined]);
  expect((await connect()).generation).toBeGreaterThan(generation ?? 0);
});

it('forgetting removes no history while a worker may not know of it yet', async () => {
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

  const generation = (await world.connect.beginForget('main')) ?? 0;
  await world.state.advertHistories.remove('main', generation);
  const later = (await world.handleBatch()).map(({ verdict }) => verdict.kind);

  expect(before).toHaveLength(2);
  expect(later).toEqual(['forgotten']);
  expect(world.advertEvents()).toEqual(before);
});

it('forgetting waits until a clock five seconds behind passes it', async () => {
  // Given by a clock that is three seconds ahead.
  await change((account) => ({ ...account, generation: account.generation + 3 }));
  const generation = (await world.connect.beginForget('main')) ?? 0;

  await world.connect.endForget('main', generation);

  expect(world.clock.now()).toBe((generation + 1) * 1000 + 5_000);
  expect(await world.connect.beginForget('main')).toBeUndefined();
});

it.each<[string, (account: PartnerAccount) => PartnerAccount]>([
  ['with a new generation', (account) => ({ ...account, generation: account.generation + 1 })],
  [
    'and was disconnected',
    ({ forgetting: _forgetting, ...account }) => ({ ...account, ...stopped('disconnected') }),
  ],
])('forgetting leaves an account that was connected again: %s', async (_case, connectedAgain) => {
  const generation = (await world.connect.beginForget('main')) ?? 0;
  await change(connectedAgain);

  await expect(world.connect.endForget('main', generation)).rejects.toMatchObject({ code: 'account-busy' });
  expect(await world.account()).toBeDefined();
  expect(await world.feed()).toBeDefined();
});

it('forgetting goes on when the account is disconnected meanwhile', async () => {
  await world.connect.beginForget('main');
  await world.connect.disconnect('main');

  expect(await world.account()).toMatchObject({ forgetting: true, holds: [{ reason: 'disconnected' }] });
  expect(await connect()).toMatchObject({ isNew: true });
});

it.each([
  ['disconnect, before it removes the credentials', 'read', 'disconnect'],
  ['forget, before it removes the feed', 'read', 'endForget'],
  ['forget, before it removes the account', 'remove', 'endForget'],
] as const)(
  'a late process removes nothing that was connected meanwhile: %s',
  async (_case, method, command) => {
    const isForgetting = command === 'endForget';
    const generation = isForgetting ? ((await world.connect.beginForget('main')) ?? 0) : 0;
    world.clock.advance(60_000);
    const { partnerAccounts } = world.connectDeps;
    let isFrozen = false;
    async function freeze() {
      isFrozen = true;
      world.clock.advance(refreshLockMs);
      await connect();
    }
    const frozen: typeof partnerAccounts = {
      ...partnerAccounts,
      async read(name) {
        const account = await partnerAccounts.read(name);
        const isInHand = account?.holds && account.refreshing;
        if (method !== 'read' || isFrozen || !isInHand) return account;
        await freeze();
        return isForgetting ? account : partnerAccounts.read(name);
      },
      async remove(...args) {
        if (method === 'remove') await freeze();
        return partnerAccounts.remove(...args);
      },
    };

    const stage = createConnect({ ...world.connectDeps, partnerAccounts: frozen });
    await stage[command]('main', generation).catch(() => undefined);

    expect(isFrozen).toBe(true);
    const account = await world.account();
    expect(account?.holds).toBeUndefined();
    expect((await world.state.vault.read('main'))?.version).toBe(account?.token?.version);
    expect((await world.feed())?.generation).toBe(account?.generation);
  },
);
