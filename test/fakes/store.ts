import type { LocalKey, RowStore } from '../../embedded/state/store.ts';
import {
  type Counters,
  type Key,
  type Listing,
  type Row,
  type Store,
  sumOf,
} from '../../shared/ports/store.ts';

interface Stored {
  readonly etag: string;
  readonly text: string;
}

export type InMemoryStore = ReturnType<typeof createInMemoryStore>;

/** The rows in memory, as JSON text like elsewhere. */
export function createInMemoryStore() {
  const kinds = new Map<string, Map<string, Stored>>();
  let writes = 0;

  const rowsOf = (kind: string): Map<string, Stored> => {
    const rows = kinds.get(kind) ?? new Map<string, Stored>();
    kinds.set(kind, rows);
    return rows;
  };
  const find = ({ kind, name }: LocalKey): Row | undefined => {
    const stored = rowsOf(kind).get(name);
    return stored && { name, etag: stored.etag, value: JSON.parse(stored.text) };
  };
  const write = ({ kind, name }: LocalKey, value: unknown): string => {
    writes += 1;
    const etag = `write ${writes}`;
    rowsOf(kind).set(name, { etag, text: JSON.stringify(value) });
    return etag;
  };
  function addWithin(key: Key, counters: Counters): void {
    write(key, sumOf(find(key)?.value as Counters | undefined, counters));
  }
  const namesOf = (kind: string, { prefix = '', after = '', upTo = '\uffff', limit }: Listing = {}) =>
    [...rowsOf(kind).keys()]
      .filter((name) => name.startsWith(prefix) && name > after && name <= upTo)
      .sort()
      .slice(0, limit);
  const findAll: RowStore['findAll'] = (kind, listing) =>
    namesOf(kind, listing).flatMap((name) => find({ kind, name } as LocalKey) ?? []);
  const removeWithin: RowStore['removeWithin'] = ({ kind, name }) => rowsOf(kind).delete(name);

  const store: Store = {
    get: async (key) => find(key),
    list: async (kind, listing) => findAll(kind, listing),
    count: async (kind, listing) => namesOf(kind, listing).length,
    async put(key, value, expected) {
      const { etag = 'absent' } = rowsOf(key.kind).get(key.name) ?? {};
      return etag === expected ? { etag: write(key, value) } : { conflict: find(key) };
    },
    async remove({ kind, name }, expected) {
      const row = rowsOf(kind).get(name);
      if (expected !== undefined && row && row.etag !== expected) return false;
      rowsOf(kind).delete(name);
      return true;
    },
    add: async (key, counters) => addWithin(key, counters),
  };
  const putWithin: RowStore['putWithin'] = (key, value) => void write(key, value);
  return { ...store, find, findAll, addWithin, putWithin, removeWithin };
}
