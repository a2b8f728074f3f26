import type { OnUnreadable } from '../contract/checks.ts';

/** Where a partner account's feed or tokens are looked after. Written as a whole, under optimistic locking. */
export interface PartnerAccount {
  readonly name: string;
  /** Seconds since 1970; see design §7. */
  readonly generation: number;
  readonly connectedAt: string;
  /** Waits for a person; no request is sent for it. */
  readonly stop?: {
    /** One of the contract's stop reasons. */
    readonly reason: string;
    /** The token version that died: the stop holds only while that version is current. */
    readonly tokenVersion: string;
    readonly at: string;
    /** Disconnected after the bus was told that a person is needed: who connects it again answers that too. */
    readonly unanswered?: boolean;
    /** Its cursor and history are being removed: who connects the name again begins a new generation. */
    readonly forgetting?: boolean;
  };
  /** Waits a while. */
  readonly pause?: { readonly until: number; readonly reason: string; readonly attempts: number };
  /** A refresh is under way: one at a time over all functions and processes. */
  readonly refreshing?: { readonly holder: string; readonly startedAt: number; readonly until: number };
  /** What is known of the token pair without reading the secret. */
  readonly token?: {
    /** Version of the secret. */
    readonly version: string;
    readonly expiresAt: number;
    /** When the refresh token was last used: unused for a month it dies (partner-api.md §5.3). */
    readonly usedAt: number;
  };
  /** Authorization events that the bus has not accepted yet, oldest first: whole envelopes, as they will be published. */
  readonly owedEvents?: readonly string[];
}

export interface Versioned<T> {
  readonly value: T;
  /** Raised by every write. */
  readonly version: number;
}

export interface PartnerAccounts {
  /** @throws {ShapeError} for a row that cannot be read, unless `onUnreadable` is told */
  list(onUnreadable?: OnUnreadable): Promise<PartnerAccount[]>;
  /** Strongly consistent. */
  read(name: string): Promise<Versioned<PartnerAccount> | undefined>;
  /**
   * @param expected the version read; 0 for an account that is not there yet
   * @returns whether it was written; false when somebody else wrote first
   */
  write(account: PartnerAccount, expected: number): Promise<boolean>;
  /** Forgets it; no fault if it is not there. */
  remove(name: string): Promise<void>;
}
