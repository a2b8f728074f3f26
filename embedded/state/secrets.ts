import { secretNames } from '../../shared/contract/names.ts';
import { applicationOfText, pairOfText, textOfApplication, textOfPair } from '../../shared/domain/secret.ts';
import { newEtag } from '../../shared/ports/store.ts';
import type { ApplicationSecret, TokenVault } from '../../shared/ports/tokens.ts';
import type { Connection, WriteOptions } from './file/connection.ts';
import { noReserve } from './file/reserve.ts';
import type { RowStore } from './store.ts';

type Rows = Pick<RowStore, 'find' | 'putWithin' | 'removeWithin'>;
type Transactions = Pick<Connection, 'read' | 'write'>;

// After the service has issued a new refresh token, the old one is worthless, so the new one must not be lost.
const durable = { durable: true };

/** The application's credentials, and the settings of this folder, such as the base URL of the partner service. */
export function createDocuments(connection: Transactions, rows: Rows) {
  async function read(name: string): Promise<string | undefined> {
    const row = connection.read(() => rows.find({ kind: 'document', name }));
    return row && String(row.value);
  }
  const write = (name: string, text: string, options?: WriteOptions): Promise<void> =>
    connection.write(() => rows.putWithin({ kind: 'document', name }, text), options);

  const applicationSecret: ApplicationSecret = {
    read: async () => applicationOfText((await read('application')) ?? '', secretNames.application),
    write: (application) => write('application', textOfApplication(application), durable),
  };
  return {
    applicationSecret,
    settings: {
      read: (name: string) => read(`setting/${name}`),
      write: (name: string, text: string) => write(`setting/${name}`, text),
    },
  };
}

/** The latest first. */
type Versions = readonly { readonly version: string; readonly pair: string }[];

/** How many versions of a pair are kept; one is enough unless a process ends while it changes the account. */
const kept = 5;

export function createTokenVault(
  connection: Transactions,
  rows: Rows,
  { newVersion = newEtag, reserve = noReserve } = {},
): TokenVault {
  const tokensKey = (name: string) => ({ kind: 'tokens', name }) as const;
  const versionsOf = (partnerAccount: string): Versions => {
    const row = rows.find(tokensKey(partnerAccount));
    if (!row) return [];
    // A row that somebody edited is an unreadable pair.
    return Array.isArray(row.value) ? row.value : [{ version: '', pair: '' }];
  };

  return {
    async read(partnerAccount, wanted) {
      const versions = connection.read(() => versionsOf(partnerAccount));
      const found = versions.find(({ version }) => wanted === undefined || version === wanted);
      const secret = secretNames.partnerAccountPrefix + partnerAccount;
      return found && { pair: pairOfText(found.pair, secret), version: found.version };
    },
    reserve: async () => reserve.take(),
    write(partnerAccount, pair) {
      const store = (waits: boolean) =>
        connection.write(
          () => {
            const version = newVersion();
            const versions = [{ version, pair: textOfPair(pair) }, ...versionsOf(partnerAccount)];
            rows.putWithin(tokensKey(partnerAccount), versions.slice(0, kept));
            return version;
          },
          { ...durable, waits },
        );
      return store(false).catch(() => {
        reserve.release();
        return store(true);
      });
    },
    remove: (partnerAccount) =>
      connection.write(() => void rows.removeWithin(tokensKey(partnerAccount)), durable),
  };
}
