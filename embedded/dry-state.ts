/**
 * The state of a dry run: reads come from the folder, writes stay in memory. Only what the partner service would not
 * return again is stored: a refreshed token pair, and, during the refresh, its lock.
 */
import { DatabaseSync } from 'node:sqlite';
import { limitedTo } from '../shared/domain/concurrency.ts';
import type { PartnerAccount } from '../shared/domain/partner-account.ts';
import type { Key, Row, Store } from '../shared/ports/store.ts';
import { createAdvertHistories } from '../shared/state/advert-histories.ts';
import type { PartnerAccounts } from '../shared/state/partner-accounts.ts';
import { createConnection } from './state/file/connection.ts';
import { stateFileIn } from './state/file/private-folder.ts';
import { freeWhatWasHeld } from './state/file/run-lock.ts';
import { migrate } from './state/file/schema.ts';
import { guarded } from './state/file/state-error.ts';
import { type EmbeddedState, stateOver } from './state/state.ts';

/** The state of a dry run is in memory and need not be closed. @param real the state of `dir`; the caller holds the run lock. @throws {StateError} */
export function createDryState(real: EmbeddedState, dir: string): EmbeddedState {
  const file = stateFileIn(dir);
  const db = guarded(file, () => copyOf(file));
  const copy = stateOver(createConnection(db, 'the state in memory'), Date);
  return {
    ...copy,
    vault: real.vault,
    partnerAccounts: { ...copy.partnerAccounts, ...dryAccounts(real.partnerAccounts) },
    advertHistories: createAdvertHistories(copiedOnRead(real.rows, copy.rows)),
  };
}

/** Everything that a run needs, except the histories: there may be a million, so they are copied one by one. */
function copyOf(file: string): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  db.prepare('ATTACH ? AS real').run(file);
  db.exec(`INSERT INTO main.messages SELECT * FROM real.messages; INSERT INTO main.rows SELECT * FROM real.rows
    WHERE kind IN ('aside', 'books', 'bridge', 'dead', 'document', 'feed')`);
  db.exec('DETACH real');
  freeWhatWasHeld(db);
  return db;
}

function copiedOnRead(real: Store, copy: Store): Store {
  async function get(key: Key): Promise<Row | undefined> {
    const copied = await copy.get(key);
    if (copied) return copied;
    const row = await real.get(key);
    if (row) await copy.put(key, row.value, 'absent');
    return row && copy.get(key);
  }
  return { ...copy, get };
}

/** The accounts of the folder as the dry run has changed them; of its changes, only the lock of a refresh is stored. */
function dryAccounts(folder: PartnerAccounts): Pick<PartnerAccounts, 'list' | 'read' | 'change'> {
  const changed = new Map<string, PartnerAccount>();
  const inTurn = limitedTo(1);

  /** None if the folder has another user by now. */
  function dry(stored: PartnerAccount | undefined): PartnerAccount | undefined {
    const own = stored && changed.get(stored.name);
    if (!own) return stored;
    return own.generation === stored.generation ? withLock(own, stored.refreshing) : undefined;
  }

  return {
    list: async (onUnreadable) => (await folder.list(onUnreadable)).flatMap((stored) => dry(stored) ?? []),
    read: async (name) => dry(await folder.read(name)),
    change: (name, change) =>
      inTurn(async () => {
        let own: PartnerAccount | undefined;
        const stored = await folder.change(name, (current) => {
          const account = dry(current);
          own = account && change(account);
          const isOfLock = own?.refreshing?.holder !== current.refreshing?.holder;
          return own && isOfLock ? withLock(current, own.refreshing) : undefined;
        });
        if (own) changed.set(name, own);
        return own ?? dry(stored);
      }),
  };
}

function withLock(
  { refreshing: _, ...account }: PartnerAccount,
  refreshing: PartnerAccount['refreshing'],
): PartnerAccount {
  return refreshing ? { ...account, refreshing } : account;
}
