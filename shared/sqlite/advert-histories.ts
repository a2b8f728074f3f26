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

/**
 * Rows forgotten in one transaction, and the pause after it: a bridge that is running in another process gets its turn
 * in between.
 */
const rowsAtOnce = 1_000;
const pauseMs = 20;

const columns = 'version, sequence, status, envelope, written_by, position, owed, tries, missing_since';

/** Advert histories in the state file: a read or a write costs the same with a million adverts. */
export function createAdvertHistories(store: Store) {
  const select = store.prepare(`SELECT ${columns} FROM advert_histories WHERE key = ?`);
  const insert = store.prepare(
    `INSERT INTO advert_histories (${columns}, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`,
  );
  const update = store.prepare(
    `UPDATE advert_histories SET (${columns}) = (?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE key = ? AND version = ?`,
  );
  const selectSome = store.prepare(
    `SELECT key, envelope FROM advert_histories WHERE key > ? AND key < ? ORDER BY key LIMIT ${rowsAtOnce}`,
  );
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
      return store.write(
        () => {
          const { changes } =
            row.version === 1
              ? insert.run(...values, keyOf(key))
              : update.run(...values, keyOf(key), row.version - 1);
          return changes === 1;
        },
        { patient: true },
      );
    },
    async remove(partnerAccount, generation) {
      // '0' is what comes after '/'. Generations are seconds since 1970, and so have ten digits until 2286.
      const removed = () => removeSome.run(`${partnerAccount}/`, `${partnerAccount}/${generation}0`).changes;
      while ((await store.write(removed)) === rowsAtOnce) await setTimeout(pauseMs);
    },
  };

  return {
    ...histories,
    /** The latest event of every advert of a generation, as it was recorded, a thousand at a time. */
    async *latest({ partnerAccount, generation }: Omit<AdvertKey, 'advertId'>): AsyncGenerator<string[]> {
      const history = `${partnerAccount}/${generation}`;
      for (let after = `${history}/`; ; ) {
        const rows = store.read(() => selectSome.all(after, `${history}0`)) as unknown as {
          key: string;
          envelope: string | null;
        }[];
        const last = rows.at(-1);
        if (!last) return;
        yield rows.flatMap(({ envelope }) => envelope ?? []);
        after = last.key;
      }
    },
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
