import { type Counters, type Etag, type Key, newEtag, type Row, type Store, sumOf } from '../ports/store.ts';
import type { Connection } from './file/connection.ts';

/** The rows in the state file. Writes of one turn of the event loop are one transaction (file/connection.ts). */
export interface RowStore extends Store {
  /** Like `add`, within a write of the connection. */
  addWithin(key: Key, counters: Counters): void;
  /** Like `put`, whatever is there, within a write of the connection. */
  putWithin(key: Key, value: unknown): void;
  /** Like `remove`, within a write of the connection. @returns whether the row was there */
  removeWithin(key: Key, expected: Etag): boolean;
}

interface Found {
  readonly name: string;
  readonly etag: string;
  readonly value: string;
}

export function createRowStore(connection: Connection): RowStore {
  const select = connection.prepare('SELECT name, etag, value FROM rows WHERE kind = ? AND name = ?');
  // SQLite compares text by its bytes. The range includes `after`, which is left out.
  const selectSome = connection.prepare(
    `SELECT name, etag, value FROM rows WHERE kind = ? AND name BETWEEN ? AND ? AND name <> ?
     ORDER BY name LIMIT ?`,
  );
  const insert = connection.prepare(
    'INSERT INTO rows (value, etag, kind, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const replace = connection.prepare(
    'UPDATE rows SET value = ?, etag = ? WHERE kind = ? AND name = ? AND etag = ?',
  );
  const remove = connection.prepare(
    'DELETE FROM rows WHERE kind = ? AND name = ? AND etag = ifnull(?, etag)',
  );

  const find = ({ kind, name }: Key): Row | undefined => {
    const found = select.get(kind, name) as Found | undefined;
    return found && rowOf(found);
  };

  function addWithin(key: Key, counters: Counters): void {
    const { kind, name } = key;
    const row = find(key);
    const text = JSON.stringify(sumOf(row?.value as Counters | undefined, counters));
    if (row) replace.run(text, newEtag(), kind, name, row.etag);
    else insert.run(text, newEtag(), kind, name);
  }

  return {
    get: async (key) => connection.read(() => find(key)),

    async list(kind, { prefix = '', after = '', limit = -1 } = {}) {
      const low = after > prefix ? after : prefix;
      const found = connection.read(() => selectSome.all(kind, low, `${prefix}\uffff`, after, limit));
      return (found as unknown as Found[]).map(rowOf);
    },

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
      connection.write(() => {
        const { changes } = remove.run(key.kind, key.name, expected ?? null);
        return changes === 1 || expected === undefined || find(key) === undefined;
      }),

    add: (key, counters) => connection.write(() => addWithin(key, counters)),

    addWithin,
    putWithin({ kind, name }, value) {
      remove.run(kind, name, null);
      insert.run(JSON.stringify(value), newEtag(), kind, name);
    },
    removeWithin: ({ kind, name }, expected) => remove.run(kind, name, expected).changes === 1,
  };
}

function rowOf({ name, etag, value }: Found): Row {
  try {
    return { name, etag, value: JSON.parse(value) };
  } catch {
    return { name, etag, value: undefined };
  }
}
