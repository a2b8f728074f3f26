import { checked, readRows } from '../contract/checks.ts';
import { progressRow } from '../contract/rows.ts';
import type { Etag, Key, Row, Store } from '../ports/store.ts';

export interface BackfillKey {
  readonly partnerAccount: string;
  readonly generation: number;
}

/** Names of the stored operations. */
export type ProgressKind = 'backfill' | 'audit' | 'audit-share';

export interface StoredProgress<T> {
  readonly value: T;
  /** Number of IDs that all operations of this kind have listed, for the books. */
  readonly counted: number;
  readonly etag: Etag;
}

/** The latest operation of one kind, for each partner account and generation. */
export interface Progresses<T> {
  /** Those of all accounts and generations, without unreadable ones. */
  list(): Promise<readonly (BackfillKey & { readonly value: T })[]>;
  /** Strongly consistent. @throws {ShapeError} */
  read(key: BackfillKey): Promise<StoredProgress<T> | undefined>;
  /**
   * @param over the progress as it was read; undefined where there was none
   * @param listed number of IDs of the page, for the books: counted in the same write, so that a page that is sent twice
   * is counted once
   * @returns undefined when another process wrote first: nothing is written then
   */
  write(
    key: BackfillKey,
    progress: T,
    over: StoredProgress<T> | undefined,
    listed: number,
  ): Promise<StoredProgress<T> | undefined>;
}

export interface ProgressOptions {
  /** false where the queue counts the messages that it accepts. */
  readonly countsListed: boolean;
}

export function createProgress<T extends object>(
  store: Store,
  kind: ProgressKind,
  { countsListed }: ProgressOptions,
): Progresses<T> {
  const keyOf = ({ partnerAccount, generation }: BackfillKey): Key => ({
    kind: 'progress',
    name: `${partnerAccount}/${generation}/${kind}`,
  });
  return {
    async list() {
      const rows = await store.list('progress');
      const ofKind = rows.filter(({ name }) => name.endsWith(`/${kind}`));
      return readRows(
        ofKind,
        (row) => {
          const [partnerAccount = '', generation] = row.name.split('/');
          return {
            partnerAccount,
            generation: Number(generation),
            value: progressIn(row).value as object as T,
          };
        },
        () => undefined,
      );
    },
    async read(key) {
      const row = await store.get(keyOf(key));
      if (!row) return undefined;
      const { value, counted } = progressIn(row);
      return { value: value as object as T, counted, etag: row.etag };
    },
    async write(key, value, over, listed) {
      const counted = (over?.counted ?? 0) + (countsListed ? listed : 0);
      const put = await store.put(keyOf(key), { value, counted }, over?.etag ?? 'absent');
      return 'etag' in put ? { value, counted, etag: put.etag } : undefined;
    },
  };
}

/** Number of IDs that the operations of a generation have listed. */
export async function listedByOperations(store: Store, { partnerAccount, generation }: BackfillKey) {
  const rows = await store.list('progress', { prefix: `${partnerAccount}/${generation}/` });
  return rows.reduce((sum, row) => sum + progressIn(row).counted, 0);
}

/** @throws {ShapeError} */
const progressIn = ({ name, value }: Row) => checked(progressRow, value, `progress of ${name}`);
