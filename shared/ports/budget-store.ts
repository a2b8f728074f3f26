import type { OperatorPause } from '../domain/operator-pause.ts';
import type { BudgetState, PauseReason, Reservation, SlotRequest } from '../domain/rate-budget.ts';

/**
 * Stores the rate budget. Every method is atomic across all functions and processes; the rules are in
 * shared/domain/rate-budget.ts.
 */
export interface BudgetStore {
  read(): Promise<BudgetState>;
  reserve(request: SlotRequest): Promise<Reservation>;
  /** Never shortens a pause. */
  pause(untilMs: number, reason: PauseReason): Promise<void>;
  /** Records the resource that answered 403. @returns the previous state */
  suspect(resource: string): Promise<BudgetState>;
  /** After a success: clears the suspected resource and closes the circuit. */
  recover(): Promise<void>;
  /** Replaces the stored operator's pause; without `pause`, ends it. */
  setOperatorPause(pause?: OperatorPause): Promise<void>;
  /** Ends a pause that the service asked for, and an open circuit, before their time. */
  endPause(): Promise<void>;
}
