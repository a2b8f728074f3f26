import { expect, it } from 'vitest';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { createPartnerAccounts } from '../../../../shared/state/partner-accounts.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { tokenHold } from '../../../helpers/holds.ts';
import { partnerAccount } from '../../../helpers/records.ts';

const complete: PartnerAccount = partnerAccount({
  unanswered: true,
  forgetting: true,
  holds: [
    { kind: 'authorization', since: 1_763_640_000_000, reason: 'disconnected' },
    tokenHold(1_763_640_100_000),
    {
      ...{ kind: 'operator', who: 'ann', reason: 'a migration' },
      ...{ since: 1_763_640_000_000, until: 1_763_640_100_000, forMs: 100_000 },
    },
  ],
  refreshing: { holder: 'run-1', startedAt: 1_763_640_000_000, until: 1_763_640_090_000 },
  token: { version: '7', expiresAt: 1_763_643_600_000, usedAt: 1_763_640_000_000 },
  owedEvents: ['{"source":"advert-bridge"}', '{"ü":"\\""}'],
});

const make = () => {
  const store = createInMemoryStore();
  return { store, partnerAccounts: createPartnerAccounts(store) };
};

it('accounts are stored whole, not twice, and unchanged by no change', async () => {
  const { store, partnerAccounts } = make();
  expect(await partnerAccounts.change('main', () => complete)).toBeUndefined();
  expect([await partnerAccounts.add(complete), await partnerAccounts.add(partnerAccount())]).toEqual([
    true,
    false,
  ]);
  const before = await store.get({ kind: 'account', name: 'main' });
  expect(await partnerAccounts.change('main', () => undefined)).toEqual(complete);
  expect(await store.get({ kind: 'account', name: 'main' })).toEqual(before);
  expect(await partnerAccounts.list()).toEqual([complete]);
});

it('accounts are listed by name, even when one was removed or unreadable', async () => {
  const { store, partnerAccounts } = make();
  for (const name of ['other', 'main', 'main2']) await partnerAccounts.add(partnerAccount({ name }));
  await partnerAccounts.remove('main');
  await store.put({ kind: 'account', name: 'bad' }, { generation: 'none' }, 'absent');

  const unreadable: string[] = [];
  const listed = await partnerAccounts.list(({ message }) => unreadable.push(message));

  expect(listed.map(({ name }) => name)).toEqual(['main2', 'other']);
  expect(unreadable).toEqual([expect.stringContaining('partner account bad: generation')]);
  await expect(partnerAccounts.list()).rejects.toThrow('partner account bad');
});

// docs/decisions/0025-upgrades.md
it('accounts keep fields that a newer bridge added', async () => {
  const { store, partnerAccounts } = make();
  const key = { kind: 'account', name: 'main' } as const;
  const { token, refreshing } = complete;
  const added = { extra: 1, token: { ...token, extra: 1 }, refreshing: { ...refreshing, extra: 1 } };
  const newer = { ...complete, ...added };
  await store.put(key, newer, 'absent');
  await partnerAccounts.change('main', (account) => ({ ...account, connectedAt: 'later' }));
  expect((await store.get(key))?.value).toEqual({ ...newer, connectedAt: 'later' });
});
