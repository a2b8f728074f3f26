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
    async (rule) => {
      // `recover` is called after every successful request and usually changes nothing, and a read is cheaper than a
      // write.
      const stored = store.read(current);
      const unchanged = rule(stored);
      if (unchanged.state === stored) return unchanged;
      return store.write(() => {
        const changed = rule(current());
        documents.put(documentName, JSON.stringify(changed.state));
        return changed;
      });
    },
  );
}
