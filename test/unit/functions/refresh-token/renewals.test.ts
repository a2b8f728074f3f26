import { beforeEach, expect, it } from 'vitest';
import { storeApplication } from '../../../../operators/operations/connect-functions.ts';
import { resume } from '../../../../operators/operations/pause.ts';
import type { Rejection } from '../../../../shared/contract/invocations.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { holdOf } from '../../../helpers/holds.ts';
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
const refresh = async (partnerAccount: string, because: Rejection) => {
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

it.each<[FaultKind, number]>([
  ['transient', 600],
  ['client-rejected', 3_600],
])('a token is asked for after at most so many seconds at %s: %i', async (code, seconds) => {
  world.clock.advance(dayMs);
  fail(code);

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

  expect(await refresh('beta', 'expired')).toEqual({ kind: 'held' });
  expect(holdOf(await world.account('beta'), 'token')).toMatchObject({ reason: 'token-not-renewed' });
  expect(world.service.grants).toHaveLength(2);

  world.clock.advance(5_000);
  world.service.state.tokens = answer;
  for (const name of ['beta', 'main', 'shop'])
    expect(await refresh(name, 'expired')).toEqual({ kind: 'renewed' });
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
