import type { FeedName } from '../contract/feeds.ts';
import type { Secret } from '../domain/secret.ts';

/** An advert, or an object of another feed. */
export interface ObservedAdvert {
  readonly status: string;
  /** The object as the service sent it, except that a {@link Secret} takes the place of what repeats a credential. */
  readonly advert?: () => unknown;
  /** When the answer arrived, by the bridge's clock. */
  readonly receivedAt: number;
}

/** The partner service, called with the partner account's current token. */
export interface AdvertReader {
  /**
   * @param advertId ID of the object, of whichever feed
   * @param options.generation generation of the message; a token of another generation of the partner account is not
   * used
   * @throws {PartnerError} `not-found` when the service does not know the advert; `generation-over`
   */
  readAdvert(
    partnerAccount: string,
    advertId: string,
    options: { readonly deadlineMs: number; readonly generation: number; readonly feed: FeedName },
  ): Promise<ObservedAdvert>;
}
