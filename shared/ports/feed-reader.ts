import type { Feed } from '../contract/feeds.ts';
import type { FeedPage } from '../contract/partner-service.ts';
import type { Secret } from '../domain/secret.ts';

export interface FeedQuery {
  readonly feed: Feed;
  readonly since: string;
  readonly cursor?: string;
  readonly limit: number;
}

export interface CallOptions {
  /** Ms since 1970: nothing is tried after it. */
  readonly deadlineMs: number;
  /** The partner account's generation that `since` and cursor belong to: a token of another one is not used. */
  readonly generation: number;
}

/** The partner service, called with the partner account's current token. */
export interface FeedReader {
  /** @throws {PartnerError} */
  readPage(partnerAccount: string, query: FeedQuery, options: CallOptions): Promise<ReceivedPage>;
}

export interface ReceivedPage {
  readonly page: FeedPage;
  /** When the answer arrived, by the bridge's clock. */
  readonly receivedAt: number;
  /** When it was given: the earlier of the service's clock (its Date header, unless a day off) and `receivedAt`. */
  readonly serviceTime: number;
}

/** The feed, read with an access token that is not stored yet. */
export interface FeedProbe {
  /** @throws {PartnerError} */
  feedPage(
    token: Secret,
    query: { readonly feed: Feed; readonly since: string; readonly limit: number },
    options: { readonly deadlineMs: number; readonly partnerAccount: string },
  ): Promise<{ readonly page: { readonly data: readonly unknown[]; readonly hasMore: boolean } }>;
}
