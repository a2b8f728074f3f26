import { type FeedName, feeds } from '../contract/feeds.ts';

/** Identifies a history: that of an advert, or of an object of another feed. */
export interface HistoryOwner {
  readonly partnerAccount: string;
  readonly generation: number;
  readonly feed: FeedName;
  /** ID of the object, of whichever feed. */
  readonly advertId: string;
}

/** A name that is unique over the objects of all feeds, for keys, logs and dead letters: for an advert its plain ID. */
export const objectKeyOf = ({ feed, advertId }: Pick<HistoryOwner, 'feed' | 'advertId'>): string =>
  `${feeds[feed].keyPrefix}${advertId}`;

/** Key of an object's history; also the prefix of its event IDs. */
export const historyKeyOf = (owner: HistoryOwner): string =>
  `${owner.partnerAccount}/${owner.generation}/${objectKeyOf(owner)}`;
