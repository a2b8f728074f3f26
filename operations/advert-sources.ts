/** The adverts of a backfill or an audit. */
import { createHash } from 'node:crypto';
import { auditBatch } from '../functions/drain/audit-share.ts';
import { idsOf } from '../functions/drain/read-page.ts';
import { BridgeFault } from '../shared/domain/faults.ts';
import type { AdvertHistories } from '../shared/state/advert-histories.ts';
import type { AdvertSource, BackfillKey } from '../shared/state/progress.ts';
import { type Bridge, once } from './bridge.ts';

export interface ListPaging {
  /**
   * `page`: the page's number, from 1. `offset`: the number of adverts before the page. `none`: a single page contains
   * all adverts.
   */
  readonly style: 'page' | 'offset' | 'none';
  readonly pageSize: number;
  readonly positionParameter?: string | undefined;
  readonly limitParameter?: string | undefined;
}

/** Time limit for one page, including the wait for the rate budget. */
const pageMs = 5 * 60_000;

/**
 * The partner service's advert list, inactive adverts included. The service does not document how the list is paged
 * (docs/partner-api.md). A page may be shorter than requested, so only an empty page ends the list.
 */
export function listSource(
  bridge: Pick<Bridge, 'service' | 'clock'>,
  { partnerAccount, generation }: BackfillKey,
  { style, pageSize, positionParameter = style, limitParameter }: ListPaging,
): AdvertSource {
  return {
    name: `list ${style}`,
    async page(position) {
      if (style === 'none' && position > 0) return undefined;
      const { data } = await (await bridge.service()).listAdverts(
        partnerAccount,
        {
          position: style === 'page' ? position + 1 : position,
          limit: pageSize,
          positionParameter: style === 'none' ? 'page' : positionParameter,
          ...(limitParameter === undefined ? {} : { limitParameter }),
        },
        { generation, deadlineMs: bridge.clock.now() + pageMs },
      );
      if (data.length === 0) return undefined;
      return { data, next: position + (style === 'offset' ? data.length : 1) };
    },
  };
}

/** The given IDs, `atOnce` in a page. Positions count adverts. */
export function idsSource(ids: readonly string[], atOnce: number): AdvertSource {
  const hash = createHash('sha256').update(ids.join('\n')).digest('hex').slice(0, 16);
  return foundSource(`ids ${hash}`, async () => ids, atOnce);
}

/** @param find called once, for the first page */
function foundSource(name: string, find: () => Promise<readonly string[]>, atOnce: number): AdvertSource {
  const ids = once(find);
  return {
    name,
    total: async () => (await ids()).length,
    async page(position) {
      const data = (await ids()).slice(position, position + atOnce);
      return data.length === 0 ? undefined : { data, next: position + data.length };
    },
  };
}

export interface AuditedBridge extends Pick<Bridge, 'clock'> {
  readonly advertHistories: Pick<AdvertHistories, 'page' | 'read'>;
  settings(): Promise<{ readonly maxRequestsPerSecond: number }>;
}

/** Adverts are audited in batches that fan-out handles in some seconds. */
const batchOf = async (bridge: AuditedBridge): Promise<number> =>
  auditBatch((await bridge.settings()).maxRequestsPerSecond);

export const auditedIds = async (bridge: AuditedBridge, ids: readonly string[]): Promise<AdvertSource> =>
  idsSource(ids, await batchOf(bridge));

/** `size` adverts, chosen at random from all published ones. An audit that is continued gets others. */
export async function sampleSource(
  bridge: AuditedBridge,
  key: BackfillKey,
  { size, random }: { readonly size: number; readonly random: () => number },
): Promise<AdvertSource> {
  const draw = async () => {
    const ranked = (await publishedIds(bridge, key)).map((advertId) => ({ advertId, rank: random() }));
    const drawn = ranked.sort((one, other) => one.rank - other.rank).slice(0, size);
    return drawn.map(({ advertId }) => advertId);
  };
  return foundSource(`sample ${size}`, draw, await batchOf(bridge));
}

/** Every published advert, then those of the service's list that were never published. */
export async function fullSource(
  bridge: AuditedBridge,
  key: BackfillKey,
  list: AdvertSource,
): Promise<AdvertSource> {
  const batch = await batchOf(bridge);
  const ids = once(() => publishedIds(bridge, key));
  const published = foundSource(`full ${list.name}`, ids, batch);
  const listed = neverTheSame(list);
  let left: string[] = [];
  let next = 0;
  const isUnpublished = async (advertId: string) =>
    !(await bridge.advertHistories.read({ ...key, feed: 'adverts', advertId }))?.sequence;
  return {
    ...published,
    async page(position) {
      const { length } = await ids();
      if (position < length) return published.page(position);
      if (left.length === 0) {
        const page = await listed.page(position - length);
        if (!page) return undefined;
        for (const id of idsOf(page.data).ids) if (await isUnpublished(id)) left.push(id);
        next = length + page.next;
        await bridge.clock.sleep(2_000 / (await bridge.settings()).maxRequestsPerSecond);
      }
      // The position moves on when the whole page was sent.
      const data = left.slice(0, batch);
      left = left.slice(batch);
      return { data, next: left.length > 0 ? position : next };
    },
  };
}

async function publishedIds({ advertHistories }: AuditedBridge, key: BackfillKey): Promise<string[]> {
  const all: string[] = [];
  for (let from: string | undefined; ; ) {
    const { advertIds, next } = await advertHistories.page(key, from);
    for (const advertId of advertIds) all.push(advertId);
    if (next === undefined) return all;
    from = next;
  }
}

/**
 * The pages of `source`. A page equal to the previous one throws `contract-broken`, because the list would never end.
 */
export function neverTheSame(source: AdvertSource): AdvertSource {
  let before: readonly unknown[] = [];
  return {
    ...source,
    async page(position) {
      const page = await source.page(position);
      if (page && isSame(page.data, before)) {
        throw new BridgeFault(
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
