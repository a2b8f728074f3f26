import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freshBudget, reserveSlots } from '../../../shared/state/budget.ts';

const nowMs = 1_000_000;
const request = { count: 3, intervalMs: 100, nowMs };

describe('reserveSlots', () => {
  it('gives the first slot now when nothing is reserved', () => {
    const { firstSlotMs, state } = reserveSlots(freshBudget, request);

    expect(firstSlotMs).toBe(nowMs);
    expect(state.nextSlotMs).toBe(nowMs + 300);
  });

  it('gives the slots after those that are reserved', () => {
    const first = reserveSlots(freshBudget, request);

    const second = reserveSlots(first.state, request);

    expect(second.firstSlotMs).toBe(nowMs + 300);
  });

  it('never gives a slot twice, whatever comes in between', () => {
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
          const reservation = reserveSlots(state, { ...request, count, nowMs: now });
          state = reservation.state;
          for (let i = 0; i < count; i += 1) slots.push(reservation.firstSlotMs + i * 100);
        }
        for (let i = 1; i < slots.length; i += 1) {
          expect((slots[i] as number) - (slots[i - 1] as number)).toBeGreaterThanOrEqual(100);
        }
      }),
    );
  });
});
