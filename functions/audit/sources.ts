/** Which adverts an audit compares, page by page. */
import { createHash } from 'node:crypto';
import type { PublishedAdverts } from '../../shared/ports/advert-histories.ts';
import type { AuditProgress } from '../../shared/ports/audits.ts';
import type { BackfillKey } from '../../shared/ports/backfills.ts';
import type { PacedRequests } from './paced-requests.ts';

export interface AuditPage {
  readonly advertIds: readonly string[];
  /** Where the next page begins. */
  readonly next: string;
  /** Only looked at for whether they were ever published: those that were are on other pages. */
  readonly isListOnly?: true;
  /** How many adverts were published in all, where the source has counted them. */
  readonly population?: number;
}

export interface AuditSource {
  /** Identifies the source, such as `sample 299`. */
  readonly name: string;
  /**
   * @param position `next` of the page before; undefined: the first page
   * @param audit a sample is drawn with its ID, so that an audit that goes on has the same one
   * @param requests for what asks the service
   * @returns undefined after the last page
   */
  page(
    position: string | undefined,
    audit: Pick<AuditProgress, 'id'>,
    requests: PacedRequests,
  ): Promise<AuditPage | undefined>;
}

/** Few enough that little is repeated where an audit goes on. */
const idsAtOnce = 100;

/**
 * Published adverts chosen at random, each set of `size` as likely as any other: those whose hash with the audit's own ID is
 * least. So the sample has not to be stored.
 *
 * @param atOnce how many make a page
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
