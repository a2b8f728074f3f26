import { PartnerError } from '../shared/domain/faults.ts';
import type { AdvertSource } from '../shared/ports/backfills.ts';

/**
 * The pages of `source`. A page equal to the previous one throws `contract-broken`, because the list would never end.
 */
export function neverTheSame(source: AdvertSource): AdvertSource {
  let before: readonly unknown[] = [];
  return {
    name: source.name,
    async page(position) {
      const page = await source.page(position);
      if (page && isSame(page.data, before)) {
        throw new PartnerError(
          'contract-broken',
          'the advert list gave the same page again: it is paged in another way than assumed',
        );
      }
      before = page?.data ?? [];
      return page;
    },
  };
}

const isSame = (page: readonly unknown[], before: readonly unknown[]): boolean =>
  page.length > 0 && page.length === before.length && page.every((entry, index) => entry === before[index]);
