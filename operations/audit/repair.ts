import { enqueuePage } from '../../functions/drain/enqueue-page.ts';
import type { PollDeps } from '../../functions/drain/poll-feed.ts';
import { advertsFeed } from '../../shared/contract/feeds.ts';
import type { BackfillKey } from '../../shared/ports/backfills.ts';

/**
 * Queues adverts as if the feed had listed them: after their waiting messages, fan-out publishes the next event of
 * each, or finds it unchanged.
 */
export const repairBy = (poll: PollDeps, key: BackfillKey) => async (ids: readonly string[]) => {
  const found = { ids, repeated: 0, malformed: 0, malformedShown: [] };
  const origin = { receivedAt: poll.clock.now(), cause: 'audit' } as const;
  await enqueuePage(poll, { ...key, feed: advertsFeed.name }, found, origin);
};
