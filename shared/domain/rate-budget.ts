/**
 * The rules of the rate budget's shared state, as pure functions. Each of the three stores applies them in one atomic
 * step, so that the stores cannot differ. rate-limiter.ts uses the reservations.
 */
import { endOfPause, type OperatorPause } from './operator-pause.ts';

/** The initial state: nothing reserved, no pause. */
export const freshBudget: BudgetState = { nextSlotMs: 0, pausedUntilMs: 0 };

/** Clocks of processes differ by less than this, unless one of them is wrong. */
const clockToleranceMs = 1_000;

/**
 * The first free slot. Slots are given by the clock of the process that reserved last. If that clock is ahead, the slots
 * count from this process's time instead: a process with a wrong clock takes nobody's slots, and a clock that is set back
 * stops nobody.
 */
export function freeSlotMs({ nextSlotMs, clockMs = 0 }: BudgetState, nowMs: number): number {
  const aheadMs = clockMs - nowMs;
  return Math.max(aheadMs > clockToleranceMs ? nextSlotMs - aheadMs : nextSlotMs, nowMs);
}

/**
 * Reserves the next `count` slots, `intervalMs` apart, the first one not before `nowMs`. A slot is never given twice,
 * and an unused slot is lost: this keeps every time window within the rate.
 *
 * @returns during a pause no slots (`firstSlotMs` is its end, and the state is the same object); after a circuit pause
 * one slot for a trial, while all others stay paused for another `trialMs`, and one more slot for the request that
 * follows the trial
 */
export function reserveSlots(state: BudgetState, request: SlotRequest): Reservation {
  const { count, intervalMs, nowMs, trialMs, followsTrial = false, lastClockMs = 0 } = request;
  const { offsetMs: offset = 0 } = request;
  const { clockMs = 0 } = state;
  // Another process has reserved since then, by an earlier clock: so all go by that one, and follow it.
  const isAhead = lastClockMs - clockMs > clockToleranceMs;
  const isBehind = offset < 0 && clockMs > nowMs + offset;
  const offsetMs = isAhead || isBehind ? clockMs - nowMs : offset;
  const isTrial = state.pauseReason === 'circuit';
  if (state.pausedUntilMs > nowMs && !(isTrial && followsTrial))
    return { granted: 0, isTrial: false, firstSlotMs: state.pausedUntilMs, offsetMs, state };
  const firstSlotMs = freeSlotMs(state, nowMs + offsetMs);
  const granted = isTrial ? 1 : count;
  const reserved = { ...state, nextSlotMs: firstSlotMs + granted * intervalMs, clockMs: nowMs + offsetMs };
  // The process that makes the trial may crash, so this pause ends automatically and another process tries.
  const next = isTrial ? { ...reserved, pausedUntilMs: firstSlotMs - offsetMs + trialMs } : reserved;
  return { granted, isTrial, firstSlotMs, offsetMs, state: next };
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
export function endedEarly(state: BudgetState): BudgetState {
  const { pauseReason: _reason, suspect: _suspect, ...rest } = state;
  return { ...rest, pausedUntilMs: 0 };
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
  /** The time of the last reservation, by the clock of the process that made it. */
  readonly clockMs?: number;
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
  /** How far the clock by which this process takes its slots is from its own. Default 0. */
  readonly offsetMs?: number;
  /** `clockMs` of the state that this process knew last. */
  readonly lastClockMs?: number | undefined;
  /** How long all other requests wait for the result of a trial. */
  readonly trialMs: number;
  /** The second request of a trial. It gets a slot although the trial's pause is in force, and restarts that pause. */
  readonly followsTrial?: boolean;
}

export interface Reservation {
  /** `count`; 1 for the trial after a circuit pause; 0 while paused. */
  readonly granted: number;
  /** The slot is for one request only. */
  readonly isTrial: boolean;
  readonly firstSlotMs: number;
  /** Slots are given by the process's clock plus this; not 0 if that clock is ahead of another process's. */
  readonly offsetMs: number;
  /** The state after the reservation. */
  readonly state: BudgetState;
}
