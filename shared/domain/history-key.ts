import { type FeedName, feeds } from '../contract/feeds.ts';

/** An advert, or an object of another feed: whose history it is. */
export interface HistoryOwner {
  readonly partnerAccount: string;
  readonly generation: number;
  readonly feed: FeedName;
  /** ID of the object, whichever feed it is of. */
  readonly advertId: string;
}

/** Key of an object's history, with which the IDs of its events begin. */
export const historyKeyOf = ({ partnerAccount, generation, feed, advertId }: HistoryOwner): string =>
  `${partnerAccount}/${generation}/${feeds[feed].keyOf(advertId)}`;
