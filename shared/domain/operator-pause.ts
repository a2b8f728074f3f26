import { PartnerError } from './faults.ts';

/**
 * What an operator wants: meanwhile nothing is asked of the partner service, token requests apart. Kept in the row of one
 * partner account, or for the whole bridge in the rate budget.
 */
export interface OperatorPause {
  /** On a stack the caller's ARN, on an embedded bridge the user of the machine. */
  readonly who: string;
  /** Ms since 1970. */
  readonly since: number;
  /** When it ends by itself, ms since 1970. Absent: it lasts until somebody ends it. */
  readonly until?: number;
  readonly reason?: string;
}

/** An operator's pause of a partner account, or of the whole bridge, that is in force at `nowMs`. */
export function operatorPauseOf(
  { operatorPause }: { readonly operatorPause?: OperatorPause },
  nowMs: number,
): OperatorPause | undefined {
  return operatorPause && endOfPause(operatorPause) > nowMs ? operatorPause : undefined;
}

/** Infinite where there is no end. */
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
