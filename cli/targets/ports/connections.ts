/** What `application`, `connect` and `disconnect` ask of a bridge, whichever kind it is. */
import type { AcceptedApplication, ConnectedAccount } from '../../../shared/contract/connect.ts';
import type { Secret } from '../../../shared/domain/secret.ts';
import type { PartnerAccounts } from '../../../shared/ports/partner-accounts.ts';
import type { StoredLetters } from './stored-letters.ts';

export interface Applications {
  /** @param application.baseUrl for an embedded bridge alone: a stack has it as a setting */
  store(application: ApplicationInput): Promise<void>;
  /** Asks the service for a token of the application. @throws when the service refuses the stored credentials */
  check(): Promise<AcceptedApplication>;
}

export interface ApplicationInput {
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly baseUrl?: string;
}

export interface Connections {
  /** Where a user is sent to authorize the application. @returns a URL of the partner service */
  authorizeUrl(request: { readonly state: string; readonly redirectUri: string }): Promise<string>;
  connect(request: ConnectInput): Promise<ConnectedAccount>;
  readonly deadLetters: Pick<StoredLetters, 'redrive'>;
}

/** Which user a partner account is given to. */
export interface UserChoice {
  readonly partnerAccount: string;
  readonly since?: string | undefined;
  /** For a known name: takes it for granted that the same user authorized. */
  readonly sameUser?: boolean | undefined;
  /** Begins a new generation, with nothing of the user that a known name had. */
  readonly newUser?: boolean | undefined;
}

export type ConnectInput = UserChoice & Credential;

/** What a partner account is connected with: a refresh token, or the one-time code of an authorization. */
export type Credential =
  | { readonly refreshToken: Secret }
  | { readonly code: Secret; readonly redirectUri: string };

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
