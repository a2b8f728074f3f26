/**
 * The state of a dry run: reads come from the folder, writes stay in memory. Only what the partner service would not
 * return again is stored: a refreshed token pair, and, during the refresh, its lock (dry-store.ts).
 */
import { DatabaseSync } from 'node:sqlite';
import { createConnection } from '../shared/sqlite/file/connection.ts';
import { stateFileIn } from '../shared/sqlite/file/private-folder.ts';
import { freeWhatWasHeld } from '../shared/sqlite/file/run-lock.ts';
import { migrate } from '../shared/sqlite/file/schema.ts';
import { guarded } from '../shared/sqlite/file/state-error.ts';
import { type EmbeddedState, stateOver } from '../shared/sqlite/state.ts';
import { createAdvertHistories } from '../shared/state/advert-histories.ts';
import { createBudgetStore } from '../shared/state/budget.ts';
import { createPartnerAccounts } from '../shared/state/partner-accounts.ts';
import { createDryStore } from './dry-store.ts';

/** Everything that a run needs, except the histories: there may be a million, so they are read one by one. */
const copied = ['documents', 'messages', 'sent_keys'];

/**
 * @param real the state of `dir`; the caller holds the run lock, and closes the state
 * @throws {StateError}
 */
export function createDryState(real: EmbeddedState, dir: string): EmbeddedState {
  const file = stateFileIn(dir);
  const db = guarded(file, () => copyOf(file));
  const copy = stateOver(createConnection(db, 'the state in memory'), Date);
  const rows = createDryStore(real.rows, copy.rows);
  const advertHistories = createAdvertHistories(rows);
  return {
    ...copy,
    rows,
    vault: real.vault,
    partnerAccounts: createPartnerAccounts(rows),
    budgetStore: createBudgetStore(rows),
    advertHistories,
    publishedAdverts: advertHistories,
  };
}

function copyOf(file: string): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  db.prepare('ATTACH ? AS real').run(file);
  for (const table of copied) db.exec(`INSERT INTO main.${table} SELECT * FROM real.${table}`);
  db.exec("INSERT INTO main.rows SELECT * FROM real.rows WHERE kind IN ('aside', 'books', 'dead', 'feed')");
  db.exec('DETACH real');
  freeWhatWasHeld(db);
  return db;
}
