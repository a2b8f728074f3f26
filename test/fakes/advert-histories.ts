import { advertIdPattern } from '../../shared/contract/checks.ts';
import { historyKeyOf as keyOf } from '../../shared/domain/history-key.ts';
import type { AdvertHistories, AdvertRow, PublishedAdverts } from '../../shared/ports/advert-histories.ts';

/** Advert histories in memory. `published` lists the adverts with an event, in pages of `pageSize`. */
export function createInMemoryAdvertHistories(pageSize = 100) {
  const rows = new Map<string, AdvertRow>();
  const histories: AdvertHistories = {
    read: async (key) => rows.get(keyOf(key)),
    async write(key, row) {
      const version = rows.get(keyOf(key))?.version ?? 0;
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
  const published: PublishedAdverts = {
    async page({ partnerAccount, generation }, from = '', most = pageSize) {
      const prefix = `${partnerAccount}/${generation}/`;
      const keys = [...rows.keys()].filter(
        (key) => key.startsWith(prefix) && key > from && rows.get(key)?.envelope,
      );
      const page = keys.sort().slice(0, most);
      const next = keys.length > most ? page.at(-1) : undefined;
      return {
        advertIds: page.map((key) => key.slice(prefix.length)).filter((id) => advertIdPattern.test(id)),
        ...(next && { next }),
      };
    },
  };
  return { ...histories, published };
}
