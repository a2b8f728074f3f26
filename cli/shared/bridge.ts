/**
 * What the commands can ask of a bridge, whichever kind it is: the embedded one whose state is in a folder (local.ts),
 * or a deployed stack (deployed.ts).
 */

import type { Status } from '../../operations/status.ts';
import type { ConnectedAccount } from '../../shared/contract/connect.ts';
import type { DeadLetter } from '../../shared/contract/messages.ts';
import type { Secret } from '../../shared/domain/secret.ts';
import type { Place } from './explain.ts';

export interface Bridge {
  /** The names of all partner accounts that it knows. */
  names(): Promise<readonly string[]>;
  /** Stores the application's credentials. @param baseUrl only of an embedded bridge; a stack has it as a setting */
  storeApplication(application: ApplicationInput): Promise<void>;
  /** Where a user is sent to authorize the application. @returns a URL of the partner service */
  authorizeUrl(request: { readonly state: string; readonly redirectUri: string }): Promise<string>;
  /** Whether the service takes the stored credentials. @returns the scope granted to the application, if it is told */
  checkApplication(): Promise<{ readonly scope: string }>;
  connect(request: ConnectInput): Promise<ConnectedAccount>;
  readonly deadLetters: DeadLetters;
  /**
   * Stops polling and removes the credentials; may be done again.
   *
   * @param options.forget removes cursor, history and books too
   * @returns whether the name was known; if not, nothing happens
   */
  disconnect(partnerAccount: string, options: { readonly forget: boolean }): Promise<boolean>;
  /** @param partnerAccount only this one; default: all */
  status(partnerAccount?: string): Promise<Status>;
  close(): Promise<void>;
}

/** What was given up. Every method may be used again with the same letters. */
export interface DeadLetters {
  /** Oldest first. */
  list(choice: LetterChoice): Promise<LetterList>;
  /** Puts their messages back into the queue. */
  redrive(choice: LetterChoice): Promise<LetterOutcome>;
  /** Removes them for good. */
  drop(choice: { readonly ids: readonly string[] }): Promise<LetterOutcome>;
}

/** Which letters are meant: those of `ids`, else those of the partner account, else all. */
export interface LetterChoice {
  readonly ids?: readonly string[];
  readonly partnerAccount?: string;
}

export interface StoredLetter {
  /** Of the embedded bridge: its row; of a stack: its SQS MessageId. */
  readonly id: string;
  readonly letter: DeadLetter;
}

export interface LetterList {
  readonly letters: readonly StoredLetter[];
  /** About how many more are there that cannot be seen now; 0 on the embedded bridge. */
  readonly unseen: number;
}

/** What became of the letters meant, by ID; one that is in no list is not there. */
export interface LetterOutcome {
  readonly done: readonly string[];
  /** Left, for there is no message in them. */
  readonly nothingToSend: readonly string[];
  /** Left, for the queue did not take them; may be tried again. */
  readonly refused: readonly string[];
  readonly unseen: number;
}

export interface ApplicationInput {
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly baseUrl?: string;
}

export type ConnectInput = {
  readonly partnerAccount: string;
  readonly since?: string;
  /** For a known name: it is taken for granted that the same user authorized. */
  readonly sameUser?: boolean;
  /** Begins a new generation, with nothing of the user that a known name had. */
  readonly newUser?: boolean;
} & Credential;

/** What a partner account is connected with: a refresh token, or the one-time code that an authorization brought. */
export type Credential =
  | { readonly refreshToken: Secret }
  | { readonly code: Secret; readonly redirectUri: string };

export interface OpenBridge {
  readonly bridge: Bridge;
  readonly place: Place;
}
