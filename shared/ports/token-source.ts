import type { Rejection } from '../contract/refresh-token.ts';
import type { Secret } from '../domain/secret.ts';

export interface AccessToken {
  readonly token: Secret;
  /** Version of the secret it came from. */
  readonly version: string;
}

/**
 * Access tokens of partner accounts, refreshed after they have expired. A token belongs to one generation of its
 * account.
 */
export interface TokenSource {
  /**
   * @param generation generation of the cursor or message for which the token is needed
   * @throws {PartnerError} `generation-over`, `account-stopped`, `account-paused`, `operator-paused`, `paused`, or a
   * transient fault
   */
  current(partnerAccount: string, generation: number, deadlineMs: number): Promise<AccessToken>;
  /** Returns a token of another version than `rejected`. Concurrent callers share one refresh. @throws as above */
  renewed(
    partnerAccount: string,
    generation: number,
    rejected: string,
    because: Rejection,
    deadlineMs: number,
  ): Promise<AccessToken>;
  /** For a request with the token of `version` that may wait long for its turn. Release it when the request has ended. */
  guard(partnerAccount: string, generation: number, version: string): TokenGuard;
}

export interface TokenGuard {
  /**
   * Call this immediately before the request is sent.
   *
   * @returns undefined if the request may be sent now; otherwise a promise for which the request must wait before it
   * asks again in its next turn
   * @throws {PartnerError} when the token must not be used any more: `token-rejected` if it was replaced,
   * `generation-over`, `account-stopped`, `operator-paused`
   */
  beforeSend(): Promise<unknown> | undefined;
  release(): void;
}
