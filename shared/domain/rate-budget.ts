/**
 * The rules of the rate budget's shared state: pure functions that every store applies in one atomic step, so that the
 * three of them cannot differ. What a rate limiter does with a reservation is in rate-limiter.ts.
 */
import { endOfPause, type OperatorPause } from './operator-pause.ts';

/** Nothing reserved, nothing asked for. */
export const freshBudget: BudgetState = { nextSlotMs: 0, pausedUntilMs: 0 };

/**
 * Takes the next `count` slots, `intervalMs` apart, the first one no earlier than `nowMs`. Slots are never given twice,
 * and what is not used is lost: that is what keeps any window within the rate.
 *
 * @returns nothing granted while a pause lasts (`firstSlotMs` is its end, the state is the very same object); after a
 * circuit pause one slot, as a trial, during which everybody else is paused for `trialMs` more; one more for the
 * request that follows the trial
 */
export function reserveSlots(state: BudgetState, request: SlotRequest): Reservation {
  const { count, intervalMs, nowMs, trialMs, followsTrial = false } = request;
  const belongsToTrial = followsTrial && state.pauseReason === 'circuit';
  if (state.pausedUntilMs > nowMs && !belongsToTrial)
    return { granted: 0, firstSlotMs: state.pausedUntilMs, state };
  const firstSlotMs = Math.max(state.nextSlotMs, nowMs);
  if (state.pauseReason !== 'circuit') {
    const nextSlotMs = firstSlotMs + count * intervalMs;
    return { granted: count, firstSlotMs, state: { ...state, nextSlotMs } };
  }
  // The process that makes the trial may die: the pause ends by itself, and another process tries.
  const trial = { ...state, nextSlotMs: firstSlotMs + intervalMs, pausedUntilMs: firstSlotMs + trialMs };
  return { granted: 1, firstSlotMs, state: trial };
}

/** No request is sent before `untilMs` (ms since 1970). Never shortens a pause, nor turns a circuit pause into another. */
export function paused(state: BudgetState, untilMs: number, reason: PauseReason): BudgetState {
  const pausedUntilMs = Math.max(state.pausedUntilMs, untilMs);
  const pauseReason = state.pauseReason === 'circuit' ? 'circuit' : reason;
  if (pausedUntilMs === state.pausedUntilMs && pauseReason === state.pauseReason) return state;
  return { ...state, pausedUntilMs, pauseReason };
}

/** `resource` answered 403 without a known code. */
export const suspected = (state: BudgetState, resource: string): BudgetState =>
  state.suspect === resource ? state : { ...state, suspect: resource };

/** The service let a request in: no suspect, no circuit. A time that it named itself still holds. */
export function recovered(state: BudgetState): BudgetState {
  const { suspect, pauseReason, ...rest } = state;
  if (pauseReason === 'circuit') return { ...rest, pausedUntilMs: 0 };
  if (suspect === undefined) return state;
  return pauseReason === undefined ? rest : { ...rest, pauseReason };
}

/** Nobody is held back by what the service asked for any more, nor by an open circuit; what an operator wants still holds. */
export function endedEarly({ nextSlotMs, operatorPause }: BudgetState): BudgetState {
  return { nextSlotMs, pausedUntilMs: 0, ...(operatorPause && { operatorPause }) };
}

export function withOperatorPause(state: BudgetState, operatorPause: OperatorPause | undefined): BudgetState {
  const { operatorPause: _before, ...rest } = state;
  return operatorPause ? { ...rest, operatorPause } : rest;
}

/**
 * Until when nothing is asked of the service, except for tokens where it is an operator who wants that: ms since 1970, 0 when
 * there is no pause, infinite for one without an end.
 */
export const quietUntil = ({ pausedUntilMs, operatorPause }: BudgetState): number =>
  Math.max(pausedUntilMs, operatorPause ? endOfPause(operatorPause) : 0);

export type PauseReason = 'rate-limited' | 'circuit';

/** One shared item for the whole bridge. */
export interface BudgetState {
  /** The next instant at which a request may start, ms since 1970. */
  readonly nextSlotMs: number;
  /** No request is sent before this moment; 0 when there is no pause. */
  readonly pausedUntilMs: number;
  /** `circuit`: after the pause only one request goes through, as a trial, until one succeeds. */
  readonly pauseReason?: PauseReason;
  /** The resource that last answered 403 without a known code, with no success since. */
  readonly suspect?: string;
  /** Somebody wants nothing to be sent, tokens apart. Slots are given all the same: the rate limiter keeps to it. */
  readonly operatorPause?: OperatorPause;
}

export interface SlotRequest {
  readonly count: number;
  readonly intervalMs: number;
  readonly nowMs: number;
  /** How long everyone else waits for the outcome of a trial. */
  readonly trialMs: number;
  /** The second request of a trial: granted although the trial's own pause lasts, which begins anew. */
  readonly followsTrial?: boolean;
}

export interface Reservation {
  /** `count`; 1 for the trial after a circuit pause; 0 while paused. */
  readonly granted: number;
  readonly firstSlotMs: number;
  /** As it is after the reservation. */
  readonly state: BudgetState;
}
