import { advertsFeed } from '../../shared/contract/messages.ts';
import { feedsOfAccount } from '../../shared/state/feed-states.ts';
import type { PollDeps } from './poll-feed.ts';
import { restartOf } from './read-page.ts';

export interface UnreadDeps extends Pick<PollDeps, 'clock'> {
  readonly feedStates: Pick<PollDeps['feedStates'], 'list'>;
  readonly settings: Pick<PollDeps['settings'], 'overlapSeconds'>;
}

/**
 * The start of the unread part of a partner account's feed of adverts: the queue has accepted every change recorded before this
 * time.
 *
 * @returns a time in the format of the feed's `since`; undefined when the feed is not known
 * @throws {ShapeError} when the feed's own row cannot be read
 */
export async function unreadSince(
  { feedStates, clock, settings }: UnreadDeps,
  partnerAccount: string,
): Promise<string | undefined> {
  const state = (await feedsOfAccount(feedStates, partnerAccount)).find(
    (each) => each.feed === advertsFeed.name,
  );
  return state && restartOf(state, settings.overlapSeconds * 1000, clock.now());
}
