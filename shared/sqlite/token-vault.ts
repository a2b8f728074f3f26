import { applicationOfText, pairOfText, textOfApplication, textOfPair } from '../domain/secret-text.ts';
import type { Application, ApplicationSecret } from '../ports/application-secret.ts';
import type { TokenVault } from '../ports/token-vault.ts';
import type { Documents } from './file/documents.ts';
import type { Store } from './file/store.ts';

// A refresh token that the service has replaced is worthless: the new one waits for the disk.
const durable = { durable: true };

/** Token pairs in the state file; their versions rise over all partner accounts and never come back. */
export function createVault(store: Store): TokenVault {
  const select = store.prepare('SELECT version, pair FROM token_pairs WHERE partner_account = ?');
  const replace = store.prepare('INSERT OR REPLACE INTO token_pairs (partner_account, pair) VALUES (?, ?)');
  const remove = store.prepare('DELETE FROM token_pairs WHERE partner_account = ?');

  return {
    async read(partnerAccount) {
      const row = store.read(() => select.get(partnerAccount)) as
        | { version: number; pair: string }
        | undefined;
      return row && { pair: pairOfText(row.pair, partnerAccount), version: String(row.version) };
    },
    write: (partnerAccount, pair) =>
      store.write(() => String(replace.run(partnerAccount, textOfPair(pair)).lastInsertRowid), durable),
    async remove(partnerAccount) {
      await store.write(() => remove.run(partnerAccount), durable);
    },
  };
}

const documentName = 'application';

/** The application's credentials in the state file. */
export function createApplicationSecret(documents: Documents) {
  const secret: ApplicationSecret = {
    read: async () => applicationOfText((await documents.read(documentName)) ?? ''),
  };
  return {
    ...secret,
    write: (application: Application): Promise<void> =>
      documents.write(documentName, textOfApplication(application), durable),
  };
}
