import { secretNames } from '../contract/names.ts';
import { applicationOfText, pairOfText, textOfApplication, textOfPair } from '../domain/secret.ts';
import type { ApplicationSecretWriter, TokenVault } from '../ports/tokens.ts';
import type { Connection, WriteOptions } from './file/connection.ts';

/** Single texts by name: settings, and the application's credentials. */
export type Documents = ReturnType<typeof createDocuments>;

export function createDocuments(connection: Connection) {
  const select = connection.prepare('SELECT text FROM documents WHERE name = ?');
  const upsert = connection.prepare(
    'INSERT INTO documents (name, text) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET text = excluded.text',
  );

  return {
    read: async (name: string): Promise<string | undefined> =>
      (connection.read(() => select.get(name)) as { text: string } | undefined)?.text,
    async write(name: string, text: string, options?: WriteOptions): Promise<void> {
      await connection.write(() => upsert.run(name, text), options);
    },
  };
}

const documentName = 'application';

/** The application's credentials in the state file. */
export function createApplicationSecret(documents: Documents): ApplicationSecretWriter {
  return {
    read: async () => applicationOfText((await documents.read(documentName)) ?? '', secretNames.application),
    write: (application) => documents.write(documentName, textOfApplication(application), { durable: true }),
  };
}

// After the service has issued a new refresh token, the old one is worthless, so the new one must not be lost.
const durable = { durable: true };

/** So many versions of a partner account are kept; one is enough unless a process ends while it changes the account. */
const kept = 5;

/** Token pairs in the state file. Versions increase across all partner accounts and are never reused. */
export function createTokenVault(connection: Connection): TokenVault {
  const select = connection.prepare(
    'SELECT version, pair FROM token_pairs WHERE partner_account = ? AND version = ifnull(?, version) ORDER BY version DESC LIMIT 1',
  );
  const insert = connection.prepare('INSERT INTO token_pairs (partner_account, pair) VALUES (?, ?)');
  const prune = connection.prepare(
    `DELETE FROM token_pairs WHERE partner_account = ?1 AND version <=
      (SELECT version FROM token_pairs WHERE partner_account = ?1 ORDER BY version DESC LIMIT 1 OFFSET ${kept})`,
  );
  const remove = connection.prepare('DELETE FROM token_pairs WHERE partner_account = ?');

  return {
    async read(partnerAccount, version) {
      const row = connection.read(() => select.get(partnerAccount, version ?? null)) as
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
      connection.write(() => {
        const { lastInsertRowid } = insert.run(partnerAccount, textOfPair(pair));
        prune.run(partnerAccount);
        return String(lastInsertRowid);
      }, durable),
    async remove(partnerAccount) {
      await connection.write(() => remove.run(partnerAccount), durable);
    },
  };
}
