import type { Store, WriteOptions } from './store.ts';

/** Single texts by name: settings, the application's credentials, the rate budget. */
export type Documents = ReturnType<typeof createDocuments>;

export function createDocuments(store: Store) {
  const select = store.prepare('SELECT text FROM documents WHERE name = ?');
  const upsert = store.prepare(
    'INSERT INTO documents (name, text) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET text = excluded.text',
  );

  // Call these functions within a read or a write of the store.
  const get = (name: string): string | undefined => (select.get(name) as { text: string } | undefined)?.text;
  const put = (name: string, text: string): void => void upsert.run(name, text);

  return {
    get,
    put,
    read: async (name: string): Promise<string | undefined> => store.read(() => get(name)),
    write: (name: string, text: string, options?: WriteOptions): Promise<void> =>
      store.write(() => put(name, text), options),
  };
}
