const dayMs = 86_400_000;
/** A refresh token dies when it was not used for so long (partner-api.md §8). */
export const refreshTokenLifetimeMs = 30 * dayMs;
/** Unused for so long it is a person's business: a week before it dies. */
export const refreshTokenAlarmMs = refreshTokenLifetimeMs - 7 * dayMs;

/** The stop that holds: one for a token version that has been replaced does not. */
export function stopOf({ stop, token }: PartnerAccount): PartnerAccount['stop'] {
  return stop && (!token || token.version === stop.tokenVersion) ? stop : undefined;
}

/** The pause that holds at `nowMs`. */
export function pauseOf({ pause }: PartnerAccount, nowMs: number): PartnerAccount['pause'] {
  return pause && pause.until > nowMs ? pause : undefined;
}

/** Where a partner account's feed or tokens are looked after. Written as a whole, under optimistic locking. */
export interface PartnerAccount {
  readonly name: string;
  /** Seconds since 1970. A greater one begins the history of the partner account anew. */
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
