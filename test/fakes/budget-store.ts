import type { BudgetState } from '../../shared/domain/rate-budget.ts';
import {
  endedEarly,
  freshBudget,
  paused,
  recovered,
  reserveSlots,
  suspected,
  withOperatorPause,
} from '../../shared/domain/rate-budget.ts';
import type { BudgetStore } from '../../shared/ports/budget-store.ts';

/** The rate budget in memory, shared by everyone who uses this object. */
export function createInMemoryBudgetStore(): BudgetStore {
  let state: BudgetState = freshBudget;
  return {
    read: async () => state,
    async reserve(request) {
      const reservation = reserveSlots(state, request);
      state = reservation.state;
      return reservation;
    },
    async pause(untilMs, reason) {
      state = paused(state, untilMs, reason);
    },
    async suspect(resource) {
      const before = state;
      state = suspected(state, resource);
      return before;
    },
    async recover() {
      state = recovered(state);
    },
    async setOperatorPause(pause) {
      state = withOperatorPause(state, pause);
    },
    async endPause() {
      state = endedEarly(state);
    },
  };
}
