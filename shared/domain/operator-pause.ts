import { PartnerError } from './faults.ts';

/**
 * A pause that an operator began: the bridge sends no requests to the partner service, except for tokens. Stored in the
 * row of one partner account, or for the whole bridge in the rate budget.
 */
export interface OperatorPause {
  /** On a stack the caller's ARN, on an embedded bridge the user of the machine. */
  readonly who: string;
  /** Ms since 1970. */
  readonly since: number;
  /** Automatic end, ms since 1970. Absent: the pause lasts until an operator ends it. */
  readonly until?: number;
  readonly reason?: string;
}

/** The operator's pause of a partner account, or of the whole bridge, that is in force at `nowMs`. */
export function operatorPauseOf(
  { operatorPause }: { readonly operatorPause?: OperatorPause },
  nowMs: number,
): OperatorPause | undefined {
  return operatorPause && endOfPause(operatorPause) > nowMs ? operatorPause : undefined;
}

/** Infinity for a pause without an end. */
export const endOfPause = ({ until = Number.POSITIVE_INFINITY }: OperatorPause): number => until;

/** @param partnerAccount undefined: the whole bridge is paused */
export function operatorPausedFault(
  partnerAccount: string | undefined,
  pause: OperatorPause,
  nowMs: number,
): PartnerError {
  const { who, until, reason } = pause;
  const why = reason === undefined ? '' : ` (${reason})`;
  const what = partnerAccount === undefined ? 'the whole bridge' : `partner account ${partnerAccount}`;
  return new PartnerError('operator-paused', `${what} is paused by ${who}${why}`, {
    ...(until === undefined ? {} : { retryAfterMs: Math.max(1, until - nowMs) }),
  });
}
