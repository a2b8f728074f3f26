import { advertIdPattern } from '../contract/checks.ts';
import type { PublishedAdverts } from '../ports/advert-histories.ts';
import type { Store } from './file/store.ts';

const rowsAtOnce = 1_000;

/** Published adverts in the state file, in the order of their keys. */
export function createPublishedAdverts(store: Store): PublishedAdverts {
  const select = store.prepare(
    `SELECT key FROM advert_histories
     WHERE key > ? AND key < ? AND row ->> 'envelope' IS NOT NULL ORDER BY key LIMIT ?`,
  );
  return {
    async page({ partnerAccount, generation }, from, most = rowsAtOnce) {
      const history = `${partnerAccount}/${generation}/`;
      // '0' is the character after '/', so this is the end of the keys with the prefix `history`.
      const end = `${partnerAccount}/${generation}0`;
      const rows = store.read(() => select.all(from ?? history, end, most)) as unknown as { key: string }[];
      const last = rows.at(-1);
      return {
        advertIds: rows.map(({ key }) => key.slice(history.length)).filter((id) => advertIdPattern.test(id)),
        ...(last && rows.length === most && { next: last.key }),
      };
    },
  };
}
