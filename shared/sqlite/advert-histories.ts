import { setTimeout } from 'node:timers/promises';
import { advertIdPattern, checkedJson } from '../contract/checks.ts';
import { advertRow } from '../contract/rows.ts';
import { type HistoryOwner, historyKeyOf as keyOf } from '../domain/history-key.ts';
import type { AdvertHistories } from '../ports/advert-histories.ts';
import type { Store } from './file/store.ts';

/** Number of rows to read or remove at once; a bridge in another process can write in the pause after each removal. */
const rowsAtOnce = 1_000;
const pauseMs = 20;

/** Advert histories in the state file. The cost of a read or write does not depend on the number of adverts. */
export function createAdvertHistories(store: Store) {
  const select = store.prepare('SELECT row FROM advert_histories WHERE key = ?');
  const insert = store.prepare(
    'INSERT INTO advert_histories (row, version, key) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING',
  );
  const update = store.prepare(
    'UPDATE advert_histories SET row = ?, version = ? WHERE key = ? AND version = ?',
  );
  const removeSome = store.prepare(
    `DELETE FROM advert_histories WHERE id IN
     (SELECT id FROM advert_histories WHERE key >= ? AND key < ? LIMIT ${rowsAtOnce})`,
  );
  const latestPage = createLatestPages(store);

  const histories: AdvertHistories = {
    async read(key) {
      const found = store.read(() => select.get(keyOf(key))) as { row: string } | undefined;
      return found && checkedJson(advertRow, found.row, `history of advert ${keyOf(key)}`);
    },
    write(key, row) {
      const text = JSON.stringify(row);
      return store.write(() => {
        const { changes } =
          row.version === 1
            ? insert.run(text, row.version, keyOf(key))
            : update.run(text, row.version, keyOf(key), row.version - 1);
        return changes === 1;
      });
    },
    async remove(partnerAccount, generation) {
      // '0' is the character after '/'. Keys compare as text: generations, seconds since 1970, have ten digits until 2286.
      const removed = () => removeSome.run(`${partnerAccount}/`, `${partnerAccount}/${generation}0`).changes;
      while ((await store.write(removed)) === rowsAtOnce) await setTimeout(pauseMs);
    },
  };

  return {
    ...histories,
    /** Reads the latest recorded event of every advert of a generation, up to a thousand at a time. */
    async *latest({
      partnerAccount,
      generation,
    }: Pick<HistoryOwner, 'partnerAccount' | 'generation'>): AsyncGenerator<readonly string[]> {
      const history = `${partnerAccount}/${generation}`;
      for (let page = store.read(() => latestPage(history)); page; ) {
        yield page.envelopes;
        const { after } = page;
        page = store.read(() => latestPage(history, after));
      }
    },
  };
}

interface LatestPage {
  /** Position of the next page. */
  readonly after: string;
  readonly envelopes: readonly string[];
}

/**
 * Reads the latest events of a generation's adverts page by page. Call it within a read or a write of the store.
 *
 * @returns a function that takes `main/1763640000` (partner account and generation) and the end of the previous page,
 * and returns undefined after the last page
 */
export function createLatestPages(store: Store) {
  const select = store.prepare(
    `SELECT key, row ->> 'envelope' AS envelope FROM advert_histories
     WHERE key > ? AND key < ? ORDER BY key LIMIT ${rowsAtOnce}`,
  );
  return (history: string, after = `${history}/`): LatestPage | undefined => {
    // '0' is the character after '/', so this is the end of the keys with the prefix `history/`.
    const rows = select.all(after, `${history}0`) as unknown as { key: string; envelope: string | null }[];
    const last = rows.at(-1);
    // The keys of other feeds' objects are not advert IDs.
    const ofAdverts = rows.filter(({ key }) => advertIdPattern.test(key.slice(history.length + 1)));
    return last && { after: last.key, envelopes: ofAdverts.flatMap(({ envelope }) => envelope ?? []) };
  };
}
