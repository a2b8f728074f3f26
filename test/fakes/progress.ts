import type { BackfillKey, Progresses, Versioned } from '../../shared/ports/backfills.ts';

/** Progress of operations in memory. */
export function createInMemoryProgress<T>(): Progresses<T> {
  const stored = new Map<string, Versioned<T>>();
  const nameOf = ({ partnerAccount, generation }: BackfillKey) => `${partnerAccount}/${generation}`;
  return {
    read: async (key) => stored.get(nameOf(key)),
    async write(key, value, expected) {
      if ((stored.get(nameOf(key))?.version ?? 0) !== expected) return false;
      stored.set(nameOf(key), { value, version: expected + 1 });
      return true;
    },
  };
}
