import { parsedJson } from '../../shared/contract/checks.ts';
import {
  type Counters,
  type Etag,
  type Key,
  type Listing,
  newEtag,
  type Row,
  type Store,
  sumOf,
} from '../../shared/ports/store.ts';
import type { Connection } from './file/connection.ts';

/** Rows of an embedded bridge alone: a text by name, the token pairs of a partner account, and a reader of events. */
export type LocalKey = Key | { readonly kind: 'document' | 'tokens' | 'reader'; readonly name: string };

interface Found {
  readonly name: string;
  readonly etag: string;
  readonly value: string;
}

export type RowStore = ReturnType<typeof createRowStore>;

/**
 * The rows in the state file. Writes of one turn of the event loop are one transaction (file/connection.ts). The
 * functions beside those of the port are for use within a read or write of the connection.
 */
export function createRowStore(connection: Connection) {
  const select = connection.prepare('SELECT name, etag, value FROM rows WHERE kind = ? AND name = ?');
  // SQLite compares text by its bytes. The range includes `after`, which is left out.
  const selectSome = connection.prepare(
    `SELECT name, etag, value FROM rows WHERE kind = ? AND name BETWEEN ? AND ? AND name <> ?
     ORDER BY name LIMIT ?`,
  );
  const countSome = connection.prepare(
    'SELECT count(*) AS number FROM (SELECT 1 FROM rows WHERE kind = ? AND name BETWEEN ? AND ? LIMIT ?)',
  );
  const insert = connection.prepare(
    'INSERT INTO rows (value, etag, kind, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const upsert = connection.prepare(
    `INSERT INTO rows (value, etag, kind, name) VALUES (?, ?, ?, ?)
     ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value, etag = excluded.etag`,
  );
  const replace = connection.prepare(
    'UPDATE rows SET value = ?, etag = ? WHERE kind = ? AND name = ? AND etag = ?',
  );
  const remove = connection.prepare(
    'DELETE FROM rows WHERE kind = ? AND name = ? AND etag = ifnull(?, etag)',
  );

  function find({ kind, name }: LocalKey): Row | undefined {
    const found = select.get(kind, name) as Found | undefined;
    return found && rowOf(found);
  }
  function findAll(
    kind: LocalKey['kind'],
    { prefix = '', after = '', upTo = `${prefix}\uffff`, limit = -1 }: Listing = {},
  ): Row[] {
    const low = after > prefix ? after : prefix;
    const found = selectSome.all(kind, low, upTo, after, limit);
    return (found as unknown as Found[]).map(rowOf);
  }
  /** @returns whether the row was there */
  const removeWithin = ({ kind, name }: LocalKey, expected?: Etag): boolean =>
    remove.run(kind, name, expected ?? null).changes === 1;
  /** Like `put`, whatever is there. */
  const putWithin = ({ kind, name }: LocalKey, value: unknown): void =>
    void upsert.run(JSON.stringify(value), newEtag(), kind, name);
  const addWithin = (key: Key, counters: Counters): void =>
    putWithin(key, sumOf(find(key)?.value as Counters | undefined, counters));

  const store: Store = {
    get: async (key) => connection.read(() => find(key)),
    list: async (kind, listing) => connection.read(() => findAll(kind, listing)),
    count: async (kind, { prefix = '', limit = -1 } = {}) =>
      connection.read(() => Number(countSome.get(kind, prefix, `${prefix}\uffff`, limit)?.number)),
    put(key, value, expected) {
      const { kind, name } = key;
      const text = JSON.stringify(value);
      const etag = newEtag();
      return connection.write(() => {
        const { changes } =
          expected === 'absent'
            ? insert.run(text, etag, kind, name)
            : replace.run(text, etag, kind, name, expected);
        return changes === 1 ? { etag } : { conflict: find(key) };
      });
    },
    remove: (key, expected) =>
      connection.write(() => removeWithin(key, expected) || expected === undefined || !find(key)),
    add: (key, counters) => connection.write(() => addWithin(key, counters)),
  };
  return { ...store, find, findAll, addWithin, putWithin, removeWithin };
}

const rowOf = ({ name, etag, value }: Found): Row => ({ name, etag, value: parsedJson(value) });
