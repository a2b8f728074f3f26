import type { Rejection } from '../contract/refresh-token.ts';
import type { Secret } from '../domain/secret.ts';

export interface AccessToken {
  readonly token: Secret;
  /** Version of the secret it came from. */
  readonly version: string;
}

/**
 * Access tokens of partner accounts, renewed after they have expired. A token belongs to one generation of its account.
 */
export interface TokenSource {
  /**
   * The token to send now, nearly always without waiting. Call it when the request is about to be sent: the account's
   * row, which says whether the token may be used, is at most five seconds old at that moment.
   *
   * @param resource what is asked for: after a hold, one resource tries the service
   * @param generation generation of the cursor or message for which the token is needed
   * @throws {PartnerError} `generation-over`, `account-stopped`, `account-paused`, `operator-paused`, `paused`, or a
   * transient fault
   */
  current(
    partnerAccount: string,
    generation: number,
    deadlineMs: number,
    resource: string,
  ): AccessToken | Promise<AccessToken>;
  /** The service has rejected the token of this version: the next `current` renews it. */
  reject(partnerAccount: string, version: string, because: Rejection): void;
}
