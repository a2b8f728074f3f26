/** What `application`, `connect` and `disconnect` need from a bridge of any kind. */
import type { ConnectRequest } from '../../../functions/connect/connect-account.ts';
import type { AcceptedApplication, ConnectedAccount } from '../../../shared/contract/connect.ts';
import type { Secret } from '../../../shared/domain/secret.ts';
import type { StoredLetters } from '../../../shared/ports/dead-letters.ts';
import type { PartnerAccounts } from '../../../shared/state/partner-accounts.ts';

export interface Applications {
  /** @param application.baseUrl only for an embedded bridge: a stack has it as a setting */
  store(application: {
    readonly clientId: string;
    readonly clientSecret: Secret;
    readonly baseUrl?: string;
  }): Promise<void>;
  /**
   * Requests a token of the application from the service.
   *
   * @throws if the service rejects the stored credentials
   */
  check(): Promise<AcceptedApplication>;
}

export interface Connections {
  /**
   * The page where a user authorizes the application.
   *
   * @returns a URL of the partner service
   */
  authorizeUrl(request: { readonly state: string; readonly redirectUri: string }): Promise<string>;
  connect(request: ConnectRequest): Promise<ConnectedAccount>;
  readonly deadLetters: Pick<StoredLetters, 'redrive'>;
}

/** Which user a partner account belongs to after connecting. */
export type UserChoice = Omit<ConnectRequest, 'refreshToken' | 'code' | 'redirectUri'>;

export interface Disconnections {
  readonly accounts: Pick<PartnerAccounts, 'list'>;
  /**
   * Stops polling and removes the credentials; may be repeated.
   *
   * @param options.forget removes cursor, history and books too
   * @returns whether the name was known; if not, nothing happens
   */
  disconnect(partnerAccount: string, options: { readonly forget: boolean }): Promise<boolean>;
}
