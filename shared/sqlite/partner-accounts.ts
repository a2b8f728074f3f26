import { checkedJson, readRows } from '../contract/checks.ts';
import { accountPlace, partnerAccountRow } from '../contract/rows.ts';
import { firstNumberOf, type PartnerAccount } from '../domain/partner-account.ts';
import type { PartnerAccounts } from '../ports/partner-accounts.ts';
import type { Store } from './file/store.ts';

interface Row {
  readonly name: string;
  readonly version: number;
  readonly account: string;
}

/** Partner accounts in the state file, listed by name. */
export function createPartnerAccounts(store: Store): PartnerAccounts {
  const selectAll = store.prepare('SELECT name, version, account FROM partner_accounts ORDER BY name');
  const select = store.prepare('SELECT name, version, account FROM partner_accounts WHERE name = ?');
  const insert = store.prepare(
    'INSERT INTO partner_accounts (name, version, account) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING',
  );
  const update = store.prepare(
    'UPDATE partner_accounts SET version = version + 1, account = ? WHERE name = ? AND version = ?',
  );
  const remove = store.prepare('DELETE FROM partner_accounts WHERE name = ?');

  return {
    async list(onUnreadable) {
      return readRows(store.read(() => selectAll.all()) as unknown as Row[], accountOf, onUnreadable);
    },
    async read(name) {
      const row = store.read(() => select.get(name)) as Row | undefined;
      return row && { value: accountOf(row), version: row.version };
    },
    write(account, expected) {
      const text = JSON.stringify(account);
      return store.write(() => {
        const { changes } =
          expected === 0
            ? insert.run(account.name, firstNumberOf(account.generation) + 1, text)
            : update.run(text, account.name, expected);
        return changes === 1;
      });
    },
    async remove(name) {
      await store.write(() => remove.run(name));
    },
  };
}

/** @throws {ShapeError} */
const accountOf = ({ name, account }: Row): PartnerAccount =>
  checkedJson(partnerAccountRow, account, accountPlace(name));
