import { checked, type OnUnreadable, readRows } from '../contract/checks.ts';
import { accountPlace, partnerAccountRow } from '../contract/rows.ts';
import type { PartnerAccount } from '../domain/partner-account.ts';
import { type Key, type Row, type Store, update } from '../ports/store.ts';

export interface PartnerAccounts {
  /** By name. @throws {ShapeError} for a row that cannot be read, unless `onUnreadable` is given */
  list(onUnreadable?: OnUnreadable): Promise<PartnerAccount[]>;
  /** Strongly consistent. @throws {ShapeError} */
  read(name: string): Promise<PartnerAccount | undefined>;
  /** @returns false if there is an account of this name, which stays unchanged */
  add(account: PartnerAccount): Promise<boolean>;
  /**
   * Applies `change` to the stored account, again if another process writes in between, so that a stale copy never
   * erases a stop or a pause.
   *
   * @param change returns the new account, or undefined to write nothing
   * @returns the account after the change; undefined if there is none
   * @throws {ShapeError}
   */
  change(
    name: string,
    change: (account: PartnerAccount) => PartnerAccount | undefined,
  ): Promise<PartnerAccount | undefined>;
  /** Removes the account if `isOver` says so of the stored one; no error if it does not exist, or was changed meanwhile. */
  remove(name: string, isOver?: (account: PartnerAccount) => boolean): Promise<void>;
}

export function createPartnerAccounts(store: Store): PartnerAccounts {
  return {
    list: async (onUnreadable) => readRows(await store.list('account'), accountOf, onUnreadable),
    async read(name) {
      const row = await store.get(keyOf(name));
      return row && accountOf(row);
    },
    add: async (account) => 'etag' in (await store.put(keyOf(account.name), account, 'absent')),
    async change(name, change) {
      const row = await update(store, keyOf(name), (current) => current && change(accountOf(current)));
      return row && accountOf(row);
    },
    async remove(name, isOver = () => true) {
      const row = await store.get(keyOf(name));
      if (row && isOver(accountOf(row))) await store.remove(keyOf(name), row.etag);
    },
  };
}

const keyOf = (name: string): Key => ({ kind: 'account', name });

/** @throws {ShapeError} */
const accountOf = ({ name, value }: Row): PartnerAccount =>
  checked(partnerAccountRow, { ...(value as object), name }, accountPlace(name));
