import type { OperatorPause } from '../domain/operator-pause.ts';
import type { BudgetState, PauseReason, Reservation, SlotRequest } from '../domain/rate-budget.ts';

/** Every method is atomic over all functions and processes; the rules are in shared/domain/rate-budget.ts. */
export interface BudgetStore {
  read(): Promise<BudgetState>;
  reserve(request: SlotRequest): Promise<Reservation>;
  /** Never shortens a pause. */
  pause(untilMs: number, reason: PauseReason): Promise<void>;
  /** Notes who answered 403. @returns the state before */
  suspect(resource: string): Promise<BudgetState>;
  /** After a success: no suspect, no circuit. */
  recover(): Promise<void>;
  /** Stores what an operator wants, in place of what was stored before; without `pause` it is over. */
  setOperatorPause(pause?: OperatorPause): Promise<void>;
  /** Ends, before its time, a pause that the service asked for, and an open circuit. */
  endPause(): Promise<void>;
}
