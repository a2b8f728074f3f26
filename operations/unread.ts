import type { PollDeps } from '../functions/drain/poll-feed.ts';
import { advertsFeed } from '../shared/contract/feeds.ts';
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
): Promise<string> {
  const feeds = await feedStates.list(() => undefined);
  const feed = feeds.find((each) => each.partnerAccount === partnerAccount && each.feed === advertsFeed.name);
  if (!feed) throw unknownFeed(partnerAccount);
  const success = feed.resyncing ? undefined : knownSuccess(feed.lastSuccess, clock.now());
  return success === undefined ? feed.since : toInstant(success - settings.overlapSeconds * 1000);
}

export const unknownFeed = (partnerAccount: string) =>
  new CommandError(`the feed of ${partnerAccount} is not known: connect it again`);
