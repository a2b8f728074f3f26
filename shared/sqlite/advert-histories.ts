import { setTimeout } from 'node:timers/promises';
import type { AdvertHistories, AdvertKey, AdvertRow } from '../ports/advert-histories.ts';
import type { Store } from './file/store.ts';

interface Row {
  readonly version: number;
  readonly sequence: number;
  readonly status: string | null;
  readonly envelope: string | null;
  readonly written_by: string | null;
  readonly position: string;
  readonly owed: number;
  readonly tries: number | null;
  readonly missing_since: number | null;
}

/** Rows read or removed at once; a bridge that runs in another process gets its turn in the pause after a removal. */
const rowsAtOnce = 1_000;
const pauseMs = 20;

const columns = 'version, sequence, status, envelope, written_by, position, owed, tries, missing_since';

/** Advert histories in the state file; a read or a write costs the same with a million adverts. */
export function createAdvertHistories(store: Store) {
  const select = store.prepare(`SELECT ${columns} FROM advert_histories WHERE key = ?`);
  const insert = store.prepare(
    `INSERT INTO advert_histories (${columns}, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`,
  );
  const update = store.prepare(
    `UPDATE advert_histories SET (${columns}) = (?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE key = ? AND version = ?`,
  );
  const latestPage = createLatestPages(store);
  const removeSome = store.prepare(
    `DELETE FROM advert_histories WHERE id IN
     (SELECT id FROM advert_histories WHERE key >= ? AND key < ? LIMIT ${rowsAtOnce})`,
  );

  const histories: AdvertHistories = {
    async read(key) {
      const row = store.read(() => select.get(keyOf(key))) as Row | undefined;
      return row && fromRow(row);
    },
    write(key, row) {
      const values = valuesOf(row);
      return store.write(() => {
        const { changes } =
          row.version === 1
            ? insert.run(...values, keyOf(key))
            : update.run(...values, keyOf(key), row.version - 1);
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
    /** The latest event of every advert of a generation, as it was recorded, up to a thousand at a time. */
    async *latest({
      partnerAccount,
      generation,
    }: Omit<AdvertKey, 'advertId'>): AsyncGenerator<readonly string[]> {
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
  /** Where the next page begins. */
  readonly after: string;
  readonly envelopes: readonly string[];
}

/**
 * Reads the latest events of a generation's adverts page by page. To be called within a read or a write of the store.
 *
 * @returns a function that takes `main/1763640000` (partner account and generation) and where the page before ended, and
 *   gives undefined after the last page
 */
export function createLatestPages(store: Store) {
  const select = store.prepare(
    `SELECT key, envelope FROM advert_histories WHERE key > ? AND key < ? ORDER BY key LIMIT ${rowsAtOnce}`,
  );
  return (history: string, after = `${history}/`): LatestPage | undefined => {
    // '0' is the character after '/': the end of the keys that begin with `history/`.
    const rows = select.all(after, `${history}0`) as unknown as { key: string; envelope: string | null }[];
    const last = rows.at(-1);
    return last && { after: last.key, envelopes: rows.flatMap(({ envelope }) => envelope ?? []) };
  };
}

const keyOf = ({ partnerAccount, generation, advertId }: AdvertKey): string =>
  `${partnerAccount}/${generation}/${advertId}`;

const valuesOf = (row: AdvertRow) =>
  [
    row.version,
    row.sequence,
    row.status,
    row.envelope ?? null,
    row.by ?? null,
    row.position,
    row.owed ? 1 : 0,
    row.tries ?? null,
    row.missingSince ?? null,
  ] as const;

function fromRow(row: Row): AdvertRow {
  const { version, sequence, status, position } = row;
  return {
    version,
    sequence,
    status,
    position,
    owed: row.owed === 1,
    ...(row.envelope === null ? {} : { envelope: row.envelope }),
    ...(row.written_by === null ? {} : { by: row.written_by }),
    ...(row.tries === null ? {} : { tries: row.tries }),
    ...(row.missing_since === null ? {} : { missingSince: row.missing_since }),
  };
}
