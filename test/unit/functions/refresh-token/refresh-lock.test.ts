import { beforeEach, expect, it } from 'vitest';
import { type AccountLock, exclusively } from '../../../../functions/refresh-token/refresh-lock.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { createPartnerAccounts, type PartnerAccounts } from '../../../../shared/state/partner-accounts.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { createManualClock, type ManualClock } from '../../../helpers/manual-clock.ts';
import { partnerAccount } from '../../../helpers/records.ts';

let clock: ManualClock;
let partnerAccounts: PartnerAccounts;
beforeEach(async () => {
  clock = createManualClock();
  partnerAccounts = createPartnerAccounts(createInMemoryStore());
  await partnerAccounts.add(partnerAccount());
});
const row = () => partnerAccounts.read('main');
const deps = () => ({ partnerAccounts, clock, newId: () => 'me' });
const locked = <T>(work: (lock: AccountLock) => Promise<T>, forMs = 60_000, more = {}) =>
  exclusively({ ...deps(), ...more }, 'main', { deadlineMs: clock.now() + forMs }, work);
const lockedBy = (holder: string, forMs: number) =>
  partnerAccounts.change('main', (account) => ({
    ...account,
    refreshing: { holder, startedAt: clock.now(), until: clock.now() + forMs },
  }));

it.each([
  ['two minutes, longer than a function runs', {}, 120_000],
  ['as long as it is told', { lockMs: 7 }, 7],
])('a lock is in the row for %s, and is released', async (_what, more, forMs) => {
  const startedAt = clock.now();
  const refreshing = { holder: 'me', startedAt, until: startedAt + forMs };

  const seen = await locked(
    async ({ name, account, read }) => ({ name, account, read: await read(), row: await row() }),
    60_000,
    more,
  );

  const account = { ...partnerAccount(), refreshing };
  expect(seen).toEqual({ name: 'main', account, read: account, row: account });
  expect(await row()).toEqual(partnerAccount());
});

it.each([
  ['at the first look after the end of another', 1_200, 5_000, 3, 'taken'],
  ['not while another lasts', 60_000, 2_000, 3, 'account-busy'],
  ['not if half a second is left', 60_000, 500, 0, 'account-busy'],
  ['at the last look before the deadline', 500, 501, 1, 'taken'],
  ['at once from a clock that was wrong', 180_001, 500, 0, 'taken'],
  ['not from a clock that is a minute ahead', 180_000, 500, 0, 'account-busy'],
  ['at the deadline', 0, 0, 0, 'taken'],
  ['not after the deadline', 0, -1, 0, 'account-busy'],
])('a lock is taken %s', async (_when, otherMs, forMs, looks, outcome) => {
  await lockedBy('other', otherMs);

  const result = await locked(async () => 'taken', forMs).catch((fault) => fault.code);

  expect(result).toBe(outcome);
  expect(clock.slept).toEqual(Array(looks).fill(500));
  expect((await row())?.refreshing?.holder).toBe(outcome === 'taken' ? undefined : 'other');
});

it('a lock that another process has taken since allows nothing', async () => {
  await locked(async ({ read, change, remove }) => {
    await lockedBy('other', 60_000);
    expect(await read()).toBeUndefined();
    expect(await change((account) => ({ ...account, generation: 7 }))).toBeUndefined();
    await remove();
  });

  expect(await row()).toMatchObject({ ...partnerAccount(), refreshing: { holder: 'other' } });
});

it('a change keeps the lock, and a removed row needs none', async () => {
  await locked(async ({ change, remove }) => {
    const changed = await change(({ refreshing: _refreshing, ...account }) => ({
      ...account,
      generation: 7,
    }));
    expect(changed).toMatchObject({ generation: 7, refreshing: { holder: 'me' } });
    expect(await row()).toEqual(changed);
    await remove();
  });

  expect(await row()).toBeUndefined();
});

it('an unknown name has no row, and the lock from its first', async () => {
  const other: PartnerAccount = partnerAccount({ name: 'other' });
  const deadlineMs = clock.now() + 60_000;

  await exclusively(deps(), 'other', { deadlineMs }, async (lock) => {
    expect([lock.account, await lock.read()]).toEqual([undefined, undefined]);
    clock.advance(1_000);
    expect(await lock.add(other)).toBe(true);
    const refreshing = { holder: 'me', startedAt: clock.now(), until: clock.now() + 120_000 };
    expect(await lock.read()).toEqual({ ...other, refreshing });
    expect(await lock.add(other)).toBe(false);
  });

  expect(await partnerAccounts.read('other')).toEqual(other);
});

it('a lock is released after work that failed, and its end may fail', async () => {
  const error = new Error('the work');
  await expect(locked(() => Promise.reject(error))).rejects.toBe(error);
  expect(await row()).toEqual(partnerAccount());

  let changes = 0;
  const change: PartnerAccounts['change'] = (...changed) => {
    changes += 1;
    return changes > 1 ? Promise.reject(new Error('throttled')) : partnerAccounts.change(...changed);
  };
  const more = { partnerAccounts: { ...partnerAccounts, change } };
  expect(await locked(async () => 'done', 60_000, more)).toBe('done');
  expect(changes).toBe(2);
});
