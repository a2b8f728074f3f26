import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { auditBatch } from '../../functions/drain/audit-share.ts';
import { idsOf } from '../../functions/drain/read-page.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import type { BackfillKey } from '../../shared/state/progress.ts';
import type { Bridge } from './bridge.ts';

export interface SourcePage {
  /** The IDs as received: not validated, and possibly repeated. */
  readonly data: readonly unknown[];
  /** Position of the next page, in the source's own unit. */
  readonly next: number;
}

export interface AdvertSource {
  /** An unfinished walk is continued only with a source of the same name. */
  readonly name: string;
  readonly total?: number;
  pages(from: number): AsyncGenerator<SourcePage>;
}

export interface ListPaging {
  /** `page`: its number, from 1. `offset`: the number of adverts before it. `none`: one page has all adverts. */
  readonly paging: 'page' | 'offset' | 'none';
  readonly pageSize: number;
  readonly positionParameter?: string | undefined;
  readonly limitParameter?: string | undefined;
}

/** Time limit for one page, including the wait for the rate budget. */
const pageMs = 5 * 60_000;

/**
 * The partner service's advert list, inactive adverts included. The service does not document how the list is paged
 * (docs/partner-api.md). A page may be shorter than requested, so only an empty page ends the list; a page that comes
 * again throws `contract-broken`, because the list would never end.
 */
export function listSource(
  bridge: Pick<Bridge, 'service' | 'clock'>,
  { partnerAccount, generation }: BackfillKey,
  { paging, pageSize, limitParameter = 'limit', ...names }: ListPaging,
): AdvertSource {
  const { positionParameter = paging === 'offset' ? 'offset' : 'page' } = names;
  return {
    name: `list ${paging}`,
    async *pages(from) {
      let before: readonly unknown[] = [];
      for (let next = from; paging !== 'none' || next === 0; ) {
        const position = paging === 'page' ? next + 1 : next;
        const query = { position, limit: pageSize, positionParameter, limitParameter };
        const options = { generation, deadlineMs: bridge.clock.now() + pageMs };
        const { data } = await (await bridge.service()).listAdverts(partnerAccount, query, options);
        if (data.length === 0) return;
        if (isDeepStrictEqual(data, before)) {
          throw new BridgeFault(
            'contract-broken',
            'the advert list gave the same page again: it is paged in another way than assumed',
          );
        }
        before = data;
        next += paging === 'offset' ? data.length : 1;
        yield { data, next };
      }
    },
  };
}

const hashOf = (ids: readonly string[]): string =>
  createHash('sha256').update(ids.join('\n')).digest('hex').slice(0, 16);

/** The given IDs, `atOnce` in a page. Positions count adverts. */
export const idsSource = (
  ids: readonly string[],
  atOnce: number,
  name = `ids ${hashOf(ids)}`,
): AdvertSource => ({
  name,
  total: ids.length,
  async *pages(from) {
    for (let next = from; next < ids.length; ) {
      const data = ids.slice(next, next + atOnce);
      next += data.length;
      yield { data, next };
    }
  },
});

/**
 * Which adverts are audited: `ids`; `sample`, so many at random of all published ones, others when it is continued; or
 * `list`, every published advert, then those of the service's list that were never published.
 */
export type Audited =
  | { readonly ids: readonly string[] }
  | { readonly sample: number; readonly random: () => number }
  | { readonly list: AdvertSource };

/** The adverts of an audit, in batches that fan-out handles in some seconds. */
export async function auditSource(bridge: Bridge, key: BackfillKey, audited: Audited): Promise<AdvertSource> {
  const { maxRequestsPerSecond } = await bridge.settings();
  const batch = auditBatch(maxRequestsPerSecond);
  if ('ids' in audited) return idsSource(audited.ids, batch);
  const published: string[] = [];
  for (let from: string | undefined, isOver = false; !isOver; isOver = from === undefined) {
    const { advertIds, next } = await bridge.advertHistories.page(key, from);
    published.push(...advertIds);
    from = next;
  }
  if ('sample' in audited) {
    const { sample, random } = audited;
    const ranks = new Map(published.map((advertId) => [advertId, random()]));
    const drawn = published.sort((one, other) => (ranks.get(one) ?? 0) - (ranks.get(other) ?? 0));
    return idsSource(drawn.slice(0, sample), batch, `sample ${sample}`);
  }

  const { list } = audited;
  const source = idsSource(published, batch, `full ${list.name}`);
  const known = new Set(published);
  return {
    ...source,
    async *pages(from) {
      yield* source.pages(from);
      let position = Math.max(from, known.size);
      for await (const { data, next } of list.pages(position - known.size)) {
        const unpublished = idsOf(data).ids.filter((id) => !known.has(id));
        for (let at = 0; at === 0 || at < unpublished.length; at += batch) {
          // The position moves on when the whole page was sent.
          if (at + batch >= unpublished.length) position = known.size + next;
          yield { data: unpublished.slice(at, at + batch), next: position };
        }
      }
    },
  };
}
