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
  /** Ms since 1970: no attempt begins after this moment. */
  readonly deadlineMs: number;
  /** The generation to which `since` and cursor belong; a token of another generation is not used. */
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
  /**
   * Time of the answer: the earlier of the service's clock (its Date header, unless it is off by a day) and
   * `receivedAt`.
   */
  readonly serviceTime: number;
}

/** Reads the feed with an access token that is not stored yet. */
export interface FeedProbe {
  /** @throws {PartnerError} */
  feedPage(
    token: Secret,
    query: { readonly feed: Feed; readonly since: string; readonly limit: number },
    options: { readonly deadlineMs: number; readonly partnerAccount: string },
  ): Promise<{ readonly page: { readonly data: readonly unknown[]; readonly hasMore: boolean } }>;
}
