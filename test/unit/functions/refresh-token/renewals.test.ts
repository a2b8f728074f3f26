import { beforeEach, expect, it } from 'vitest';
import type { TokenRefresh } from '../../../../functions/refresh-token/refresh-lock.ts';
import { createRefreshToken } from '../../../../functions/refresh-token/refresh-token.ts';
import { storeApplication } from '../../../../operators/operations/connect-functions.ts';
import { resume } from '../../../../operators/operations/pause.ts';
import type { Rejection } from '../../../../shared/contract/invocations.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import { withHold } from '../../../../shared/domain/holds.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { holdOf, tokenHold } from '../../../helpers/holds.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const dayMs = 86_400_000;
const minuteMs = 60_000;
let world: World;
beforeEach(async () => {
  world = await createWorld();
  for (const partnerAccount of ['shop', 'beta']) await connect(partnerAccount);
  world.service.grants.length = 0;
});

const connect = (partnerAccount: string) =>
  world.connect.connect({ partnerAccount, refreshToken: new Secret('theirs') }, world.options());
const refresh = async (partnerAccount: string, because: TokenRefresh['because']) => {
  const rejectedVersion = (await world.account(partnerAccount))?.token?.version ?? '';
  return world.refreshToken.refresh({ partnerAccount, rejectedVersion, because }, world.options());
};
const fail = (code: FaultKind, retryAfterMs?: number) => {
  world.service.state.tokens = () => {
    throw new BridgeFault(code, `POST /token answered ${code}`, { retryAfterMs });
  };
};

/** Asks for a new token again and again, as a backlog does. @returns the seconds in which the endpoint was asked */
async function asked(
  accounts: readonly string[],
  ms: number,
  because: Rejection = 'expired',
  everyMs = 1_000,
) {
  const seconds: number[] = [];
  for (let at = 0; at < ms; at += everyMs) {
    for (const name of accounts) await refresh(name, because);
    for (; seconds.length < world.service.grants.length; ) seconds.push(at / 1_000);
    world.clock.advance(everyMs);
  }
  return seconds;
}

it('the service is not asked for a pair when there is no room to store one', async () => {
  world.tokenDeps.vault.reserve = () => Promise.reject(new Error('the disk is full'));

  expect(await asked(['shop'], 2_000)).toEqual([]);

  // Nothing was sent, so no renewal waits.
  delete world.tokenDeps.vault.reserve;
  expect(await asked(['shop'], 1_000)).toEqual([0]);
});

it('a renewal that could not be sent, in a pause, is tried again at once', async () => {
  fail('paused');

  expect(await asked(['main'], 3_000)).toEqual([0, 1, 2]);
});

it.each<[FaultKind, Rejection]>([
  ['transient', 'expired'],
  ['forbidden', 'expired'],
  ['client-rejected', 'expired'],
  ['request-refused', 'token-rejected'],
])('a token is asked for after 5 s, doubled, when the answer is %s (%s)', async (code, because) => {
  if (because === 'expired') world.clock.advance(dayMs);
  fail(code);
  const since = world.clock.now();

  expect(await asked(['main'], 10 * minuteMs, because)).toEqual([0, 5, 15, 35, 75, 155, 315]);
  const hold = holdOf(await world.account(), 'token');
  const reason = code === 'client-rejected' ? code : 'token-not-renewed';
  expect(hold).toEqual(because === 'expired' ? expect.objectContaining({ reason, since }) : undefined);
});

/** The access token cannot be sent, but the refresh token is stored. */
const uselessTokens = () => {
  let issued = 0;
  world.service.state.tokens = () =>
    ({ refresh_token: `useless-${++issued}`, token_type: 'bearer' }) as never;
};

it.each<[string, number, () => void]>([
  ['transient', 600, () => fail('transient')],
  ['forbidden', 600, () => fail('forbidden')],
  ['wrong-path', 600, () => fail('wrong-path')],
  ['invalid-request', 600, () => fail('invalid-request')],
  ['client-rejected', 600, () => fail('client-rejected')],
  ['JSON without a token', 600, () => fail('contract-broken')],
  ['tokens that cannot be sent', 3_600, uselessTokens],
])('a token is asked for after at most so many seconds at %s: %i', async (_answer, seconds, begin) => {
  world.clock.advance(dayMs);
  begin();

  const all = await asked(['main'], 180 * minuteMs, 'expired', 5_000);

  expect((all.at(-1) ?? 0) - (all.at(-2) ?? 0)).toBe(seconds);
});

it('a token is asked for after the time that the service names', async () => {
  fail('transient', 30_000);

  expect(await asked(['main'], 35_000)).toEqual([0, 30]);
});

it('a token is asked for at once after the clock was put right', async () => {
  fail('transient');
  world.clock.advance(dayMs);
  await refresh('main', 'token-rejected');
  world.clock.advance(-dayMs);
  await refresh('main', 'token-rejected');

  expect(world.service.grants).toHaveLength(2);
});

it('one account asks for all when the endpoint fails for several', async () => {
  const answer = world.service.state.tokens;
  world.clock.advance(dayMs);
  fail('transient');
  expect(await asked(['main', 'shop'], 1_000)).toEqual([0, 0]);

  // What was rejected may have been so in error: requests go on with it.
  for (const because of ['token-rejected', 'unused'] as const)
    expect(await refresh('beta', because)).toEqual({ kind: 'held' });
  expect(holdOf(await world.account('beta'), 'token')).toBeUndefined();
  world.clock.advance(3_000);
  expect(await refresh('beta', 'expired')).toEqual({ kind: 'held' });
  expect(holdOf(await world.account('beta'), 'token')).toMatchObject({ reason: 'token-not-renewed' });
  expect(world.service.grants).toHaveLength(2);

  world.clock.advance(1_000);
  world.service.state.tokens = answer;
  for (const name of ['beta', 'main', 'shop'])
    expect(await refresh(name, 'expired')).toEqual({ kind: 'renewed' });
});

it('the others wait while one account tries the endpoint for all', async () => {
  world.clock.advance(dayMs);
  fail('transient');
  await asked(['main', 'shop'], 1_000);
  world.clock.advance(4_000);
  const outcomes: unknown[] = [];
  const client = {
    async requestTokens(...call: Parameters<typeof world.service.requestTokens>) {
      outcomes.push(await refresh('main', 'expired'));
      return world.service.requestTokens(...call);
    },
  };
  const rejectedVersion = (await world.account('beta'))?.token?.version ?? '';
  const request = { partnerAccount: 'beta', rejectedVersion, because: 'expired' } as const;

  await createRefreshToken({ ...world.tokenDeps, client }).refresh(request, world.options());

  expect(outcomes).toEqual([{ kind: 'held' }]);
  expect(world.service.grants).toHaveLength(3);
});

it.each<[string, readonly string[], FaultKind, boolean, string]>([
  ['all wait when the endpoint fails for two accounts', ['main', 'shop'], 'transient', false, 'held'],
  ['all wait, too, when their renewals went well before', ['main', 'shop'], 'transient', true, 'held'],
  [
    'no other waits when it fails for one account again and again',
    ['main', 'main', 'main'],
    'transient',
    false,
    'failed',
  ],
  [
    'no other waits when it fails for two in a way that is not its own',
    ['main', 'shop'],
    'rate-limited',
    false,
    'failed',
  ],
])('%s', async (_rule, names, code, isKnown, kind) => {
  if (isKnown) await asked(['main', 'shop'], 10_000, 'token-rejected', 10_000);
  fail(code);
  for (const name of names) {
    world.clock.advance(name === names[0] ? 60_000 : 0);
    await refresh(name, 'token-rejected');
  }

  expect(await refresh('beta', 'token-rejected')).toMatchObject({ kind });
});

it.each<[string, TokenRefresh['because'], object, boolean]>([
  ['expired and its renewal failed', 'expired', { fault: 'transient' }, true],
  ['expired after its renewal', 'expired', {}, false],
  ['was rejected and its renewal failed', 'token-rejected', { fault: 'transient' }, false],
  ['is unused and its renewal failed', 'unused', { fault: 'transient' }, false],
])('requests wait for a renewal if the token %s', async (_how, because, fault, isHeld) => {
  const [at, forMs] = [world.clock.now(), minuteMs];
  const renewal = { at, forMs, ...fault };
  await world.partnerAccounts.change('main', (account) => ({ ...account, renewal }));

  expect(await refresh('main', because)).toEqual({ kind: 'held' });

  const hold = holdOf(await world.account(), 'token');
  expect(hold).toEqual(isHeld ? expect.objectContaining({ since: at, until: at + forMs }) : undefined);
  expect(world.service.grants).toEqual([]);
});

it.each([
  [-1, true],
  [0, true],
  [1, false],
])('requests wait after a failed renewal if the token lives %i ms', async (livesMs, isHeld) => {
  fail('transient');
  const expiresAt = world.clock.now() + livesMs;
  await world.partnerAccounts.change('main', (account) => ({
    ...account,
    ...(account.token && { token: { ...account.token, expiresAt } }),
  }));

  await refresh('main', 'token-rejected');

  expect(holdOf(await world.account(), 'token') !== undefined).toBe(isHeld);
});

it.each<[string, number, object]>([
  ['bad answers hold the account', minuteMs, { fault: 'token-rejected' }],
  ['a hold of it is over', 0, {}],
])('a token is renewed although %s', async (_what, leftMs, more) => {
  const hold = { ...tokenHold(world.clock.now() + leftMs), ...more };
  await world.partnerAccounts.change('main', (account) => withHold(account, hold));

  expect(await refresh('main', 'token-rejected')).toEqual({ kind: 'renewed' });
});

it.each<[string, () => Promise<unknown>]>([
  ['it is connected again', () => connect('main')],
  [
    'the application has a new secret',
    () => {
      const { partnerAccounts, budgetStore, applicationSecret } = world.state;
      const bridge = { partnerAccounts, budgetStore, storeApplication: applicationSecret.write };
      return storeApplication(bridge, { clientId: new Secret('client'), clientSecret: new Secret('new') });
    },
  ],
  [
    'somebody resumes it early',
    () => resume({ ...world.state, host: { kind: 'local' }, clock: world.clock }, 'main', { early: true }),
  ],
])('a token is asked for at once when %s', async (_when, act) => {
  const answer = world.service.state.tokens;
  world.clock.advance(dayMs);
  fail('client-rejected');
  await asked(['main', 'shop'], minuteMs);
  world.service.state.tokens = answer;

  await act();

  expect(holdOf(await world.account(), 'token')).toBeUndefined();
  expect(await refresh('main', 'expired')).toEqual({ kind: 'renewed' });
  expect((await world.state.budgetStore.read()).renewal).toBeUndefined();
});

/** The service returns the same pair for as long as its access token lives. */
const samePair = () => {
  const access_token = 'access-same';
  const tokens = { access_token, refresh_token: 'refresh-same', token_type: 'bearer' };
  world.service.state.tokens = () => ({ ...tokens, expires_in: 86_400, scope: 'v2 read write' });
};

it.each<Rejection>(['token-rejected', 'expired'])(
  'a pair that comes again is asked for after 5 s, doubled to an hour: %s',
  async (because) => {
    samePair();
    let stored = 0;
    const { vault } = world.tokenDeps;
    const { write } = vault;
    vault.write = (...args) => {
      stored += 1;
      return write(...args);
    };

    expect((await asked(['main'], 30 * minuteMs, because)).slice(0, 5)).toEqual([0, 5, 15, 35, 75]);
    for (let tenMinutes = 0; tenMinutes < 2 * 144; tenMinutes += 1) {
      await refresh('main', because);
      world.clock.advance(10 * minuteMs);
    }
    expect(stored).toBe(1);
    expect((await world.account())?.renewal).toMatchObject({ forMs: 60 * minuteMs });
  },
);

it.each<[string, () => Promise<unknown>]>([
  ['each token before lived to its end', () => asked(['main'], 3 * dayMs, 'expired', dayMs)],
  [
    'those before it failed',
    async () => {
      const answer = world.service.state.tokens;
      fail('transient');
      await asked(['main'], minuteMs, 'token-rejected');
      world.service.state.tokens = answer;
      await asked(['main'], 2 * minuteMs, 'token-rejected', minuteMs);
    },
  ],
])('a renewal waits 5 s when %s', async (_when, renew) => {
  await renew();

  expect((await world.account())?.renewal).toEqual({ at: expect.any(Number), forMs: 5_000 });
});

it('a pair is stored again when a late write of an older one replaced it', async () => {
  samePair();
  const { vault } = world.tokenDeps;
  const older = await vault.read('main');
  await refresh('main', 'token-rejected');
  if (older) await vault.write('main', older.pair);
  world.clock.advance(minuteMs);

  await refresh('main', 'token-rejected');

  const current = await vault.read('main');
  expect(current?.version).toBe((await world.account())?.token?.version);
  expect(current?.pair.refreshToken.reveal()).toBe('refresh-same');
});

it('a token lives as long as the service said, also if not stored again', async () => {
  samePair();
  await refresh('main', 'token-rejected');
  world.clock.advance(dayMs);
  fail('transient');
  await refresh('main', 'expired');
  world.clock.advance(minuteMs);
  samePair();
  await refresh('main', 'expired');

  expect((await world.account())?.token?.expiresAt).toBe(world.clock.now() + dayMs);
  expect((await world.account())?.holds).toBeUndefined();
});
