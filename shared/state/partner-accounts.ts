import { checked, type OnUnreadable, readRows } from '../contract/checks.ts';
import { type PartnerAccount, partnerAccount } from '../domain/partner-account.ts';
import { type Key, type Row, type Store, update } from '../ports/store.ts';

export type PartnerAccounts = ReturnType<typeof createPartnerAccounts>;

/** All functions throw {ShapeError} for a row that cannot be read. */
export function createPartnerAccounts(store: Store) {
  return {
    /** By name. @param onUnreadable called instead of throwing */
    list: async (onUnreadable?: OnUnreadable): Promise<PartnerAccount[]> =>
      readRows(await store.list('account'), storedAccount, onUnreadable),

    async read(name: string): Promise<PartnerAccount | undefined> {
      const row = await store.get(accountRowKey(name));
      return row && storedAccount(row);
    },

    /** @returns false if there is an account of this name, which stays unchanged */
    add: async (account: PartnerAccount): Promise<boolean> =>
      'etag' in (await store.put(accountRowKey(account.name), account, 'absent')),

    /**
     * Applies `change` to the stored account, again if another process writes in between; undefined, or the same object, writes
     * nothing.
     */
    async change(
      name: string,
      change: (account: PartnerAccount) => PartnerAccount | undefined,
    ): Promise<PartnerAccount | undefined> {
      const row = await update(store, accountRowKey(name), (current) => {
        const account = current && storedAccount(current);
        const changed = account && change(account);
        return changed === account ? undefined : changed;
      });
      return row && storedAccount(row);
    },

    /** Removes the account if `mayRemove` says so of the stored one, unless another process changes it meanwhile. */
    async remove(name: string, mayRemove: (account: PartnerAccount) => boolean = () => true): Promise<void> {
      const row = await store.get(accountRowKey(name));
      if (row && mayRemove(storedAccount(row))) await store.remove(accountRowKey(name), row.etag);
    },
  };
}

const accountRowKey = (name: string): Key => ({ kind: 'account', name });

const storedAccount = ({ name, value }: Row): PartnerAccount =>
  checked(partnerAccount, { ...(value as object), name }, `partner account ${name}`);
