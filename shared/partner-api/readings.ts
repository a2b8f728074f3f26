import type { Feed } from '../contract/messages.ts';
import type { FeedPage } from '../contract/partner-service.ts';
import type { Deadline } from '../domain/clock.ts';

/** An advert, or an object of another feed. */
export interface ObservedAdvert {
  readonly status: string;
  /** The object as the service sent it, except that a `Secret` takes the place of what repeats a credential. */
  readonly advert?: () => unknown;
  /** When the answer arrived, by the bridge's clock. */
  readonly receivedAt: number;
}

export interface FeedQuery {
  readonly feed: Feed;
  readonly since: string;
  readonly cursor?: string;
  readonly limit: number;
}

export interface CallOptions extends Deadline {
  /** The generation of the message, or of `since` and cursor; a token of another generation is not used. */
  readonly generation: number;
  /** A former try failed: where its account's adverts go one at a time, it lets others go first. Default false. */
  readonly isIll?: boolean;
}

export interface ReceivedPage {
  readonly page: FeedPage;
  /** When the answer arrived, by the bridge's clock. */
  readonly receivedAt: number;
  /** The earlier of the service's clock (its Date header, unless it is off by a day) and `receivedAt`. */
  readonly serviceTime: number;
}
