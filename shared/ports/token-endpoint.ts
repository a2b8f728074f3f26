import type { TokenAnswer } from '../contract/partner-service.ts';
import type { Secret } from '../domain/secret.ts';
import type { Application } from '../domain/secret-text.ts';

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
  /** Names of unusable fields, which `answer` does not contain. Default: none. */
  readonly unusable?: readonly (keyof TokenAnswer)[];
  /** By the bridge's clock. */
  readonly sentAt: number;
  readonly receivedAt: number;
  /** The earlier of the service's clock (its Date header, unless it is off by a day) and `receivedAt`. */
  readonly serviceTime: number;
  /** The service's clock by its Date header, even if it is far off, in ms since 1970; absent if there is no such header. */
  readonly claimedTime?: number;
}

export interface TokenEndpoint {
  /** @throws {PartnerError} `grant-rejected`, `client-rejected`, `scope-refused`, or a transient fault */
  requestTokens(
    application: Application,
    grant: Grant,
    options: { readonly deadlineMs: number },
  ): Promise<ReceivedTokens>;
}

export interface AuthorizeQuery {
  readonly clientId: Secret;
  /** Space separated. */
  readonly scope: string;
  /** Random; the service returns it unchanged. */
  readonly state: string;
  /** Needed when several callback URLs are registered; then also in the token request. */
  readonly redirectUri?: string;
}

/** The page of the service that asks the user for consent. */
export interface ConsentPage {
  /** The URL to send the user's browser to. @see partner-api.md §5.3 */
  authorizeUrl(query: AuthorizeQuery): string;
}
