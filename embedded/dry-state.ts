/**
 * The state of a dry run: reads come from the folder, writes stay in memory. Only what the partner service would not
 * return again is stored: a refreshed token pair, and, during the refresh, its lock (`createDryStore`).
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
import { createAdvertHistories } from '../shared/state/advert-histories.ts';
import { createBudgetStore } from '../shared/state/budget.ts';
import { createPartnerAccounts } from '../shared/state/partner-accounts.ts';

/** @param real the state of `dir`; the caller holds the run lock, and closes the state. @throws {StateError} */
export function createDryState(real: EmbeddedState, dir: string): EmbeddedState {
  const file = stateFileIn(dir);
  const db = guarded(file, () => copyOf(file));
  const copy = stateOver(createConnection(db, 'the state in memory'), Date);
  const rows = createDryStore(real.rows, copy.rows);
  return {
    ...copy,
    rows,
    vault: real.vault,
    partnerAccounts: createPartnerAccounts(rows),
    budgetStore: createBudgetStore(rows),
    advertHistories: createAdvertHistories(rows),
  };
}

function copyOf(file: string): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  db.prepare('ATTACH ? AS real').run(file);
  // Everything that a run needs, except the histories: there may be a million, so they are read one by one.
  db.exec(`INSERT INTO main.messages SELECT * FROM real.messages; INSERT INTO main.rows SELECT * FROM real.rows
    WHERE kind IN ('aside', 'books', 'dead', 'document', 'feed')`);
  db.exec('DETACH real');
  freeWhatWasHeld(db);
  return db;
}

/** @param own an empty store, for the rows that the dry run writes */
function createDryStore(real: Store, own: Store): Store {
  const overlay = createOverlay(real, own);

  /** The account as the dry run has changed it, with the folder's lock; none if the folder has another user by now. */
  async function getAccount(key: Key): Promise<Row | undefined> {
    const [row, stored] = [await overlay.get(key), await real.get(key)];
    if (!row || !stored || row.etag === stored.etag) return stored;
    const [{ refreshing: _own, ...account }, folder] = [accountIn(row), accountIn(stored)];
    if (folder.generation !== account.generation) return undefined;
    const value = folder.refreshing ? { ...account, refreshing: folder.refreshing } : account;
    return { ...row, value, etag: `${row.etag} ${stored.etag}` };
  }

  return {
    ...overlay,
    get: (key) => (key.kind === 'account' ? getAccount(key) : overlay.get(key)),
    async list(kind, listing) {
      const rows = await overlay.list(kind, listing);
      if (kind !== 'account') return rows;
      return (await Promise.all(rows.map(({ name }) => getAccount({ kind, name })))).flatMap(
        (row) => row ?? [],
      );
    },
    async put(key, value, expected) {
      if (key.kind !== 'account') return overlay.put(key, value, expected);
      const [current, stored] = [await getAccount(key), await real.get(key)];
      if (!current || !stored || current.etag !== expected) return { conflict: current };
      const { refreshing } = value as PartnerAccount;
      const { refreshing: held, ...folder } = accountIn(stored);
      if (JSON.stringify(held) !== JSON.stringify(refreshing)) {
        const locked = await real.put(key, { ...folder, ...(refreshing && { refreshing }) }, stored.etag);
        if ('conflict' in locked) return { conflict: await getAccount(key) };
      }
      const before = await own.get(key);
      await own.put(key, value, before?.etag ?? 'absent');
      return { etag: (await getAccount(key))?.etag ?? '' };
    },
  };
}

const accountIn = ({ value }: Row): PartnerAccount => value as PartnerAccount;

/** Reads from `real` what is not in `own`, and writes to `own`. */
function createOverlay(real: Store, own: Store): Store {
  const get = async (key: Key) => (await own.get(key)) ?? real.get(key);
  return {
    ...own,
    get,
    async list(kind, listing) {
      const rows = [...(await real.list(kind, listing)), ...(await own.list(kind, listing))];
      const merged = [...new Map(rows.map((row) => [row.name, row])).values()];
      return merged.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, listing?.limit);
    },
    async put(key, value, expected) {
      if (await own.get(key)) return own.put(key, value, expected);
      const row = await real.get(key);
      if ((row?.etag ?? 'absent') !== expected) return { conflict: row };
      return own.put(key, value, 'absent');
    },
    remove: () => Promise.reject(new Error('a dry run forgets nothing')),
  };
}
