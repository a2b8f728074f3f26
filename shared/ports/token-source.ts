import type { Rejection } from '../contract/refresh-token.ts';
import type { Secret } from '../domain/secret.ts';

export interface AccessToken {
  readonly token: Secret;
  /** Version of the secret it came from. */
  readonly version: string;
}

/** Access tokens of partner accounts, refreshed when they have run out. A token belongs to one generation of its account. */
export interface TokenSource {
  /**
   * @param generation of the cursor or message that the token is for
   * @throws {PartnerError} `generation-over`, `account-stopped`, `account-paused`, `operator-paused`, `paused`, or a passing one
   */
  current(partnerAccount: string, generation: number, deadlineMs: number): Promise<AccessToken>;
  /** A token other than the one of version `rejected`. Callers side by side share one refresh. @throws as above */
  renewed(
    partnerAccount: string,
    generation: number,
    rejected: string,
    because: Rejection,
    deadlineMs: number,
  ): Promise<AccessToken>;
  /** For a request with the token of `version`, which may wait long for its turn. To be released when it has ended. */
  guard(partnerAccount: string, generation: number, version: string): TokenGuard;
}

export interface TokenGuard {
  /**
   * To be called in the moment the request is sent.
   *
   * @returns undefined: it may be sent now; else it has to wait for this, and to ask again in its next turn
   * @throws {PartnerError} when the token is not to be used any more: `token-rejected` when another one has taken its
   * place, `generation-over`, `account-stopped`, `operator-paused`
   */
  beforeSend(): Promise<unknown> | undefined;
  release(): void;
}
