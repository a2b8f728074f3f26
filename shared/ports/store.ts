import type { Kind } from '../contract/names.ts';
import { forEachConcurrent } from '../domain/concurrency.ts';

/** The address of a row. Names are printable ASCII, up to 1,000 characters; their parts are separated by `/`. */
export interface Key {
  readonly kind: Kind;
  readonly name: string;
}

/** Random, and new with each write: it identifies one write of one row. */
export type Etag = string;

export interface Row {
  readonly name: string;
  /** Any JSON value; `undefined` for a row that somebody edited so that it is no JSON any more. */
  readonly value: unknown;
  readonly etag: Etag;
}

export type Counters = Readonly<Record<string, number>>;

export function sumOf(one: Counters = {}, other: Counters = {}): Counters {
  const sum: Record<string, number> = { ...one };
  for (const [name, by] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + by;
  return sum;
}

/** The row as written, or the row that is there instead (absent: there is none). */
export type Put = { readonly etag: Etag } | { readonly conflict: Row | undefined };

export interface Listing {
  /** Only names that begin with it. */
  readonly prefix?: string;
  /** Only names after it; it need not exist. */
  readonly after?: string;
  /** Only names up to it, itself included. */
  readonly upTo?: string;
  /** Fewer rows than this mean that the end is reached. Default: all rows */
  readonly limit?: number;
}

/** All that the bridge remembers, apart from secrets and the queue: rows of JSON. What they mean: shared/state/. */
export interface Store {
  /** Strongly consistent. */
  get(key: Key): Promise<Row | undefined>;
  /** The rows of a kind by name, in the order of its bytes. Strongly consistent. */
  list(kind: Kind, listing?: Listing): Promise<Row[]>;
  /** Number of rows of a kind, without their values; may be a moment old. @param limit stops counting there, which limits the cost */
  count(kind: Kind, listing?: Pick<Listing, 'prefix' | 'limit'>): Promise<number>;
  /** A repeated call recognizes its own success, unless another process has written in between. */
  put(key: Key, value: unknown, expected: Etag | 'absent'): Promise<Put>;
  /** @returns false if a row with another etag than `expected` is there */
  remove(key: Key, expected?: Etag): Promise<boolean>;
  /** Adds to the sums of a row that is never put. Each call counts once, also when the adapter repeats it. */
  add(key: Key, counters: Counters): Promise<void>;
}

/** Has 60 random bits, from bytes that Node keeps ready: asking the system for each took a tenth of a run's time. */
export const newEtag = (): Etag => crypto.randomUUID().slice(0, 18);

/** Maximum number of conflicting writes before `update` gives up. */
const maxConflicts = 50;

/**
 * Applies `change` to the row, and again to the one that is there if another process wrote in between. If it returns
 * undefined, nothing is written.
 */
export async function update(
  store: Pick<Store, 'get' | 'put'>,
  key: Key,
  change: (row: Row | undefined) => unknown,
): Promise<Row | undefined> {
  let row = await store.get(key);
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    const value = change(row);
    if (value === undefined) return row;
    const put = await store.put(key, value, row?.etag ?? 'absent');
    if ('etag' in put) return { name: key.name, value, etag: put.etag };
    row = put.conflict;
  }
  throw new Error(`${key.kind} ${key.name}: too many conflicting writes`);
}

/** About a megabyte, the maximum that DynamoDB returns per call; checking so many dead letters takes 50 ms. */
export const rowsAtOnce = 1_000;
export const removedAtOnce = 50;

/** The rows of a kind whose names begin with `prefix`, a thousand at a time. */
export async function* pagesOf(
  store: Pick<Store, 'list'>,
  kind: Kind,
  prefix: string,
): AsyncGenerator<Row[]> {
  for (let rows: Row[] | undefined; rows === undefined || rows.length === rowsAtOnce; ) {
    // A process that reads many does something else for a moment.
    if (rows) await new Promise((resolve) => setImmediate(resolve));
    rows = await store.list(kind, { prefix, after: rows?.at(-1)?.name ?? '', limit: rowsAtOnce });
    yield rows;
  }
}

/** Removes the rows of a kind whose names begin with `prefix`. @param isMeant default: all of them */
export async function removeRows(
  store: Pick<Store, 'list' | 'remove'>,
  { kind, prefix }: { readonly kind: Kind; readonly prefix: string },
  isMeant: (row: Row) => boolean = () => true,
): Promise<void> {
  for await (const rows of pagesOf(store, kind, prefix))
    await forEachConcurrent(rows.filter(isMeant), removedAtOnce, async ({ name }) => {
      await store.remove({ kind, name });
    });
}
