import type { RefreshOutcome, RefreshRequest } from '../contract/invocations.ts';
import type { TokenAnswer } from '../contract/partner-service.ts';
import type { Deadline } from '../domain/clock.ts';
import type { Application, Secret, StoredPair } from '../domain/secret.ts';

export interface VersionedPair {
  readonly pair: StoredPair;
  readonly version: string;
}

/**
 * The token pairs, which only the refresh-token and connect functions write. Reads may lag behind writes: the account's row,
 * which names the version, decides.
 */
export interface TokenVault {
  /** The pair of one version (default: the latest), if there is one. @throws {ShapeError} for a damaged secret */
  read(partnerAccount: string, version?: string): Promise<VersionedPair | undefined>;
  /** Takes the room that `write` needs, before the pair is asked for. Default: there is always room. @throws when there is none */
  reserve?(): Promise<void>;
  /** Makes `pair` the latest version; a few versions before it stay readable. @returns the version */
  write(partnerAccount: string, pair: StoredPair): Promise<string>;
  /** Removes all versions. No error if there is none. */
  remove(partnerAccount: string): Promise<void>;
}

/** The fields of a token request besides the application's. A refresh has no scope. @see partner-api.md §5.3 */
export type Grant =
  | { readonly grant_type: 'refresh_token'; readonly refresh_token: Secret }
  | Readonly<{ grant_type: 'authorization_code'; code: Secret; redirect_uri?: string; scope: string }>
  | { readonly grant_type: 'client_credentials'; readonly scope: string };

export interface ReceivedTokens {
  readonly answer: TokenAnswer;
  /** Names of unusable fields, which `answer` does not contain. Default: none. */
  readonly unusable?: readonly (keyof TokenAnswer)[];
  /** When the request was sent, by the bridge's clock. */
  readonly sentAt: number;
  readonly receivedAt: number;
  /** The earlier of the service's clock (its Date header, unless it is off by a day) and `receivedAt`. */
  readonly serviceTime: number;
  /** The service's clock by its Date header, even if it is far off, in ms since 1970; absent if there is no such header. */
  readonly claimedTime?: number;
}

export interface ApplicationSecret {
  /** @throws {ShapeError} when the secret is still empty, or half-written */
  read(): Promise<Application>;
  write(application: Application): Promise<void>;
}

/** Requests a refresh from the refresh-token stage: by invoking its Lambda function on AWS, by a function call elsewhere. */
export interface RefreshRequester {
  /** Resolves when the stage has finished its attempt, with whatever result: the caller reads the token again. */
  refresh(request: RefreshRequest, options: Deadline): Promise<RefreshOutcome>;
}
