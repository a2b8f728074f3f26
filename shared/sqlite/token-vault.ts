import { secretNames } from '../contract/names.ts';
import { pairOfText, textOfPair } from '../domain/secret.ts';
import type { TokenVault } from '../ports/tokens.ts';
import type { Store } from './file/store.ts';

// After the service has issued a new refresh token, the old one is worthless, so the new one must not be lost.
const durable = { durable: true };

/** So many versions of a partner account are kept; one is enough unless a process ends while it changes the account. */
const kept = 5;

/** Token pairs in the state file. Versions increase across all partner accounts and are never reused. */
export function createTokenVault(store: Store): TokenVault {
  const select = store.prepare(
    'SELECT version, pair FROM token_pairs WHERE partner_account = ? AND version = ifnull(?, version) ORDER BY version DESC LIMIT 1',
  );
  const insert = store.prepare('INSERT INTO token_pairs (partner_account, pair) VALUES (?, ?)');
  const prune = store.prepare(
    `DELETE FROM token_pairs WHERE partner_account = ?1 AND version <=
      (SELECT version FROM token_pairs WHERE partner_account = ?1 ORDER BY version DESC LIMIT 1 OFFSET ${kept})`,
  );
  const remove = store.prepare('DELETE FROM token_pairs WHERE partner_account = ?');

  return {
    async read(partnerAccount, version) {
      const row = store.read(() => select.get(partnerAccount, version ?? null)) as
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
      store.write(() => {
        const { lastInsertRowid } = insert.run(partnerAccount, textOfPair(pair));
        prune.run(partnerAccount);
        return String(lastInsertRowid);
      }, durable),
    async remove(partnerAccount) {
      await store.write(() => remove.run(partnerAccount), durable);
    },
  };
}
