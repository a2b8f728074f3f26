import { type FeedName, feeds } from '../contract/feeds.ts';

/** An advert, or an object of another feed: whose history it is. */
export interface HistoryOwner {
  readonly partnerAccount: string;
  readonly generation: number;
  readonly feed: FeedName;
  /** ID of the object, whichever feed it is of. */
  readonly advertId: string;
}

/** What tells an object from those of all feeds, in keys, logs and dead letters: an advert's bare ID, `order-7`. */
export const objectKeyOf = ({ feed, advertId }: Pick<HistoryOwner, 'feed' | 'advertId'>): string =>
  feeds[feed].keyOf(advertId);

/** Key of an object's history, with which the IDs of its events begin. */
export const historyKeyOf = (owner: HistoryOwner): string =>
  `${owner.partnerAccount}/${owner.generation}/${objectKeyOf(owner)}`;
