import { checked } from '../contract/checks.ts';
import { budgetRow } from '../contract/rows.ts';
import type { OperatorPause } from '../domain/operator-pause.ts';
import {
  type BudgetState,
  endedEarly,
  freshBudget,
  type PauseReason,
  paused,
  type Reservation,
  recovered,
  reserveSlots,
  type SlotRequest,
  suspected,
  withOperatorPause,
} from '../domain/rate-budget.ts';
import { type Key, type Row, type Store, update } from '../ports/store.ts';

/** The rate budget. Every method is atomic across all functions and processes. */
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

/** One row for the whole bridge, to which the rules of shared/domain/rate-budget.ts are applied. */
export function createBudgetStore(store: Store): BudgetStore {
  /** Applies `rule`; if its state is the same object, nothing is written. */
  async function change<T extends { readonly state: BudgetState }>(
    rule: (state: BudgetState) => T,
  ): Promise<T> {
    let changed: T | undefined;
    await update(store, key, (row) => {
      const state = stateOf(row);
      changed = rule(state);
      return changed.state === state ? undefined : changed.state;
    });
    return changed as T;
  }
  const replace = async (rule: (state: BudgetState) => BudgetState): Promise<void> => {
    await change((state) => ({ state: rule(state) }));
  };
  return {
    read: async () => stateOf(await store.get(key)),
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

const key: Key = { kind: 'bridge', name: 'budget' };

/** @throws {ShapeError} */
const stateOf = (row: Row | undefined): BudgetState =>
  row ? checked(budgetRow, row.value, 'rate budget') : freshBudget;
