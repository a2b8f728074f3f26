import type { PollDeps } from '../functions/drain/poll-feed.ts';
import type { FeedName } from '../shared/contract/feeds.ts';
import { toInstant } from '../shared/domain/clock.ts';
import { knownSuccess } from '../shared/domain/last-success.ts';
import { CommandError } from './errors.ts';

/**
 * Where the unread part of a partner account's feed begins: the queue has accepted every change that was recorded before.
 *
 * @returns a time as the feed takes it in `since`
 * @throws {CommandError} when the feed is not known
 */
export async function unreadSince(
  { feedStates, clock, settings }: Pick<PollDeps, 'feedStates' | 'clock' | 'settings'>,
  partnerAccount: string,
  feed: FeedName = 'adverts',
): Promise<string> {
  const states = await feedStates.list(() => undefined);
  const state = states.find((each) => each.partnerAccount === partnerAccount && each.feed === feed);
  if (!state) throw unknownFeed(partnerAccount, feed);
  const success = state.resyncing ? undefined : knownSuccess(state.lastSuccess, clock.now());
  return success === undefined ? state.since : toInstant(success - settings.overlapSeconds * 1000);
}

export const unknownFeed = (partnerAccount: string, feed: FeedName) =>
  new CommandError(
    feed === 'adverts'
      ? `the feed of ${partnerAccount} is not known: connect it again`
      : `the bridge does not poll ${feed} of ${partnerAccount}: name ${feed} in its setting feeds, and wait a minute`,
  );
