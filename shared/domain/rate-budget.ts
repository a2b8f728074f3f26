/**
 * The rules of the rate budget's shared state, as pure functions. Each of the three stores applies them in one atomic
 * step, so that the stores cannot differ. rate-limiter.ts uses the reservations.
 */
import { endOfPause, type OperatorPause } from './operator-pause.ts';

/** The initial state: nothing reserved, no pause. */
export const freshBudget: BudgetState = { nextSlotMs: 0, pausedUntilMs: 0 };

/** No request waits this long for a slot, because its deadline is earlier. */
export const maxAheadMs = 3_600_000;

/** The first free slot. A slot further ahead than {@link maxAheadMs} was reserved before a clock was set back. */
export const freeSlotMs = ({ nextSlotMs }: Pick<BudgetState, 'nextSlotMs'>, nowMs: number): number =>
  nextSlotMs - nowMs > maxAheadMs ? nowMs : Math.max(nextSlotMs, nowMs);

/**
 * Reserves the next `count` slots, `intervalMs` apart, the first one not before `nowMs`. A slot is never given twice,
 * and an unused slot is lost: this keeps every time window within the rate.
 *
 * @returns during a pause no slots (`firstSlotMs` is its end, and the state is the same object); after a circuit pause
 * one slot for a trial, while all others stay paused for another `trialMs`, and one more slot for the request that
 * follows the trial
 */
export function reserveSlots(state: BudgetState, request: SlotRequest): Reservation {
  const { count, intervalMs, nowMs, trialMs, followsTrial = false } = request;
  const belongsToTrial = followsTrial && state.pauseReason === 'circuit';
  if (state.pausedUntilMs > nowMs && !belongsToTrial)
    return { granted: 0, firstSlotMs: state.pausedUntilMs, state };
  const firstSlotMs = freeSlotMs(state, nowMs);
  if (state.pauseReason !== 'circuit') {
    const nextSlotMs = firstSlotMs + count * intervalMs;
    return { granted: count, firstSlotMs, state: { ...state, nextSlotMs } };
  }
  // The process that makes the trial may crash, so this pause ends automatically and another process tries.
  const trial = { ...state, nextSlotMs: firstSlotMs + intervalMs, pausedUntilMs: firstSlotMs + trialMs };
  return { granted: 1, firstSlotMs, state: trial };
}

/**
 * Sends no request before `untilMs` (ms since 1970). Never shortens a pause, and never turns a circuit pause into a
 * normal one.
 */
export function paused(state: BudgetState, untilMs: number, reason: PauseReason): BudgetState {
  const pausedUntilMs = Math.max(state.pausedUntilMs, untilMs);
  const pauseReason = state.pauseReason === 'circuit' ? 'circuit' : reason;
  if (pausedUntilMs === state.pausedUntilMs && pauseReason === state.pauseReason) return state;
  return { ...state, pausedUntilMs, pauseReason };
}

/** `resource` answered 403 without a known code. */
export const suspected = (state: BudgetState, resource: string): BudgetState =>
  state.suspect === resource ? state : { ...state, suspect: resource };

/**
 * After a success: clears the suspected resource and closes the circuit. A pause that the service asked for stays in
 * force.
 */
export function recovered(state: BudgetState): BudgetState {
  const { suspect, pauseReason, ...rest } = state;
  if (pauseReason === 'circuit') return { ...rest, pausedUntilMs: 0 };
  if (suspect === undefined) return state;
  return pauseReason === undefined ? rest : { ...rest, pauseReason };
}

/** Ends a pause that the service asked for, and an open circuit. An operator's pause stays in force. */
export function endedEarly({ nextSlotMs, operatorPause }: BudgetState): BudgetState {
  return { nextSlotMs, pausedUntilMs: 0, ...(operatorPause && { operatorPause }) };
}

export function withOperatorPause(state: BudgetState, operatorPause: OperatorPause | undefined): BudgetState {
  const { operatorPause: _before, ...rest } = state;
  return operatorPause ? { ...rest, operatorPause } : rest;
}

/**
 * The moment until which no requests are sent, ms since 1970; 0 without a pause, Infinity for a pause without an end.
 * (During an operator's pause, token requests are still sent.)
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
  /** `circuit`: after the pause, only one request at a time is sent as a trial, until one succeeds. */
  readonly pauseReason?: PauseReason;
  /** The resource that last answered 403 without a known code, if no request has succeeded since. */
  readonly suspect?: string;
  /**
   * An operator's pause: nothing is sent except token requests. Slots are still given; the rate limiter enforces the
   * pause.
   */
  readonly operatorPause?: OperatorPause;
}

export interface SlotRequest {
  readonly count: number;
  readonly intervalMs: number;
  readonly nowMs: number;
  /** How long all other requests wait for the result of a trial. */
  readonly trialMs: number;
  /** The second request of a trial. It gets a slot although the trial's pause is in force, and restarts that pause. */
  readonly followsTrial?: boolean;
}

export interface Reservation {
  /** `count`; 1 for the trial after a circuit pause; 0 while paused. */
  readonly granted: number;
  readonly firstSlotMs: number;
  /** The state after the reservation. */
  readonly state: BudgetState;
}
