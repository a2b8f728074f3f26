import type { BackfillKey, ProgressKind, Versioned } from '../../ports/backfills.ts';
import type { Documents } from './documents.ts';
import type { Store } from './store.ts';

/**
 * Progress of long operations in the state file: the latest operation of each partner account and generation. The books
 * are not changed here, because the queue counts the messages that it accepts.
 *
 * @param kind kind of operation
 */
export function createProgress<T>(store: Store, documents: Documents, kind: ProgressKind) {
  const nameOf = ({ partnerAccount, generation }: BackfillKey) => `${kind}/${partnerAccount}/${generation}`;
  const get = (key: BackfillKey): Versioned<T> | undefined => {
    const text = documents.get(nameOf(key));
    return text === undefined ? undefined : (JSON.parse(text) as Versioned<T>);
  };
  return {
    read: async (key: BackfillKey) => store.read(() => get(key)),
    write: (key: BackfillKey, value: T, expected: number): Promise<boolean> =>
      store.write(() => {
        if ((get(key)?.version ?? 0) !== expected) return false;
        documents.put(nameOf(key), JSON.stringify({ value, version: expected + 1 }));
        return true;
      }),
  };
}
