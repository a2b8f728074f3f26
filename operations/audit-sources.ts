/** The adverts of an audit, in batches that fan-out handles in some seconds. */
import { auditBatch } from '../functions/drain/audit-share.ts';
import { idsOf } from '../functions/drain/page-ids.ts';
import type { Clock } from '../shared/domain/clock.ts';
import type { AdvertSource } from '../shared/ports/backfills.ts';
import type { AdvertHistories, PublishedAdverts } from '../shared/state/advert-histories.ts';
import type { BackfillKey } from '../shared/state/progress.ts';
import { neverTheSame } from './backfill.ts';
import { once } from './once.ts';

export interface AuditSourceDeps {
  readonly publishedAdverts: PublishedAdverts;
  readonly histories: Pick<AdvertHistories, 'read'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly maxRequestsPerSecond: number;
}

/** The IDs that a person names, or that `ids` finds on the first call. Positions count adverts. */
export function idsSource(
  { maxRequestsPerSecond }: Pick<AuditSourceDeps, 'maxRequestsPerSecond'>,
  name: string,
  ids: () => Promise<readonly string[]>,
): AdvertSource {
  const all = once(ids);
  return {
    name,
    total: async () => (await all()).length,
    async page(position) {
      const data = (await all()).slice(position, position + auditBatch(maxRequestsPerSecond));
      return data.length === 0 ? undefined : { data, next: position + data.length };
    },
  };
}

/** `size` adverts, chosen at random from all published ones. An audit that is continued gets others. */
export const sampleSource = (deps: AuditSourceDeps, key: BackfillKey, size: number): AdvertSource =>
  idsSource(deps, `sample ${size}`, async () => {
    const ranked = (await publishedIds(deps, key)).map((advertId) => ({ advertId, rank: deps.random() }));
    const drawn = ranked.sort((one, other) => one.rank - other.rank).slice(0, size);
    return drawn.map(({ advertId }) => advertId);
  });

/** Every published advert, then those of the service's list that were never published. */
export function fullSource(deps: AuditSourceDeps, key: BackfillKey, list: AdvertSource): AdvertSource {
  const batch = auditBatch(deps.maxRequestsPerSecond);
  const published = once(() => publishedIds(deps, key));
  const known = idsSource(deps, `full ${list.name}`, published);
  const listed = neverTheSame(list);
  let left: string[] = [];
  let next = 0;
  const isUnpublished = async (advertId: string) =>
    !(await deps.histories.read({ ...key, feed: 'adverts', advertId }))?.sequence;
  return {
    ...known,
    async page(position) {
      const { length } = await published();
      if (position < length) return known.page(position);
      if (left.length === 0) {
        const page = await listed.page(position - length);
        if (!page) return undefined;
        for (const id of idsOf(page.data).ids) if (await isUnpublished(id)) left.push(id);
        next = length + page.next;
        await deps.clock.sleep(2_000 / deps.maxRequestsPerSecond);
      }
      // The position moves on when the whole page was sent.
      const data = left.slice(0, batch);
      left = left.slice(batch);
      return { data, next: left.length > 0 ? position : next };
    },
  };
}

async function publishedIds(
  { publishedAdverts }: Pick<AuditSourceDeps, 'publishedAdverts'>,
  key: BackfillKey,
): Promise<string[]> {
  const all: string[] = [];
  for (let from: string | undefined; ; ) {
    const { advertIds, next } = await publishedAdverts.page(key, from);
    for (const advertId of advertIds) all.push(advertId);
    if (next === undefined) return all;
    from = next;
  }
}
