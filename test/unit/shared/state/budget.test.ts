import { expect, it } from 'vitest';
import { createBudgetStore, freshBudget } from '../../../../shared/state/budget.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';

it('the rate budget has no hold at first and is unwritten without a change', async () => {
  const put = () => Promise.reject(new Error('nothing is to be written'));
  const budgetStore = createBudgetStore({ ...createInMemoryStore(), put });
  expect(await budgetStore.change((state) => state)).toEqual(freshBudget);
});
