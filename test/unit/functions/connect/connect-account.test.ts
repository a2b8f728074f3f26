import { expect, it } from 'vitest';
import { createConnect } from '../../../../functions/connect/connect.ts';
import type { ConnectDeps } from '../../../../functions/connect/connected-row.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createTokenWorld } from '../../../helpers/token-world.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const code = (text: string) => ({ code: new Secret(text) });

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
