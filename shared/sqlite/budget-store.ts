import { type BudgetState, freshBudget } from '../domain/rate-budget.ts';
import { type BudgetStore, budgetStoreOver } from '../ports/budget-store.ts';
import type { Documents } from './file/documents.ts';
import type { Store } from './file/store.ts';

const documentName = 'budget';

/** The rate budget in the state file. All processes share it, and a pause survives their end. */
export function createBudgetStore(store: Store, documents: Documents): BudgetStore {
  function current(): BudgetState {
    const text = documents.get(documentName);
    return text === undefined ? freshBudget : (JSON.parse(text) as BudgetState);
  }

  return budgetStoreOver(
    async () => store.read(current),
    (rule) =>
      store.write(() => {
        const stored = current();
        const changed = rule(stored);
        if (changed.state !== stored) documents.put(documentName, JSON.stringify(changed.state));
        return changed;
      }),
  );
}
