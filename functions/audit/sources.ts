/** Sources of the adverts that an audit compares, page by page. */
import { createHash } from 'node:crypto';
import type { PublishedAdverts } from '../../shared/ports/advert-histories.ts';
import type { AuditProgress } from '../../shared/ports/audits.ts';
import type { BackfillKey } from '../../shared/ports/backfills.ts';
import type { PacedRequests } from './paced-requests.ts';

export interface AuditPage {
  readonly advertIds: readonly string[];
  /** Position of the next page. */
  readonly next: string;
  /** Adverts that are checked only for whether they were ever published; those that were are on other pages. */
  readonly isListOnly?: true;
  /** Total number of published adverts, if the source has counted them. */
  readonly population?: number;
}

export interface AuditSource {
  /** Identifies the source, such as `sample 299`. */
  readonly name: string;
  /**
   * @param position `next` of the page before; undefined: the first page
   * @param audit its ID determines the sample, so that a continued audit has the same sample
   * @param requests for sources that send requests to the service
   * @returns undefined after the last page
   */
  page(
    position: string | undefined,
    audit: Pick<AuditProgress, 'id'>,
    requests: PacedRequests,
  ): Promise<AuditPage | undefined>;
}

/** Small, so that a continued audit repeats little. */
const idsAtOnce = 100;

/**
 * A random sample of published adverts; every set of `size` adverts is equally likely. It consists of the adverts with
 * the smallest hashes, computed together with the audit's ID, so the sample need not be stored.
 *
 * @param atOnce adverts per page
 */
export function sampleSource(
  published: PublishedAdverts,
  history: BackfillKey,
  size: number,
  atOnce: number = idsAtOnce,
): AuditSource {
  let drawn: Drawn | undefined;
  return {
    name: `sample ${size}`,
    async page(position = ':0', { id }) {
      const [rank = '', taken = 0] = [position.split(':')[0], Number(position.split(':')[1])];
      drawn ??= await draw(published, history, { seed: id, after: rank, size: size - taken });
      const { least, population } = drawn;
      const some = least.filter((one) => one.rank > rank).slice(0, atOnce);
      const last = some.at(-1);
      if (!last) return undefined;
      const next = `${last.rank}:${taken + some.length}`;
      return { advertIds: some.map(({ advertId }) => advertId), next, population };
    },
  };
}

interface Ranked {
  readonly rank: string;
  readonly advertId: string;
}

interface Drawn {
  readonly least: readonly Ranked[];
  readonly population: number;
}

async function draw(
  published: PublishedAdverts,
  history: BackfillKey,
  { seed, after, size }: { readonly seed: string; readonly after: string; readonly size: number },
): Promise<Drawn> {
  let least: Ranked[] = [];
  let population = 0;
  const cut = () => {
    least = least.sort((one, other) => (one.rank < other.rank ? -1 : 1)).slice(0, size);
  };
  for (let from: string | undefined; ; ) {
    const { advertIds, next } = await published.page(history, from);
    population += advertIds.length;
    for (const advertId of advertIds) {
      const rank = createHash('sha256').update(`${seed}/${advertId}`).digest('hex').slice(0, 16);
      if (rank > after) least.push({ rank, advertId });
    }
    cut();
    if (next === undefined) return { least, population };
    from = next;
  }
}
