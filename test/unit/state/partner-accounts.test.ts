import { describe, expect, it } from 'vitest';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import { createPartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { createInMemoryStore } from '../../fakes/store.ts';
import { tokenHold } from '../../helpers/holds.ts';
import { partnerAccount } from '../../helpers/records.ts';

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
  return { store, accounts: createPartnerAccounts(store) };
};

describe('partner accounts', () => {
  it('are none at first', async () => {
    const { accounts } = make();
    expect(await accounts.read('main')).toBeUndefined();
    expect(await accounts.list()).toEqual([]);
    expect(await accounts.change('main', () => complete)).toBeUndefined();
    await accounts.remove('main');
    expect(await accounts.read('main')).toBeUndefined();
  });

  it('are returned as they were stored', async () => {
    const { accounts } = make();
    expect(await accounts.add(complete)).toBe(true);
    expect(await accounts.read('main')).toEqual(complete);
    expect(await accounts.list()).toEqual([complete]);
  });

  it('are not added twice', async () => {
    const { accounts } = make();
    await accounts.add(complete);
    expect(await accounts.add(partnerAccount())).toBe(false);
    expect(await accounts.read('main')).toEqual(complete);
  });

  it('lose what a change leaves out', async () => {
    const { accounts } = make();
    await accounts.add(complete);
    expect(await accounts.change('main', () => partnerAccount())).toEqual(partnerAccount());
    expect(await accounts.read('main')).toEqual(partnerAccount());
  });

  it('stay unchanged when the change returns nothing', async () => {
    const { store, accounts } = make();
    await accounts.add(complete);
    const before = await store.get({ kind: 'account', name: 'main' });
    expect(await accounts.change('main', () => undefined)).toEqual(complete);
    expect(await store.get({ kind: 'account', name: 'main' })).toEqual(before);
  });

  it('are changed from the newest row when another process writes in between', async () => {
    const { store, accounts } = make();
    await accounts.add(partnerAccount());
    const holds = [tokenHold(7)];
    const racing = createPartnerAccounts({
      ...store,
      async get(key) {
        const row = await store.get(key);
        await accounts.change('main', (account) => ({ ...account, holds }));
        return row;
      },
    });

    const changed = await racing.change('main', (account) => ({ ...account, connectedAt: 'later' }));

    expect(changed).toEqual(partnerAccount({ holds, connectedAt: 'later' }));
    expect(await accounts.read('main')).toEqual(changed);
  });

  it('are listed by name, also when one was removed or cannot be read', async () => {
    const { store, accounts } = make();
    for (const name of ['other', 'main', 'main2']) await accounts.add(partnerAccount({ name }));
    await accounts.remove('main');
    await store.put({ kind: 'account', name: 'bad' }, { generation: 'none' }, 'absent');

    const unreadable: string[] = [];
    const listed = await accounts.list(({ message }) => unreadable.push(message));

    expect(listed.map(({ name }) => name)).toEqual(['main2', 'other']);
    expect(unreadable).toEqual([expect.stringContaining('partner account bad: generation')]);
    await expect(accounts.list()).rejects.toThrow('partner account bad');
  });

  it('keep fields that a newer bridge added', async () => {
    const { store, accounts } = make();
    await accounts.add(partnerAccount());
    const row = await store.get({ kind: 'account', name: 'main' });
    await store.put(
      { kind: 'account', name: 'main' },
      { ...(row?.value as object), extra: 1 },
      row?.etag ?? '',
    );
    await accounts.change('main', (account) => ({ ...account, connectedAt: 'later' }));
    expect((await store.get({ kind: 'account', name: 'main' }))?.value).toMatchObject({ extra: 1 });
  });
});
