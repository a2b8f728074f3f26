import { describe, expect, it } from 'vitest';
import { type Key, type Row, type Store, update } from '../../shared/ports/store.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface StoreSubject extends Cleaned {
  readonly store: Store;
}

const account = (name: string): Key => ({ kind: 'account', name });
const history = (name: string): Key => ({ kind: 'history', name });

/** Writes a row that is not there yet. */
async function added(store: Store, key: Key, value: unknown): Promise<string> {
  const put = await store.put(key, value, 'absent');
  if ('conflict' in put) throw new Error('the row is there already');
  return put.etag;
}

const namesOf = (rows: readonly Row[]) => rows.map(({ name }) => name);

/** Conformance tests for every store. */
export function storeSuite(name: string, make: () => Promise<StoreSubject>): void {
  describe(`${name}: store`, () => {
    const subject = subjects(make);

    it('returns undefined for an absent row', async () => {
      const { store } = await subject();

      expect(await store.get(account('main'))).toBeUndefined();
      expect(await store.list('account')).toEqual([]);
    });

    it('returns the JSON value as it was put, with the etag of the put', async () => {
      const { store } = await subject();
      const value = { a: 1.5, 'b c': [null, true, { d: 'ä \u{1f600} "\\\u0000' }], e: '', f: {} };

      const etag = await added(store, account('main'), value);

      expect(await store.get(account('main'))).toEqual({ name: 'main', value, etag });
      expect(await store.get(history('main'))).toBeUndefined();
    });

    it('replaces the whole value if the etag is the expected one', async () => {
      const { store } = await subject();
      const first = await added(store, account('main'), { a: 1, b: 2 });

      const put = await store.put(account('main'), { b: 3 }, first);

      const row = await store.get(account('main'));
      expect(row?.value).toEqual({ b: 3 });
      expect(put).toEqual({ etag: row?.etag });
      expect(row?.etag).not.toBe(first);
    });

    it('returns the conflicting row, unchanged, when the etag is another one', async () => {
      const { store } = await subject();
      const first = await added(store, account('main'), { a: 1 });
      await store.put(account('main'), { a: 2 }, first);

      const outcomes = [
        await store.put(account('main'), { a: 3 }, first),
        await store.put(account('main'), { a: 3 }, 'absent'),
      ];

      const row = await store.get(account('main'));
      expect(row?.value).toEqual({ a: 2 });
      expect(outcomes).toEqual([{ conflict: row }, { conflict: row }]);
    });

    it('a conflict has no row when it is gone, a new etag when it is back', async () => {
      const { store } = await subject();
      const first = await added(store, account('main'), { a: 1 });
      await store.remove(account('main'));

      expect(await store.put(account('main'), { a: 2 }, first)).toEqual({ conflict: undefined });
      expect(await store.get(account('main'))).toBeUndefined();
      expect(await added(store, account('main'), { a: 1 })).not.toBe(first);
    });

    it('lets exactly one of several concurrent puts win', async () => {
      const { store } = await subject();
      const first = await added(store, account('main'), { a: 0 });

      const puts = await Promise.all([1, 2, 3, 4].map((a) => store.put(account('main'), { a }, first)));

      const winner = puts.findIndex((put) => 'etag' in put);
      expect(puts.filter((put) => 'etag' in put)).toHaveLength(1);
      expect((await store.get(account('main')))?.value).toEqual({ a: winner + 1 });
    });

    it('removes a row only if its etag is the expected one', async () => {
      const { store } = await subject();
      const first = await added(store, account('main'), { a: 1 });
      const put = await store.put(account('main'), { a: 2 }, first);
      const second = 'etag' in put ? put.etag : '';

      expect(await store.remove(account('main'), first)).toBe(false);
      expect((await store.get(account('main')))?.value).toEqual({ a: 2 });
      expect(await store.remove(account('main'), second)).toBe(true);
      expect(await store.get(account('main'))).toBeUndefined();
      expect(await store.remove(account('main'), second)).toBe(true);
    });

    it('lists one kind by the bytes of the names', async () => {
      const { store } = await subject();
      const names = ['a', 'B', 'a/2', 'a/10', 'a-b', 'a0', '~', '_'];
      for (const one of names) await added(store, history(one), { one });
      await added(store, account('c'), {});

      const rows = await store.list('history');

      expect(namesOf(rows)).toEqual(['B', '_', 'a', 'a-b', 'a/10', 'a/2', 'a0', '~']);
      expect(rows.map(({ value }) => value)).toEqual(namesOf(rows).map((one) => ({ one })));
      expect(rows[0]).toEqual(await store.get(history('B')));
    });

    it('lists names with a prefix, after a name, up to a limit', async () => {
      const { store } = await subject();
      for (const one of ['a', 'a/1', 'a/2', 'a/3', 'a0', 'b/1']) await added(store, history(one), 1);
      const listed = async (listing: Parameters<Store['list']>[1]) =>
        namesOf(await store.list('history', listing));

      expect(await listed({ prefix: 'a/' })).toEqual(['a/1', 'a/2', 'a/3']);
      expect(await listed({ prefix: 'a/', limit: 2 })).toEqual(['a/1', 'a/2']);
      expect(await listed({ prefix: 'a/', after: 'a/1', limit: 1 })).toEqual(['a/2']);
      expect(await listed({ prefix: 'a/', after: 'a/15' })).toEqual(['a/2', 'a/3']);
      expect(await listed({ prefix: 'a/', after: 'a/3', limit: 5 })).toEqual([]);
      expect(await listed({ prefix: 'a/', after: 'a' })).toEqual(['a/1', 'a/2', 'a/3']);
      expect(await listed({ prefix: 'a/', after: 'b' })).toEqual([]);
      expect(await listed({ after: 'a/3' })).toEqual(['a0', 'b/1']);
      expect(await listed({ limit: 3 })).toEqual(['a', 'a/1', 'a/2']);
      expect(await listed({ prefix: 'a/', upTo: 'a/2' })).toEqual(['a/1', 'a/2']);
      expect(await listed({ prefix: 'a/', after: 'a/2', upTo: 'a/1' })).toEqual([]);
    });

    it('counts the rows of a kind with a prefix, up to a limit', async () => {
      const { store } = await subject();
      for (const name of ['a/1', 'a/2', 'b/1']) await added(store, history(name), name);
      await added(store, account('a/3'), {});

      expect(await store.count('history')).toBe(3);
      expect(await store.count('history', { prefix: 'a/' })).toBe(2);
      expect(await store.count('history', { prefix: 'a/', limit: 1 })).toBe(1);
      expect(await store.count('history', { prefix: 'c/' })).toBe(0);
    });

    it('lists more than a megabyte of rows', async () => {
      const { store } = await subject();
      const names = Array.from({ length: 30 }, (_, index) => `main/${100 + index}`);
      const long = 'x'.repeat(50_000);
      for (const one of names) await added(store, history(one), { long });

      expect(namesOf(await store.list('history', { prefix: 'main/' }))).toEqual(names);
      expect(namesOf(await store.list('history', { after: 'main/103', limit: 24 }))).toEqual(
        names.slice(4, 28),
      );
    });

    it('adds to sums, which begin at 0 and may fall, and keeps nothing else', async () => {
      const { store } = await subject();
      const key: Key = { kind: 'books', name: 'main/1/adverts' };
      await store.add(key, { events: 2, unchanged: 1 });
      await Promise.all([store.add(key, { events: 3 }), store.add(key, { listed: 5, events: -1 })]);
      for (let i = 0; i < 50; i += 1) await store.add(key, { events: 1 });

      const [row] = await store.list('books', { prefix: 'main/' });
      expect(row?.value).toEqual({ events: 54, unchanged: 1, listed: 5 });
      expect(await store.get(key)).toEqual(row);
      expect(await store.remove(key, row?.etag)).toBe(true);
    });

    it('counts each of a hundred concurrent additions', async () => {
      const { store } = await subject();
      const key: Key = { kind: 'books', name: 'main/1/adverts' };
      const byAll = Array.from({ length: 100 }, (_, index) => index);

      await Promise.all(byAll.map((by) => store.add(key, { events: by, redelivered: 0 })));
      await Promise.all(byAll.map((by) => store.add(key, { events: by })));

      expect((await store.get(key))?.value).toEqual({ events: 9_900, redelivered: 0 });
    });

    it('loses no concurrent update', async () => {
      const { store } = await subject();

      await Promise.all(
        [1, 2, 3, 4, 5].map((by) =>
          update(store, account('main'), (row) => ({
            sum: ((row?.value as { sum: number })?.sum ?? 0) + by,
          })),
        ),
      );

      expect((await store.get(account('main')))?.value).toEqual({ sum: 15 });
    });
  });
}
