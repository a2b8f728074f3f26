/** Which adverts an audit started by a person compares, page by page; functions/audit/sources.ts has the sample. */
import type { AuditSource } from '../../functions/audit/sources.ts';
import { idsOf } from '../../functions/drain/page-ids.ts';
import type { PublishedAdverts } from '../../shared/ports/advert-histories.ts';
import type { AdvertSource, BackfillKey } from '../../shared/ports/backfills.ts';
import { neverTheSame } from '../list-pages.ts';

/** Every published advert, then the service's list, to find adverts that were never published. */
export function fullSource(
  published: PublishedAdverts,
  history: BackfillKey,
  list: AdvertSource,
): AuditSource {
  const listed = neverTheSame(list);
  return {
    name: `full ${list.name}`,
    async page(position = 'published:', _audit, requests) {
      const from = position.slice(position.indexOf(':') + 1);
      if (position.startsWith('published:')) {
        const { advertIds, next } = await published.page(history, from === '' ? undefined : from);
        return { advertIds, next: next === undefined ? 'list:0' : `published:${next}` };
      }
      const page = await requests(() => listed.page(Number(from)));
      return page && { advertIds: idsOf(page.data).ids, next: `list:${page.next}`, isListOnly: true };
    },
  };
}

/** The adverts that a person names. */
export const namedSource = (named: AdvertSource): AuditSource => ({
  name: named.name,
  async page(position = '0') {
    const page = await named.page(Number(position));
    return page && { advertIds: idsOf(page.data).ids, next: String(page.next) };
  },
});
