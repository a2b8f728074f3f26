import type { OperatorPause } from '../domain/operator-pause.ts';
import {
  type BudgetState,
  endedEarly,
  type PauseReason,
  paused,
  type Reservation,
  recovered,
  reserveSlots,
  type SlotRequest,
  suspected,
  withOperatorPause,
} from '../domain/rate-budget.ts';

/** Stores the rate budget. Every method is atomic across all functions and processes. */
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

/**
 * Applies `rule` to the stored state and stores the state of its result, in one atomic step. If that is the same object,
 * nothing has to be written. `rule` may be called more than once.
 *
 * @returns the result of `rule`
 */
export type ChangeBudget = <T extends { readonly state: BudgetState }>(
  rule: (state: BudgetState) => T,
) => Promise<T>;

/** A store that applies the rules of shared/domain/rate-budget.ts to a state that `read` reads and `change` changes. */
export function budgetStoreOver(read: () => Promise<BudgetState>, change: ChangeBudget): BudgetStore {
  const replace = async (rule: (state: BudgetState) => BudgetState): Promise<void> => {
    await change((state) => ({ state: rule(state) }));
  };
  return {
    read,
    reserve: (request) => change((state) => reserveSlots(state, request)),
    pause: (untilMs, reason) => replace((state) => paused(state, untilMs, reason)),
    async suspect(resource) {
      const { before } = await change((before) => ({ state: suspected(before, resource), before }));
      return before;
    },
    recover: () => replace(recovered),
    setOperatorPause: (pause) => replace((state) => withOperatorPause(state, pause)),
    endPause: () => replace(endedEarly),
  };
}
