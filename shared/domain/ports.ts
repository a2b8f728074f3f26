/**
 * Ports that more than one stage needs. What only one needs is declared beside that stage, in its ports.ts.
 * Three sets of adapters implement them: shared/in-memory, shared/embedded (SQLite), shared/aws.
 */
import type { OnUnreadable } from '../contract/checks.ts';
import type { MetricName } from '../contract/names.ts';
import type { Secret } from './text/secret.ts';

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

/** Publishes events: on EventBridge, on standard output, to a webhook. */
export interface EventPublisher {
  /**
   * Resolves when the event is accepted. The same text is published byte for byte however often it is asked for.
   *
   * @param envelope JSON of the whole envelope
   * @throws when it was refused, or when that is not known
   */
  publish(envelope: string): Promise<void>;
}

export interface TokenPair {
  readonly accessToken: Secret;
  readonly refreshToken: Secret;
  /** As granted, space separated. */
  readonly scope: string;
  /** Milliseconds since 1970, by the bridge's clock. */
  readonly expiresAt: number;
  readonly obtainedAt: number;
}

/** Read access to the token pairs; only refresh-token writes them (see its ports). */
export interface TokenReader {
  /**
   * The current pair with its version, strongly consistent.
   *
   * @throws {ShapeError} when the secret is half-written or edited by hand
   */
  read(partnerAccount: string): Promise<{ readonly pair: TokenPair; readonly version: string } | undefined>;
}

/** What happens, for those who run the bridge. Fields hold no secrets: a Secret prints as `[redacted]`. */
export interface Observer {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  count(metric: MetricName, value: number): void;
}

export type Fields = Readonly<Record<string, unknown>>;

/** The books of one partner account's generation (design, I9). */
export interface Books {
  readonly listed: number;
  readonly events: number;
  readonly unchanged: number;
  readonly coalesced: number;
  readonly unavailable: number;
  readonly deadLettered: number;
  readonly inFlight: number;
  /** Outcomes counted more than once; always 0 where counting and settling are one transaction. */
  readonly redelivered?: number;
}

/** For `status`, and for the drain's view of a backlog. */
export interface BookKeeper {
  read(partnerAccount: string, generation: number): Promise<Books>;
  /** Of the whole queue; `waiting` includes what is in flight. */
  queue(): Promise<{ readonly waiting: number; readonly deadLetters: number }>;
}
