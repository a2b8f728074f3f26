import { describe, expect, it } from 'vitest';
import { beforeAll } from '../../shared/domain/queue/position.ts';
import type { AdvertHistories, AdvertRow } from '../../shared/ports/advert-histories.ts';
import type { PublishedAdverts } from '../../shared/ports/published-adverts.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface PublishedAdvertsSubject extends Cleaned {
  readonly advertHistories: AdvertHistories;
  readonly publishedAdverts: PublishedAdverts;
}

const history = { partnerAccount: 'main', generation: 1_763_640_000 };
const feed = 'adverts';
const row: AdvertRow = {
  ...{ sequence: 1, status: 'active', envelope: '{}', by: 'read-1:1' },
  ...{ position: beforeAll, owed: false, version: 1 },
};

/**
 * What every list of published adverts does.
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
        { ...bare, sequence: 0, status: null, owed: true },
      );
      for (const partnerAccount of ['main2', 'main.x', 'mai'])
        await advertHistories.write({ ...history, feed, partnerAccount, advertId: '3' }, row);
      for (const generation of [history.generation - 1, history.generation + 1, history.generation * 10])
        await advertHistories.write({ ...history, feed, generation, advertId: '4' }, row);

      expect(await all(publishedAdverts)).toEqual(['1']);
    });
  });
}
