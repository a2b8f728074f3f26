/** The adverts of an audit, as lists of IDs from which pages are made. */
import { auditBatch } from '../functions/drain/audit-share.ts';
import { idsOf } from '../functions/drain/page-ids.ts';
import type { Clock } from '../shared/domain/clock.ts';
import type { AdvertHistories, PublishedAdverts } from '../shared/ports/advert-histories.ts';
import type { AdvertSource, BackfillKey } from '../shared/ports/backfills.ts';
import { neverTheSame } from './list-pages.ts';
import { once } from './once.ts';

export interface AuditSourceDeps {
  readonly publishedAdverts: PublishedAdverts;
  readonly histories: Pick<AdvertHistories, 'read'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly maxRequestsPerSecond: number;
  readonly signal: AbortSignal;
}

/** `size` adverts, chosen at random from all published ones. An audit that is continued gets others. */
export function sampleSource(deps: AuditSourceDeps, key: BackfillKey, size: number): AdvertSource {
  const draw = once(async () => {
    const drawn: string[] = [];
    let seen = 0;
    for await (const advertId of publishedIds(deps, key)) {
      seen += 1;
      const place = drawn.length < size ? drawn.length : Math.floor(deps.random() * seen);
      if (place < size) drawn[place] = advertId;
    }
    return drawn;
  });
  return pagesOf(
    deps,
    `sample ${size}`,
    async () => (await draw()).length,
    async function* () {
      yield* await draw();
    },
  );
}

/** Every published advert, then those of the service's list that were never published. */
export function fullSource(deps: AuditSourceDeps, key: BackfillKey, list: AdvertSource): AdvertSource {
  async function* unpublishedIds() {
    const listed = neverTheSame(list);
    for (let position = 0; ; ) {
      const page = await listed.page(position);
      if (!page) return;
      position = page.next;
      for (const advertId of idsOf(page.data).ids) {
        const row = await deps.histories.read({ ...key, feed: 'adverts', advertId });
        if (!row?.sequence) yield advertId;
      }
      await deps.clock.sleep(2_000 / deps.maxRequestsPerSecond, deps.signal);
      deps.signal.throwIfAborted();
    }
  }
  const count = async () => {
    let published = 0;
    for await (const _advertId of publishedIds(deps, key)) published += 1;
    return published;
  };
  return pagesOf(deps, `full ${list.name}`, count, async function* () {
    yield* publishedIds(deps, key);
    yield* unpublishedIds();
  });
}

/** The adverts that a person names, in pages for an audit. */
export const namedSource = (
  deps: AuditSourceDeps,
  { name, ids }: { readonly name: string; readonly ids: readonly string[] },
): AdvertSource =>
  pagesOf(
    deps,
    name,
    async () => ids.length,
    async function* () {
      yield* ids;
    },
  );

async function* publishedIds(
  { publishedAdverts, signal }: AuditSourceDeps,
  key: BackfillKey,
): AsyncGenerator<string> {
  for (let from: string | undefined; ; ) {
    signal.throwIfAborted();
    const { advertIds, next } = await publishedAdverts.page(key, from);
    yield* advertIds;
    if (next === undefined) return;
    from = next;
  }
}

/** Positions count adverts. A source that is continued elsewhere skips those before the position. */
function pagesOf(
  { maxRequestsPerSecond }: AuditSourceDeps,
  name: string,
  total: () => Promise<number>,
  ids: () => AsyncGenerator<string>,
): AdvertSource {
  let left: AsyncGenerator<string> | undefined;
  return {
    name,
    total,
    async page(position) {
      if (!left) {
        left = ids();
        for (let skipped = 0; skipped < position; skipped += 1) await left.next();
      }
      const data: string[] = [];
      while (data.length < auditBatch(maxRequestsPerSecond)) {
        const { value, done } = await left.next();
        if (done) break;
        data.push(value);
      }
      return data.length === 0 ? undefined : { data, next: position + data.length };
    },
  };
}
