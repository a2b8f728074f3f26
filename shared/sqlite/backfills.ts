import type { BackfillKey, BackfillProgress, Backfills } from '../ports/backfills.ts';
import type { Versioned } from '../ports/partner-accounts.ts';
import type { Documents } from './file/documents.ts';
import type { Store } from './file/store.ts';

/** Progress of backfills in the state file. The queue counts what it accepts, so this does not touch the books. */
export function createBackfills(store: Store, documents: Documents): Backfills {
  const get = (key: BackfillKey): Versioned<BackfillProgress> | undefined => {
    const text = documents.get(nameOf(key));
    return text === undefined ? undefined : (JSON.parse(text) as Versioned<BackfillProgress>);
  };

  return {
    read: async (key) => store.read(() => get(key)),
    write: (key, value, expected) =>
      store.write(() => {
        if ((get(key)?.version ?? 0) !== expected) return false;
        documents.put(nameOf(key), JSON.stringify({ value, version: expected + 1 }));
        return true;
      }),
  };
}

const nameOf = ({ partnerAccount, generation }: BackfillKey): string =>
  `backfill/${partnerAccount}/${generation}`;
