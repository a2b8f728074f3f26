import type { Feed, FeedName } from '../contract/messages.ts';
import type { FeedPage } from '../contract/partner-service.ts';

/** An advert, or an object of another feed. */
export interface ObservedAdvert {
  readonly status: string;
  /** The object as the service sent it, except that a `Secret` takes the place of what repeats a credential. */
  readonly advert?: () => unknown;
  /** When the answer arrived, by the bridge's clock. */
  readonly receivedAt: number;
}

/** The partner service, called with the partner account's current token. */
export interface AdvertReader {
  /**
   * @param advertId ID of the object, of whichever feed
   * @throws {BridgeFault} `not-found` when the service does not know the advert; `generation-over`
   */
  readAdvert(
    partnerAccount: string,
    advertId: string,
    options: CallOptions & { readonly feed: FeedName },
  ): Promise<ObservedAdvert>;
}

export interface FeedQuery {
  readonly feed: Feed;
  readonly since: string;
  readonly cursor?: string;
  readonly limit: number;
}

export interface CallOptions {
  /** Ms since 1970: no attempt begins after this moment. */
  readonly deadlineMs: number;
  /** Of the message, or of `since` and cursor; a token of another generation of the account is not used. */
  readonly generation: number;
}

/** The partner service, called with the partner account's current token. */
export interface FeedReader {
  /** @throws {BridgeFault} */
  readPage(partnerAccount: string, query: FeedQuery, options: CallOptions): Promise<ReceivedPage>;
}

export interface ReceivedPage {
  readonly page: FeedPage;
  /** When the answer arrived, by the bridge's clock. */
  readonly receivedAt: number;
  /** The earlier of the service's clock (its Date header, unless it is off by a day) and `receivedAt`. */
  readonly serviceTime: number;
}
