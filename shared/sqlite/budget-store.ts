import type { BudgetState } from '../domain/rate-budget.ts';
import {
  endedEarly,
  freshBudget,
  paused,
  recovered,
  reserveSlots,
  suspected,
  withOperatorPause,
} from '../domain/rate-budget.ts';
import type { BudgetStore } from '../ports/budget-store.ts';
import type { Documents } from './file/documents.ts';
import type { Store } from './file/store.ts';

const documentName = 'budget';

/** The rate budget in the state file. All processes share it, and a pause survives their end. */
export function createBudgetStore(store: Store, documents: Documents): BudgetStore {
  function current(): BudgetState {
    const text = documents.get(documentName);
    return text === undefined ? freshBudget : (JSON.parse(text) as BudgetState);
  }

  function put(state: BudgetState): void {
    documents.put(documentName, JSON.stringify(state));
  }

  return {
    read: async () => store.read(current),
    reserve: (request) =>
      store.write(() => {
        const before = current();
        const reservation = reserveSlots(before, request);
        if (reservation.state !== before) put(reservation.state);
        return reservation;
      }),
    pause: (untilMs, reason) =>
      store.write(() => {
        put(paused(current(), untilMs, reason));
      }),
    suspect: (resource) =>
      store.write(() => {
        const before = current();
        put(suspected(before, resource));
        return before;
      }),
    async recover() {
      // This is called after every successful request. Usually there is nothing to clear, and a read is cheaper than a
      // write.
      const { suspect, pauseReason, pausedUntilMs } = store.read(current);
      if (suspect === undefined && pauseReason === undefined && pausedUntilMs === 0) return;
      await store.write(() => put(recovered(current())));
    },
    setOperatorPause: (pause) => store.write(() => put(withOperatorPause(current(), pause))),
    endPause: () => store.write(() => put(endedEarly(current()))),
  };
}
