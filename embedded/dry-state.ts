/**
 * The state of a dry run: a copy that ends with the run. Only what the partner service would not return again is stored
 * in the folder: a refreshed token pair, and, during the refresh, its lock.
 */
import { DatabaseSync } from 'node:sqlite';
import type { PartnerAccount } from '../shared/domain/partner-account.ts';
import type { Key, Row, Store } from '../shared/ports/store.ts';
import { createConnection } from '../shared/sqlite/file/connection.ts';
import { stateFileIn } from '../shared/sqlite/file/private-folder.ts';
import { freeWhatWasHeld } from '../shared/sqlite/file/run-lock.ts';
import { migrate } from '../shared/sqlite/file/schema.ts';
import { guarded } from '../shared/sqlite/file/state-error.ts';
import { type EmbeddedState, stateOver } from '../shared/sqlite/state.ts';
import { createPartnerAccounts } from '../shared/state/partner-accounts.ts';

/**
 * @param real the state of `dir`; the caller holds the run lock, and closes the state
 * @throws {StateError}
 */
export function createDryState(real: EmbeddedState, dir: string): EmbeddedState {
  const file = stateFileIn(dir);
  const db = guarded(file, () => copyOf(file));
  const copy = stateOver(createConnection(db, 'the copy of the state'), Date);
  const partnerAccounts = createPartnerAccounts(createDryAccounts(real.rows, copy.rows));
  return { ...copy, vault: real.vault, partnerAccounts };
}

function copyOf(file: string): DatabaseSync {
  // A temporary file without a name, for there may be a million histories. @see https://sqlite.org/inmemorydb.html
  const db = new DatabaseSync('');
  migrate(db);
  db.prepare('ATTACH ? AS real').run(file);
  db.exec(`INSERT INTO main.messages SELECT * FROM real.messages; INSERT INTO main.rows SELECT * FROM real.rows
    WHERE kind NOT IN ('account', 'reader', 'tokens')`);
  db.exec('DETACH real');
  freeWhatWasHeld(db);
  return db;
}

/** @param own has the accounts that the dry run has changed */
function createDryAccounts(real: Store, own: Store): Store {
  /** The account as the dry run has changed it, with the folder's lock; none if the folder has another user by now. */
  async function get(key: Key): Promise<Row | undefined> {
    const [row, stored] = [await own.get(key), await real.get(key)];
    if (!row || !stored) return stored;
    const [{ refreshing: _own, ...account }, folder] = [accountIn(row), accountIn(stored)];
    if (folder.generation !== account.generation) return undefined;
    const value = folder.refreshing ? { ...account, refreshing: folder.refreshing } : account;
    return { ...row, value, etag: `${row.etag} ${stored.etag}` };
  }

  return {
    ...real,
    get,
    async list(kind, listing) {
      const rows = await Promise.all((await real.list(kind, listing)).map(({ name }) => get({ kind, name })));
      return rows.flatMap((row) => row ?? []);
    },
    async put(key, value, expected) {
      const [current, stored] = [await get(key), await real.get(key)];
      if (!current || !stored || current.etag !== expected) return { conflict: current };
      const { refreshing } = value as PartnerAccount;
      const { refreshing: held, ...folder } = accountIn(stored);
      if (JSON.stringify(held) !== JSON.stringify(refreshing)) {
        const locked = await real.put(key, { ...folder, ...(refreshing && { refreshing }) }, stored.etag);
        if ('conflict' in locked) return { conflict: await get(key) };
      }
      const before = await own.get(key);
      await own.put(key, value, before?.etag ?? 'absent');
      return { etag: (await get(key))?.etag ?? '' };
    },
    remove: () => Promise.reject(new Error('a dry run forgets nothing')),
  };
}

const accountIn = ({ value }: Row): PartnerAccount => value as PartnerAccount;
