import type { OperatorPause } from './operator-pause.ts';

const dayMs = 86_400_000;
/** A refresh token dies when it was not used for so long (partner-api.md §8). */
export const refreshTokenLifetimeMs = 30 * dayMs;
/** Unused for so long a refresh token is dying, which raises an alarm: a week is left. */
const refreshTokenAlarmMs = refreshTokenLifetimeMs - 7 * dayMs;

/** Whether the refresh token dies within a week unless it is used. */
export const isDying = ({ token }: PartnerAccount, nowMs: number): boolean =>
  token !== undefined && nowMs - token.usedAt >= refreshTokenAlarmMs;

/** The stop in force: one for a token version that has been replaced is not. */
export function stopOf({ stop, token }: PartnerAccount): PartnerAccount['stop'] {
  return stop && (!token || token.version === stop.tokenVersion) ? stop : undefined;
}

/** The pause in force at `nowMs`. */
export function pauseOf({ pause }: PartnerAccount, nowMs: number): PartnerAccount['pause'] {
  return pause && pause.until > nowMs ? pause : undefined;
}

/** The row of a partner account. Written as a whole, under optimistic locking. */
export interface PartnerAccount {
  readonly name: string;
  /** Seconds since 1970. A greater one begins the history of the partner account anew. */
  readonly generation: number;
  readonly connectedAt: string;
  /** Needs manual reauthorization; no request is sent for it. */
  readonly stop?: {
    /** One of the contract's stop reasons. */
    readonly reason: string;
    /** The token version that died: the stop holds only while that version is current. */
    readonly tokenVersion: string;
    readonly at: string;
    /** Disconnected while a PartnerAuthorizationRequired was open: connecting it again publishes the Restored event. */
    readonly unanswered?: boolean;
    /** Its cursor and history are being removed: connecting the name again begins a new generation. */
    readonly forgetting?: boolean;
  };
  /** No request is sent for it until then. */
  readonly pause?: { readonly until: number; readonly reason: string; readonly attempts: number };
  /** No request is sent for it, tokens apart, because somebody wants that. */
  readonly operatorPause?: OperatorPause;
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
