/** A backfill: every advert of a list is fetched once, and gets an event if it has none or if its latest one differs. */
import type { AdvertSource, BackfillKey, BackfillProgress } from '../shared/state/progress.ts';
import { neverTheSame } from './advert-sources.ts';
import type { Bridge } from './bridge.ts';
import { type WalkedBridge, type WalkOptions, type WalkResult, walk } from './walk.ts';

/** Live changes wait behind at most this many messages and one page: about a minute at the default rate. */
const maxWaiting = 500;

/** @throws {PartnerError} as `walk` does; the backfill can be continued */
export function backfill(
  bridge: WalkedBridge & Pick<Bridge, 'backfills' | 'isDelivering'>,
  key: BackfillKey,
  source: AdvertSource,
  options: WalkOptions<BackfillProgress>,
): Promise<WalkResult<BackfillProgress>> {
  const kind = {
    progresses: bridge.backfills,
    lookMs: 1_000,
    cause: 'backfill',
    otherSource: 'refuse',
    first: (begun: BackfillProgress) => begun,
    async look(progress: BackfillProgress, isThrough: boolean) {
      const isFull = !isThrough && (await bridge.queue.depth(key.partnerAccount)) > maxWaiting;
      if (!isFull) return { progress, next: 'send' } as const;
      return { progress, next: bridge.isDelivering() ? 'wait' : 'stop' } as const;
    },
  } as const;
  return walk(bridge, kind, key, neverTheSame(source), options);
}
