export type PauseReason = 'slow-down' | 'circuit';

/** One shared item for the whole bridge. */
export interface BudgetState {
  /** The next instant at which a request may start, ms since 1970. */
  readonly nextSlotMs: number;
  /** Nobody sends before this; 0 when nothing was asked for. */
  readonly pausedUntilMs: number;
  /** `circuit`: after the pause only one request goes through, as a trial, until one succeeds. */
  readonly pauseReason?: PauseReason;
  /** The resource that last answered 403 without a known code, with no success since. */
  readonly suspect?: string;
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

/** Every method is atomic over all functions and processes; the rules are in budget-state.ts. */
export interface BudgetStore {
  read(): Promise<BudgetState>;
  reserve(request: SlotRequest): Promise<Reservation>;
  /** Never shortens a pause. */
  pause(untilMs: number, reason: PauseReason): Promise<void>;
  /** Notes who answered 403. @returns the state before */
  suspect(resource: string): Promise<BudgetState>;
  /** After a success: no suspect, no circuit. */
  recover(): Promise<void>;
}
