/** A backfill: every advert of a list is fetched once, and gets an event if it has none or if its latest one differs. */
import { PartnerError } from '../shared/domain/faults.ts';
import type { AdvertSource, BackfillProgress } from '../shared/ports/backfills.ts';
import type { BackfillKey } from '../shared/state/progress.ts';
import { type Walk, type WalkDeps, type WalkOptions, type WalkResult, walk } from './walk.ts';

export interface BackfillDeps extends WalkDeps<BackfillProgress> {
  /**
   * Nothing is added while more messages of the partner account wait, because changes from the feed wait behind them.
   */
  readonly maxWaiting: number;
}

/** @throws {PartnerError} as `walk` does; the backfill can be continued */
export function backfill(
  deps: BackfillDeps,
  key: BackfillKey,
  source: AdvertSource,
  options: WalkOptions,
): Promise<WalkResult<BackfillProgress>> {
  const kind: Walk<BackfillProgress> = {
    cause: 'backfill',
    otherSource: 'refuse',
    first: (begun) => begun,
    async look(progress, isThrough) {
      const isFull = !isThrough && (await deps.queue.depth(key.partnerAccount)) > deps.maxWaiting;
      return { progress, next: isFull ? 'wait' : 'send' };
    },
  };
  return walk(deps, kind, key, neverTheSame(source), options);
}

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
