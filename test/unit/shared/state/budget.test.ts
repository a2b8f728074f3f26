import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createBudgetStore, freshBudget, reserveSlots } from '../../../../shared/state/budget.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';

const nowMs = Date.parse('2026-11-20T12:00:00Z');

it('the rate budget gives no slot twice, whatever comes in between', () => {
  const step = fc.record({
    count: fc.integer({ min: 1, max: 20 }),
    passMs: fc.integer({ min: 0, max: 500 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let state = freshBudget;
      let now = nowMs;
      const slots: number[] = [];
      for (const { count, passMs } of steps) {
        now += passMs;
        state = reserveSlots(state, { count, intervalMs: 100, nowMs: now });
        for (let i = count; i > 0; i -= 1) slots.push(state.nextSlotMs - i * 100);
      }
      for (let i = 1; i < slots.length; i += 1) {
        expect((slots[i] as number) - (slots[i - 1] as number)).toBeGreaterThanOrEqual(100);
      }
    }),
  );
});

it('the rate budget has no hold at first and is unwritten without a change', async () => {
  const put = () => Promise.reject(new Error('nothing is to be written'));
  const budgetStore = createBudgetStore({ ...createInMemoryStore(), put });
  expect(await budgetStore.change((state) => state)).toEqual(freshBudget);
});

it('the rate budget is refused when its row cannot be read', async () => {
  const store = createInMemoryStore();
  await store.put({ kind: 'bridge', name: 'budget' }, { nextSlotMs: 'soon' }, 'absent');
  await expect(createBudgetStore(store).read()).rejects.toThrow('rate budget');
});
