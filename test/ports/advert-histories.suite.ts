import { describe, expect, it } from 'vitest';
import type { AdvertHistories, AdvertRow, PublishedAdverts } from '../../shared/ports/advert-histories.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface AdvertHistoriesSubject extends Cleaned {
  readonly advertHistories: AdvertHistories;
}

const key = { partnerAccount: 'main', generation: 1_763_640_000, feed: 'adverts', advertId: '123' } as const;

const first: AdvertRow = { sequence: 0, status: null, pending: true, version: 1 };
const complete: AdvertRow = {
  sequence: 7,
  status: 'aktywne ✓',
  envelope: '{"detail":{"data":{"status":"aktywne ✓","previousStatus":null}}}',
  by: 'read-1:123',
  pending: false,
  tries: 2,
  missingSince: 1_763_640_000_000,
  version: 1,
};

/** Conformance tests for every store of advert histories. */
export function advertHistoriesSuite(name: string, make: () => Promise<AdvertHistoriesSubject>): void {
  describe(`${name}: advert histories`, () => {
    const subject = subjects(make);

    it('has no row for an advert that was never written', async () => {
      const { advertHistories } = await subject();
      expect(await advertHistories.read(key)).toBeUndefined();
      await advertHistories.remove('main', key.generation);
    });

    it.each([
      ['with every attribute', complete],
      ['with the least', first],
      ['of an unavailable advert', { ...complete, status: null }],
    ])('gives back a row %s as it was written', async (_, row) => {
      const { advertHistories } = await subject();
      expect(await advertHistories.write(key, row)).toBe(true);
      expect(await advertHistories.read(key)).toEqual(row);
    });

    it('forgets what a later write leaves out', async () => {
      const { advertHistories } = await subject();
      await advertHistories.write(key, complete);
      expect(await advertHistories.write(key, { ...first, version: 2 })).toBe(true);
      expect(await advertHistories.read(key)).toEqual({ ...first, version: 2 });
    });

    it('refuses a write over a version that is not the current one', async () => {
      const { advertHistories } = await subject();
      await advertHistories.write(key, first);
      expect(await advertHistories.write(key, { ...complete, version: 1 })).toBe(false);
      expect(await advertHistories.write(key, { ...complete, version: 3 })).toBe(false);
      expect(await advertHistories.read(key)).toEqual(first);
    });

    it('refuses the second version of a row that is not there', async () => {
      const { advertHistories } = await subject();
      expect(await advertHistories.write(key, { ...complete, version: 2 })).toBe(false);
      expect(await advertHistories.read(key)).toBeUndefined();
    });

    it('lets one of many writers win', async () => {
      const { advertHistories } = await subject();
      const wrote = await Promise.all(
        [1, 2, 3, 4].map((sequence) => advertHistories.write(key, { ...complete, sequence })),
      );
      expect(wrote.filter(Boolean)).toHaveLength(1);
    });

    it('keeps adverts, generations and partner accounts apart', async () => {
      const { advertHistories } = await subject();
      const others = [
        { ...key, advertId: '1234' },
        { ...key, generation: key.generation + 1 },
        { ...key, partnerAccount: 'main2' },
        { ...key, partnerAccount: 'main.x' },
      ];
      await advertHistories.write(key, complete);
      for (const other of others) expect(await advertHistories.read(other)).toBeUndefined();
      for (const other of others) expect(await advertHistories.write(other, first)).toBe(true);
      expect(await advertHistories.read(key)).toEqual(complete);
    });

    it('forgets the generations of one partner account up to one, and nobody else', async () => {
      const { advertHistories } = await subject();
      const earlier = { ...key, generation: key.generation - 1 };
      const later = { ...key, generation: key.generation + 1 };
      const others = [
        later,
        ...['main2', 'main.x', 'main-', 'mai'].map((partnerAccount) => ({ ...key, partnerAccount })),
      ];
      for (const each of [key, earlier, ...others]) await advertHistories.write(each, first);

      await advertHistories.remove('main', key.generation);

      expect(await advertHistories.read(key)).toBeUndefined();
      expect(await advertHistories.read(earlier)).toBeUndefined();
      for (const other of others) expect(await advertHistories.read(other)).toEqual(first);
    });
  });
}

export interface PublishedAdvertsSubject extends Cleaned {
  readonly advertHistories: AdvertHistories;
  readonly publishedAdverts: PublishedAdverts;
}

const history = { partnerAccount: 'main', generation: 1_763_640_000 };
const feed = 'adverts';
const row: AdvertRow = {
  ...{ sequence: 1, status: 'active', envelope: '{}', by: 'read-1:1' },
  ...{ pending: false, version: 1 },
};

/**
 * Conformance tests for every list of published adverts.
 *
 * @param many more adverts than there are on a page, with envelopes of so many characters
 */
export function publishedAdvertsSuite(
  name: string,
  many: { readonly adverts: number; readonly envelope?: number },
  make: () => Promise<PublishedAdvertsSubject>,
): void {
  describe(`${name}: published adverts`, () => {
    const subject = subjects(make);

    async function all(published: PublishedAdverts): Promise<string[]> {
      const found: string[] = [];
      for (let from: string | undefined; ; ) {
        const { advertIds, next } = await published.page(history, from);
        found.push(...advertIds);
        if (next === undefined) return found;
        from = next;
      }
    }

    it('is empty where nothing was published', async () => {
      const { publishedAdverts } = await subject();
      expect(await publishedAdverts.page(history)).toEqual({ advertIds: [] });
    });

    it('has every advert of the generation with an event, over all pages once', async () => {
      const { advertHistories, publishedAdverts } = await subject();
      const ids = Array.from({ length: many.adverts }, (_, index) =>
        String(9_007_199_254_740_993n + BigInt(index)),
      );
      const envelope = 'x'.repeat(many.envelope ?? 2);
      await Promise.all(
        ids.map((advertId) => advertHistories.write({ ...history, feed, advertId }, { ...row, envelope })),
      );

      const first = await publishedAdverts.page(history);
      const found = await all(publishedAdverts);

      expect(first.advertIds.length).toBeLessThan(ids.length);
      expect(await all(publishedAdverts)).toEqual(found);
      expect(found.sort()).toEqual(ids);
    });

    it('leaves out other accounts, other generations, and adverts without an event', async () => {
      const { advertHistories, publishedAdverts } = await subject();
      const { envelope: _none, by: _nobody, ...bare } = row;
      await advertHistories.write({ ...history, feed, advertId: '1' }, row);
      await advertHistories.write(
        { ...history, feed, advertId: '2' },
        { ...bare, sequence: 0, status: null, pending: true },
      );
      for (const partnerAccount of ['main2', 'main.x', 'mai'])
        await advertHistories.write({ ...history, feed, partnerAccount, advertId: '3' }, row);
      for (const generation of [history.generation - 1, history.generation + 1, history.generation * 10])
        await advertHistories.write({ ...history, feed, generation, advertId: '4' }, row);

      expect(await all(publishedAdverts)).toEqual(['1']);
    });
  });
}
