import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { trialMs, withHold } from '../../../shared/domain/holds.ts';
import { freshBudget, reserveSlots } from '../../../shared/domain/rate-budget.ts';
import { serviceHold } from '../../helpers/holds.ts';

const nowMs = 1_000_000;
const request = { count: 3, intervalMs: 100, nowMs, resource: 'a' };

describe('reserveSlots', () => {
  it('gives the first slot now when nothing is reserved', () => {
    const { granted, firstSlotMs, state } = reserveSlots(freshBudget, request);

    expect({ granted, firstSlotMs }).toEqual({ granted: 3, firstSlotMs: nowMs });
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
          for (let i = 0; i < reservation.granted; i += 1) slots.push(reservation.firstSlotMs + i * 100);
        }
        for (let i = 1; i < slots.length; i += 1) {
          expect((slots[i] as number) - (slots[i - 1] as number)).toBeGreaterThanOrEqual(100);
        }
      }),
    );
  });

  it('gives no slots during a hold, and leaves the state as it is', () => {
    const state = withHold(freshBudget, serviceHold('service', nowMs + 1));

    const reservation = reserveSlots(state, request);

    expect(reservation).toMatchObject({ granted: 0, firstSlotMs: nowMs + 1 });
    expect(reservation.state).toBe(state);
  });

  it("gives slots during an operator's hold, for tokens", () => {
    const state = withHold(freshBudget, { kind: 'operator', since: 0 });

    expect(reserveSlots(state, request)).toMatchObject({ granted: 3, isTrial: false });
  });

  it('gives one slot for a trial after a hold, while all others wait', () => {
    const state = withHold(freshBudget, serviceHold('circuit', nowMs));

    const trial = reserveSlots(state, request);
    const other = reserveSlots(trial.state, request);

    expect(trial).toMatchObject({ granted: 1, isTrial: true, firstSlotMs: nowMs });
    expect(other).toMatchObject({ granted: 0, firstSlotMs: nowMs + trialMs });
  });

  it('gives one more slot to the request that goes on with the trial', () => {
    const trial = reserveSlots(withHold(freshBudget, serviceHold('circuit', nowMs)), request);

    const second = reserveSlots(trial.state, { ...request, nowMs: nowMs + 50, followsTrial: true });

    expect(second).toMatchObject({ granted: 1, isTrial: true, firstSlotMs: nowMs + 100 });
  });

  it('gives another trial when the first one was never heard of again', () => {
    const { state } = reserveSlots(withHold(freshBudget, serviceHold('circuit', nowMs)), request);

    expect(reserveSlots(state, { ...request, nowMs: nowMs + trialMs })).toMatchObject({ isTrial: true });
  });

  it('gives the trial to a blamed resource only when nothing else asks for a minute', () => {
    const state = withHold(freshBudget, { ...serviceHold('circuit', nowMs), blamed: ['a'] });

    expect(reserveSlots(state, request)).toMatchObject({ granted: 0, firstSlotMs: nowMs + 60_000 });
    expect(reserveSlots(state, { ...request, resource: 'b' })).toMatchObject({ isTrial: true });
    expect(reserveSlots(state, { ...request, nowMs: nowMs + 60_000 })).toMatchObject({ isTrial: true });
  });
});
