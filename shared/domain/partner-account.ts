import { type Hold, type Holder, heldBy } from './holds.ts';

const dayMs = 86_400_000;
/** A refresh token expires if it was not used for this long (partner-api.md §8). */
export const refreshTokenLifetimeMs = 30 * dayMs;
/** A refresh token that was not used for this long raises an alarm: it expires in a week. */
const refreshTokenAlarmMs = refreshTokenLifetimeMs - 7 * dayMs;

/** Whether the refresh token expires within a week unless it is used. */
export const isDying = ({ token }: PartnerAccount, nowMs: number): boolean =>
  token !== undefined && nowMs - token.usedAt >= refreshTokenAlarmMs;

/** The hold of an account whose user has to authorize again; its reason is one of the contract's stop reasons. */
export function stopOf(account: PartnerAccount): (Hold & { readonly reason: string }) | undefined {
  const hold = heldBy(account, 'authorization', 0);
  return hold && { ...hold, reason: hold.reason ?? 'unknown' };
}

/** The row of a partner account. Written as a whole, under optimistic locking. */
export interface PartnerAccount extends Holder {
  readonly name: string;
  /** Seconds since 1970. A greater generation begins a new history of the partner account. */
  readonly generation: number;
  readonly connectedAt: string;
  /** PartnerAuthorizationRequired was published: connecting it again publishes PartnerAuthorizationRestored. */
  readonly unanswered?: true;
  /** Its cursor and history are being removed: connecting the name again begins a new generation. */
  readonly forgetting?: true;
  /** A refresh is running: only one at a time, across all functions and processes. */
  readonly refreshing?: { readonly holder: string; readonly startedAt: number; readonly until: number };
  /** Facts about the token pair that can be read without the secret. */
  readonly token?: {
    /** Version of the secret. */
    readonly version: string;
    readonly expiresAt: number;
    /** When the refresh token was last used; it expires after a month without use (partner-api.md §5.3). */
    readonly usedAt: number;
    /** Generation for which the pair was stored, if another one began with it since (`connect --new-history`). */
    readonly issuedFor?: number;
  };
  /** Authorization events that the bus has not accepted yet, oldest first, as complete envelopes. */
  readonly owedEvents?: readonly string[];
}
