import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { RefreshDeps } from '../../../../functions/refresh-token/refresh-lock.ts';
import { createRefreshToken } from '../../../../functions/refresh-token/refresh-token.ts';
import { sweep } from '../../../../functions/refresh-token/sweep.ts';
import type { RefreshOutcome } from '../../../../shared/contract/invocations.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { stopped } from '../../../helpers/holds.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { partnerAccount } from '../../../helpers/records.ts';
import { createWorld } from '../../../helpers/world.ts';

const dayMs = 86_400_000;

/** Sweeps these accounts. @returns what it asks for, in its order */
async function swept(
  accounts: (nowMs: number) => PartnerAccount[],
  { forMs = 60_000, outcome = { kind: 'renewed' } as RefreshOutcome } = {},
) {
  const clock = createManualClock();
  const observer = createRecordingObserver();
  const deadlineMs = clock.now() + forMs;
  const partnerAccounts = { list: async () => accounts(clock.now()) } as never;
  const requests: unknown[] = [];
  const running = { now: 0, most: 0 };
  const deps = { partnerAccounts, observer, clock } as unknown as RefreshDeps;
  await sweep(
    deps,
    async (request, options) => {
      expect(options).toEqual({ deadlineMs });
      requests.push(request);
      running.now += 1;
      running.most = Math.max(running.most, running.now);
      await nextTurn();
      running.now -= 1;
      return outcome;
    },
    { deadlineMs },
  );
  return { requests, observer, atOnce: running.most };
}
const account = (name: string, usedAt: number, expiresAt: number, more: Partial<PartnerAccount> = {}) =>
  partnerAccount({ name, token: { version: `v-${name}`, usedAt, expiresAt }, ...more });

it.each<[string, number, number, object, string | undefined]>([
  ['refreshes a token that has just expired', 0, 0, {}, 'expired'],
  ['leaves a token that lives', 0, 1, {}, undefined],
  ['leaves a refresh token that was used within a week', 7 * dayMs - 1, 1, {}, undefined],
  ['uses a refresh token that was not used for a week', 7 * dayMs, 1, {}, 'unused'],
  ['uses it although its token has expired, too', 7 * dayMs, 0, {}, 'unused'],
  ['leaves a stopped account', 7 * dayMs, 0, stopped('disconnected'), undefined],
  ['leaves an account without a token', 0, 0, { token: undefined }, undefined],
])('a sweep %s', async (_rule, unusedMs, livesMs, more, because) => {
  const { requests } = await swept((nowMs) => [account('main', nowMs - unusedMs, nowMs + livesMs, more)]);

  const request = { partnerAccount: 'main', rejectedVersion: 'v-main', because };
  expect(requests).toEqual(because ? [request] : []);
});

it('a sweep begins with what was unused for longest, five at a time', async () => {
  const ages = [3, 1, 4, 1.5, 9, 2, 6];
  const { requests, atOnce } = await swept((nowMs) =>
    ages.map((days, index) => account(`${days}`, nowMs - days * dayMs, nowMs - index)),
  );

  const names = ['9', '6', '4', '3', '2', '1.5', '1'];
  expect(requests).toMatchObject(names.map((partnerAccount) => ({ partnerAccount })));
  expect(atOnce).toBe(5);
});

it('a sweep leaves time for others when five pairs can never be stored', async () => {
  const world = await createWorld();
  const { vault } = world.state;
  const ill = ['a1', 'a2', 'a3', 'a4', 'a5'];
  const options = (ms: number) => ({ deadlineMs: world.clock.now() + ms });
  for (const name of ill)
    await world.connect.connect({ partnerAccount: name, refreshToken: new Secret(name) }, options(60_000));
  const write: typeof vault.write = (name, pair) =>
    ill.includes(name) ? Promise.reject(new Error('LimitExceeded')) : vault.write(name, pair);
  const stage = createRefreshToken({ ...world.tokenDeps, vault: { ...vault, write } });
  // `main` was used later than the others.
  await world.partnerAccounts.change('main', (one) =>
    one.token ? { ...one, token: { ...one.token, usedAt: world.clock.now() + 1 } } : one,
  );
  world.clock.advance(8 * dayMs);
  const begun = world.clock.now();

  for (let turn = 0; turn < 2; turn += 1) {
    await stage.sweep(options(57_000));
    world.clock.advance(15 * 60_000);
  }

  expect((await world.account())?.token?.usedAt).toBeGreaterThan(begun);
});

it.each([
  [5_000, ['a', 'b'], 2, []],
  [4_999, ['a', 'b'], 0, [{ level: 'warn', fields: { count: 2 } }]],
  [4_999, ['a'], 0, [{ level: 'warn', fields: { count: 1 } }]],
])('a sweep of %i ms for %j begins %i refreshes, and names the rest', async (forMs, names, begun, lines) => {
  const { requests, observer } = await swept((nowMs) => names.map((name) => account(name, nowMs, 0)), {
    forMs,
  });

  expect(requests).toHaveLength(begun);
  expect(observer.lines).toMatchObject(lines);
});

const failed: RefreshOutcome = { kind: 'failed', fault: 'transient', reason: 'x' };
it.each<[string, RefreshOutcome, number, number]>([
  ['failed', failed, 23, 1],
  ['is held', { kind: 'held' }, 23, 1],
  ['was renewed', { kind: 'renewed' }, 23, 0],
  ['failed, with more than a week left', failed, 23 - 1e-6, 0],
])('a sweep reports a token unused for 23 days that %s', async (_what, outcome, days, reports) => {
  const { observer } = await swept((nowMs) => [account('main', nowMs - days * dayMs, nowMs)], { outcome });

  expect(observer.counted(metrics.needsAttention)).toBe(reports);
  expect(observer.lines).toMatchObject(
    reports ? [{ level: 'error', fields: { partnerAccount: 'main' } }] : [],
  );
});
