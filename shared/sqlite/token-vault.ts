import { secretNames } from '../contract/names.ts';
import { pairOfText, textOfPair } from '../domain/secret-text.ts';
import type { TokenVault } from '../ports/token-vault.ts';
import type { Store } from './file/store.ts';

// After the service has issued a new refresh token, the old one is worthless, so the new one must not be lost.
const durable = { durable: true };

/** Token pairs in the state file. Versions increase across all partner accounts and are never reused. */
export function createTokenVault(store: Store): TokenVault {
  const select = store.prepare('SELECT version, pair FROM token_pairs WHERE partner_account = ?');
  const replace = store.prepare('INSERT OR REPLACE INTO token_pairs (partner_account, pair) VALUES (?, ?)');
  const remove = store.prepare('DELETE FROM token_pairs WHERE partner_account = ?');

  return {
    async read(partnerAccount) {
      const row = store.read(() => select.get(partnerAccount)) as
        | { version: number; pair: string }
        | undefined;
      return (
        row && {
          pair: pairOfText(row.pair, secretNames.partnerAccountPrefix + partnerAccount),
          version: String(row.version),
        }
      );
    },
    write: (partnerAccount, pair) =>
      store.write(() => String(replace.run(partnerAccount, textOfPair(pair)).lastInsertRowid), durable),
    async remove(partnerAccount) {
      await store.write(() => remove.run(partnerAccount), durable);
    },
  };
}
