/** What `application`, `connect` and `disconnect` ask of a bridge, whichever kind it is. */
import type { ConnectRequest } from '../../../functions/connect/connect-account.ts';
import type { StoredLetters } from '../../../operations/stored-letters.ts';
import type { AcceptedApplication, ConnectedAccount } from '../../../shared/contract/connect.ts';
import type { Secret } from '../../../shared/domain/secret.ts';
import type { PartnerAccounts } from '../../../shared/ports/partner-accounts.ts';

export interface Applications {
  /** @param application.baseUrl for an embedded bridge alone: a stack has it as a setting */
  store(application: {
    readonly clientId: string;
    readonly clientSecret: Secret;
    readonly baseUrl?: string;
  }): Promise<void>;
  /** Asks the service for a token of the application. @throws when the service refuses the stored credentials */
  check(): Promise<AcceptedApplication>;
}

export interface Connections {
  /** Where a user is sent to authorize the application. @returns a URL of the partner service */
  authorizeUrl(request: { readonly state: string; readonly redirectUri: string }): Promise<string>;
  connect(request: ConnectRequest): Promise<ConnectedAccount>;
  readonly deadLetters: Pick<StoredLetters, 'redrive'>;
}

/** Which user a partner account is given to. */
export type UserChoice = Omit<ConnectRequest, 'refreshToken' | 'code' | 'redirectUri'>;

export interface Disconnections {
  readonly accounts: Pick<PartnerAccounts, 'list'>;
  /**
   * Stops polling and removes the credentials; may be done again.
   *
   * @param options.forget removes cursor, history and books too
   * @returns whether the name was known; if not, nothing happens
   */
  disconnect(partnerAccount: string, options: { readonly forget: boolean }): Promise<boolean>;
}
