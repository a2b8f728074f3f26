import { historyKeyOf as keyOf } from '../../shared/domain/history-key.ts';
import type { AdvertHistories, AdvertRow } from '../../shared/ports/advert-histories.ts';

/** Advert histories in memory. */
export function createInMemoryAdvertHistories(): AdvertHistories {
  const rows = new Map<string, AdvertRow>();
  return {
    read: async (key) => rows.get(keyOf(key)),
    async write(key, row) {
      const version = rows.get(keyOf(key))?.version ?? 0;
      // Planted fault: owed-without-version
      if (version !== row.version - 1) return false;
      rows.set(keyOf(key), row);
      return true;
    },
    async remove(partnerAccount, generation) {
      for (const key of rows.keys()) {
        const [name, of] = key.split('/');
        if (name === partnerAccount && Number(of) <= generation) rows.delete(key);
      }
    },
  };
}
