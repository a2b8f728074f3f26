import { expect, it } from 'vitest';
import { createConnect } from '../../../../functions/connect/connect.ts';
import type { ConnectRequest } from '../../../../functions/connect/connect-account.ts';
import type { ConnectDeps } from '../../../../functions/connect/connected-row.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { stopOf } from '../../../../shared/domain/partner-account.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createTokenWorld } from '../../../helpers/token-world.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const code = (text: string) => ({ code: new Secret(text) });

/** Whether a row that is polled has a feed of its generation, and the token that the vault has. */
async function expectWhole(world: World, name: string) {
  const account = await world.account(name);
  if (!account || stopOf(account)) return;
  expect((await world.feed(name))?.generation).toBe(account.generation);
  expect((await world.state.vault.read(name))?.version).toBe(account.token?.version);
}

const connecting = async () => {
  const world = await createWorld();
  const request = { partnerAccount: 'shop', refreshToken: new Secret('theirs') };
  const connect = (change: Partial<ConnectDeps> = {}) =>
    createConnect({ ...world.connectDeps, ...change }).connect(request, world.options());
  const connectByCode = (more: object = {}) =>
    world.connect.connect({ partnerAccount: 'shop', ...code('code-1'), ...more }, world.options());
  return { world, request, connect, connectByCode };
};

it('the feed starts at the service’s time less the overlap, or as given', async () => {
  const { world, connect, connectByCode } = await connecting();

  expect(await connect()).toMatchObject({
    ...{ isNew: true, generation: Math.floor(world.clock.now() / 1000) },
  });
  expect((await world.feed('shop'))?.since).toBe('2026-11-20T11:55:00.000Z');
  await connectByCode({ partnerAccount: 'other', since: '2026-01-01T00:00:00Z' });
  expect((await world.feed('other'))?.since).toBe('2026-01-01T00:00:00Z');
});

it('a code is exchanged with the scope and the redirect URI', async () => {
  const { world, connectByCode } = await connecting();
  await connectByCode();
  await connectByCode({ redirectUri: 'https://here/' });

  const grant = { grant_type: 'authorization_code', ...code('code-1'), scope: 'v2 read write' };
  expect(world.service.grants.slice(1)).toEqual([grant, { ...grant, redirect_uri: 'https://here/' }]);
});

it('a refresh token is kept when the answer has none, a code is not', async () => {
  const { world, connect, connectByCode } = await connecting();
  world.service.state.tokens = () => ({ access_token: 'access-new', scope: 'write+read+v2' });
  const noToken = { code: 'contract-broken', message: expect.stringMatching(/no usable refresh_token$/) };

  await expect(connectByCode()).rejects.toMatchObject(noToken);
  expect(await world.account('shop')).toBeUndefined();
  expect(await connect()).toMatchObject({ scope: 'write read v2' });
  expect((await world.state.vault.read('shop'))?.pair.refreshToken.reveal()).toBe('theirs');
});

it.each<[string, BridgeFault['code'], (world: World) => void]>([
  [
    'the scope is too small',
    'scope-refused',
    ({ service }) => {
      service.state.tokens = () => ({ access_token: 'a', refresh_token: 'r', scope: 'read v2' });
    },
  ],
  [
    'the service refuses',
    'grant-rejected',
    ({ service }) => {
      service.state.tokens = () => {
        throw new BridgeFault('grant-rejected', 'invalid_grant');
      };
    },
  ],
])('connect stores nothing when %s', async (_why, fault, prepare) => {
  const { world, connect } = await connecting();
  prepare(world);

  await expect(connect()).rejects.toMatchObject({ code: fault });
  expect([await world.account('shop'), await world.feed('shop')]).toEqual([undefined, undefined]);
  expect(await world.state.vault.read('shop')).toBeUndefined();
});

it.each([
  [20_000, true],
  [60_000, false],
])('connect waits for another process that has the account for %i ms', async (ms, isConnected) => {
  const { world, connect } = await connecting();
  await connect();
  const startedAt = world.clock.now();
  const refreshing = { holder: 'a refresh', startedAt, until: startedAt + ms };
  await world.partnerAccounts.change('shop', (account) => ({ ...account, refreshing }));

  const outcome = await connect().catch((fault: BridgeFault) => fault.code);

  expect(outcome).toEqual(isConnected ? expect.objectContaining({ isNew: false }) : 'account-busy');
  expect(world.clock.now() - startedAt).toBe(isConnected ? 20_000 : 59_500);
});

it.each([
  new BridgeFault('transient', 'no answer', { status: 503, serviceCode: 'down', retryAfterMs: 5_000 }),
  new Error('disk full'),
])('connect passes on why a pair could not be stored: %s', async (error) => {
  const { world, connect } = await connecting();

  const fault = await connect({
    vault: { ...world.state.vault, write: () => Promise.reject(error) },
  }).catch((reason: unknown) => reason);

  if (!(error instanceof BridgeFault)) return expect(fault).toBe(error);
  const { code: kind, status, serviceCode, retryAfterMs } = error;
  expect(fault).toMatchObject({ code: kind, status, serviceCode, retryAfterMs, cause: error });
  expect(String(fault)).toMatch(/no answer \(.*not stored/);
});

/** `main` has published an event; then another user authorizes. */
async function published() {
  const world = await createWorld();
  world.service.change('1', 'active');
  await world.round();
  await world.handleBatch();
  const before = await world.account();
  if (!before) throw new Error('not connected');
  const connect = (more: Partial<ConnectRequest> = {}) =>
    world.connect.connect(
      { partnerAccount: 'main', ...code('other'), newUser: true, ...more },
      world.options(),
    );
  return { world, before, connect };
}

it.each([
  ['while it is polled', false],
  ['after it was disconnected', true],
])('a new user under a known name gets a new generation: %s', async (_case, leaves) => {
  const { world, before, connect } = await published();
  if (leaves) await world.connect.disconnect('main');

  const connected = await connect({ since: '2026-11-20T09:00:00Z' });

  expect(connected).toMatchObject({ isNew: true });
  expect(connected.generation).toBeGreaterThan(before.generation);
  expect(await world.account()).toMatchObject({ generation: connected.generation });
  expect((await world.account())?.token?.version).not.toBe(before.token?.version);
  await expectWhole(world, 'main');
  const feed = await world.feed();
  expect(feed).toMatchObject({ generation: connected.generation, since: '2026-11-20T09:00:00Z' });
  expect(feed?.cursor).toBeUndefined();
  // The history of before stays, under its generation.
  const key = { partnerAccount: 'main', feed: 'adverts', advertId: '1' } as const;
  const rowOf = (generation: number) => world.state.advertHistories.read({ ...key, generation });
  expect(await rowOf(before.generation)).toMatchObject({ sequence: 1 });
  expect(await rowOf(connected.generation)).toBeUndefined();
  expect((await world.books()).listed).toBe(0);
});

it.each([
  [86_400_000, /lacks write \(the service has replaced the refresh token handed in/],
  [0, /has been used, and is still the newest one/],
])('a refusal says whether the token works again, %i ms after its issue', async (ageMs, fate) => {
  const world = await createTokenWorld();
  const refreshToken = new Secret(world.sandbox.control.issueRefreshToken('main', 'v2 read'));
  world.clock.advance(ageMs);

  const refused = world.stage.connect({ partnerAccount: 'second', refreshToken }, world.options());
  const { code: kind, message } = (await refused.catch((fault: unknown) => fault)) as BridgeFault;

  expect(kind).toBe('scope-refused');
  expect(message).toMatch(fate);
  for (const secret of world.sandbox.control.issuedTokens()) expect(message).not.toContain(secret);
  expect(await world.state.partnerAccounts.read('second')).toBeUndefined();
});
