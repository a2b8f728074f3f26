/**
 * The rules of the rate budget's shared state: pure functions that every store applies in one atomic step, so that the
 * three of them cannot differ. What a gate does with a reservation is in gate.ts.
 */
import type { BudgetState, PauseReason, Reservation, SlotRequest } from '../ports/budget-store.ts';

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
  // Whoever makes the trial may die with it: the pause ends by itself, and somebody else tries.
  const trial = { ...state, nextSlotMs: firstSlotMs + intervalMs, pausedUntilMs: firstSlotMs + trialMs };
  return { granted: 1, firstSlotMs, state: trial };
}

/** Nobody sends before `untilMs` (ms since 1970). Never shortens a pause, and never takes a circuit for a mere pause. */
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
