/** What refresh-token needs from the world. */
import type { TokenAnswer } from '../../shared/contract/partner-service.ts';
import type { Feed } from '../../shared/domain/feed.ts';
import type { TokenPair, TokenReader } from '../../shared/domain/ports.ts';
import type { Secret } from '../../shared/domain/text/secret.ts';

/** The one place that writes token secrets. */
export interface TokenVault extends TokenReader {
  /** Makes `pair` the current version. @returns the version */
  write(partnerAccount: string, pair: TokenPair): Promise<string>;
  /** No fault if there is none. */
  remove(partnerAccount: string): Promise<void>;
}

export interface Application {
  readonly clientId: Secret;
  readonly clientSecret: Secret;
}

export interface ApplicationSecret {
  /** @throws {ShapeError} when it is not filled in yet, or half-written */
  read(): Promise<Application>;
}

export type Grant =
  | { readonly type: 'refresh_token'; readonly refreshToken: Secret }
  | {
      readonly type: 'authorization_code';
      readonly code: Secret;
      readonly redirectUri?: string;
      readonly scope: string;
    }
  | { readonly type: 'client_credentials'; readonly scope: string };

export interface ReceivedTokens {
  readonly answer: TokenAnswer;
  /** Fields that came in a form that cannot be used: `answer` is without them. Default: none. */
  readonly unusable?: readonly (keyof TokenAnswer)[];
  /** By the bridge's clock. */
  readonly sentAt: number;
  readonly receivedAt: number;
  /** The earlier of the service's clock (its Date header, unless a day off) and `receivedAt`. */
  readonly serviceTime: number;
}

export interface TokenEndpoint {
  /** @throws {PartnerFault} `grant-rejected`, `client-rejected`, `scope-refused`, or a passing one */
  requestTokens(
    application: Application,
    grant: Grant,
    options: { readonly deadlineMs: number },
  ): Promise<ReceivedTokens>;
}

/** Where the service asks its user for consent. */
export interface ConsentPage {
  /** @param query.scope space separated */
  authorizeUrl(query: {
    readonly clientId: Secret;
    readonly scope: string;
    readonly state: string;
    readonly redirectUri: string;
  }): string;
}

/** The part of the feed-state table that `connect` and `disconnect` need. */
export interface FeedRegister {
  /** Makes the feed known; keeps what is there when the generation is the same. */
  register(feed: NewFeed): Promise<void>;
  remove(partnerAccount: string): Promise<void>;
  list(): Promise<readonly KnownFeed[]>;
}

export interface KnownFeed {
  readonly partnerAccount: string;
  readonly feed: string;
  readonly generation: number;
  readonly since: string;
  /** When the last up-to-date page was asked for, by the service's clock, ms since 1970. */
  readonly lastSuccess?: number;
}

/** The feed, read with an access token that is not stored yet. */
export interface FeedLook {
  /** @throws {PartnerFault} */
  feedPage(
    token: Secret,
    query: { readonly feed: Feed; readonly since: string; readonly limit: number },
    options: { readonly deadlineMs: number; readonly partnerAccount: string },
  ): Promise<{ readonly page: { readonly data: readonly unknown[]; readonly hasMore: boolean } }>;
}

/** The part of the advert-status table by which a user is known again. */
export interface KnownAdverts {
  /** @returns undefined for an advert that there is no history of */
  read(key: {
    readonly partnerAccount: string;
    readonly generation: number;
    readonly advertId: string;
  }): Promise<object | undefined>;
}

export interface NewFeed {
  readonly partnerAccount: string;
  readonly feed: string;
  readonly generation: number;
  readonly since: string;
  readonly resets: 0;
  readonly resetsInARow: 0;
}
