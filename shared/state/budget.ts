import { checked } from '../contract/checks.ts';
import { budgetRow } from '../contract/rows.ts';
import { type BudgetState, freshBudget } from '../domain/rate-budget.ts';
import { type Key, type Row, type Store, update } from '../ports/store.ts';

/** The rate budget and the holds of the whole bridge. */
export interface BudgetStore {
  read(): Promise<BudgetState>;
  /**
   * Applies `rule` to the stored state and stores the state of its result, in one atomic step across all functions and
   * processes. If that is the same object, nothing is written. `rule` may be called more than once.
   */
  change<T extends { readonly state: BudgetState }>(rule: (state: BudgetState) => T): Promise<T>;
}

/** One row for the whole bridge, to which the rules of shared/domain/rate-budget.ts are applied. */
export function createBudgetStore(store: Store): BudgetStore {
  return {
    read: async () => stateOf(await store.get(key)),
    async change<T extends { readonly state: BudgetState }>(rule: (state: BudgetState) => T): Promise<T> {
      let changed: T | undefined;
      await update(store, key, (row) => {
        const state = stateOf(row);
        changed = rule(state);
        return changed.state === state ? undefined : changed.state;
      });
      return changed as T;
    },
  };
}

const key: Key = { kind: 'bridge', name: 'budget' };

/** @throws {ShapeError} */
const stateOf = (row: Row | undefined): BudgetState =>
  row ? (checked(budgetRow, row.value, 'rate budget') as BudgetState) : freshBudget;
