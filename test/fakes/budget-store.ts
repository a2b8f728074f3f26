import { type BudgetState, freshBudget } from '../../shared/domain/rate-budget.ts';
import { type BudgetStore, budgetStoreOver } from '../../shared/ports/budget-store.ts';

/** The rate budget in memory, shared by everyone who uses this object. */
export function createInMemoryBudgetStore(): BudgetStore {
  let state: BudgetState = freshBudget;
  return budgetStoreOver(
    async () => state,
    async (rule) => {
      const changed = rule(state);
      state = changed.state;
      return changed;
    },
  );
}
