/** A backfill: every advert of a list is fetched once, and gets an event if it has none or if its latest one differs. */
import type { AdvertSource, BackfillProgress } from '../shared/ports/backfills.ts';
import type { BackfillKey } from '../shared/state/progress.ts';
import { neverTheSame } from './list-pages.ts';
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
