/**
 * The state of a dry run: reads come from the folder, writes stay in memory. Only what the partner service would not
 * return again is stored: a refreshed token pair, and, during the refresh, the lock that keeps other processes from
 * refreshing too.
 */
import { DatabaseSync } from 'node:sqlite';
import { historyKeyOf } from '../shared/domain/history-key.ts';
import type { PartnerAccount } from '../shared/domain/partner-account.ts';
import type { AdvertHistories, AdvertRow } from '../shared/ports/advert-histories.ts';
import type { PartnerAccounts } from '../shared/ports/partner-accounts.ts';
import { freeWhatWasHeld } from '../shared/sqlite/file/run-lock.ts';
import { migrate } from '../shared/sqlite/file/schema.ts';
import { guarded } from '../shared/sqlite/file/state-error.ts';
import { stateFileIn } from '../shared/sqlite/file/state-file.ts';
import { createStore } from '../shared/sqlite/file/store.ts';
import { type EmbeddedState, stateOver } from '../shared/sqlite/state.ts';

/** Everything that a run needs, except the histories: there may be a million, so they are read one by one. */
const copied = [
  'documents',
  'partner_accounts',
  'feeds',
  'books',
  'messages',
  'sent_keys',
  'parked',
  'dead_letters',
];

/**
 * @param real the state of `dir`; the caller holds the run lock, and closes the state
 * @throws {StateError}
 */
export function createDryState(real: EmbeddedState, dir: string): EmbeddedState {
  const file = stateFileIn(dir);
  const db = guarded(file, () => copyOf(file));
  const copy = stateOver(createStore(db, 'the state in memory'), Date);
  return {
    ...copy,
    vault: real.vault,
    partnerAccounts: lockedAccounts(real.partnerAccounts, copy.partnerAccounts),
    advertHistories: { ...real.advertHistories, ...unwrittenHistories(real.advertHistories) },
  };
}

function copyOf(file: string): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  migrate(db);
  db.prepare('ATTACH ? AS real').run(file);
  for (const table of copied) db.exec(`INSERT INTO main.${table} SELECT * FROM real.${table}`);
  db.exec('DETACH real');
  freeWhatWasHeld(db);
  return db;
}

/** Keeps written rows in memory. */
function unwrittenHistories(real: AdvertHistories): AdvertHistories {
  const written = new Map<string, AdvertRow>();
  return {
    async read(key) {
      return written.get(historyKeyOf(key)) ?? real.read(key);
    },
    async write(key, row) {
      const stored = await real.read(key);
      const place = historyKeyOf(key);
      if ((written.get(place) ?? stored)?.version !== (row.version === 1 ? undefined : row.version - 1))
        return false;
      written.set(place, row);
      return true;
    },
    remove: () => Promise.reject(new Error('a dry run forgets nothing')),
  };
}

/**
 * The dry run's accounts, with the refresh lock stored in the folder. The folder's rows do not learn of a new token
 * pair: the next run finds it in the vault, as after a crash between the two writes, and then publishes the necessary
 * events.
 */
function lockedAccounts(real: PartnerAccounts, copy: PartnerAccounts): PartnerAccounts {
  /** Empty when the account was forgotten or given to another user in the meantime. */
  async function current(account: PartnerAccount): Promise<PartnerAccount[]> {
    const stored = (await real.read(account.name))?.value;
    if (stored?.generation !== account.generation) return [];
    const { refreshing: _own, ...rest } = account;
    return [stored.refreshing ? { ...rest, refreshing: stored.refreshing } : rest];
  }
  return {
    list: async (onUnreadable) => (await Promise.all((await copy.list(onUnreadable)).map(current))).flat(),
    async read(name) {
      const own = await copy.read(name);
      const [value] = own ? await current(own.value) : [];
      return own && value && { ...own, value };
    },
    async write(account, expected) {
      const stored = await real.read(account.name);
      if (!stored) return false;
      const { refreshing: held, ...rest } = stored.value;
      const { refreshing } = account;
      if (JSON.stringify(held) !== JSON.stringify(refreshing)) {
        const locked = { ...rest, ...(refreshing && { refreshing }) };
        if (!(await real.write(locked, stored.version))) return false;
      }
      return copy.write(account, expected);
    },
    remove: () => Promise.reject(new Error('a dry run forgets nothing')),
  };
}
