/**
 * The rows of a dry run: reads come from the folder, writes stay in memory. Only the lock of a refresh is stored in the
 * folder, so that no other process refreshes the token at the same time. The folder's accounts do not learn of the new
 * token pair: the next run finds it in the vault, as after a crash between the two writes, and then publishes the
 * necessary events.
 */
import type { PartnerAccount } from '../shared/domain/partner-account.ts';
import type { Key, Row, Store } from '../shared/ports/store.ts';

/** @param own an empty store, for the rows that the dry run writes */
export function createDryStore(real: Store, own: Store): Store {
  const overlay = createOverlay(real, own);

  /** The account as the dry run has changed it, with the folder's lock; none if the folder has another user by now. */
  async function getAccount(key: Key): Promise<Row | undefined> {
    const [row, stored] = [await overlay.get(key), await real.get(key)];
    if (!row || !stored || row.etag === stored.etag) return stored;
    const [{ refreshing: _own, ...account }, folder] = [accountIn(row), accountIn(stored)];
    if (folder.generation !== account.generation) return undefined;
    const value = folder.refreshing ? { ...account, refreshing: folder.refreshing } : account;
    return { ...row, value, etag: `${row.etag} ${stored.etag}` };
  }

  return {
    ...overlay,
    get: (key) => (key.kind === 'account' ? getAccount(key) : overlay.get(key)),
    async list(kind, listing) {
      const rows = await overlay.list(kind, listing);
      if (kind !== 'account') return rows;
      return (await Promise.all(rows.map(({ name }) => getAccount({ kind, name })))).flatMap(
        (row) => row ?? [],
      );
    },
    async put(key, value, expected) {
      if (key.kind !== 'account') return overlay.put(key, value, expected);
      const [current, stored] = [await getAccount(key), await real.get(key)];
      if (!current || !stored || current.etag !== expected) return { conflict: current };
      const { refreshing } = value as PartnerAccount;
      const { refreshing: held, ...folder } = accountIn(stored);
      if (JSON.stringify(held) !== JSON.stringify(refreshing)) {
        const locked = await real.put(key, { ...folder, ...(refreshing && { refreshing }) }, stored.etag);
        if ('conflict' in locked) return { conflict: await getAccount(key) };
      }
      const before = await own.get(key);
      await own.put(key, value, before?.etag ?? 'absent');
      return { etag: (await getAccount(key))?.etag ?? '' };
    },
  };
}

const accountIn = ({ value }: Row): PartnerAccount => value as PartnerAccount;

/** Reads from `real` what is not in `own`, and writes to `own`. */
function createOverlay(real: Store, own: Store): Store {
  const get = async (key: Key) => (await own.get(key)) ?? real.get(key);
  return {
    get,
    async list(kind, listing) {
      const rows = [...(await real.list(kind, listing)), ...(await own.list(kind, listing))];
      const merged = [...new Map(rows.map((row) => [row.name, row])).values()];
      return merged.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, listing?.limit);
    },
    async put(key, value, expected) {
      if (await own.get(key)) return own.put(key, value, expected);
      const row = await real.get(key);
      if ((row?.etag ?? 'absent') !== expected) return { conflict: row };
      return own.put(key, value, 'absent');
    },
    remove: () => Promise.reject(new Error('a dry run forgets nothing')),
    async add(key, counters) {
      const sums = (await own.get(key)) ? undefined : await real.get(key);
      if (sums) await own.add(key, sums.value as typeof counters);
      await own.add(key, counters);
    },
  };
}
