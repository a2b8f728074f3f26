import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  freshBudget,
  paused,
  recovered,
  reserveSlots,
  suspected,
} from '../../../shared/domain/rate-budget.ts';

const nowMs = 1_000_000;
const request = { count: 3, intervalMs: 100, nowMs, trialMs: 30_000 };

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

  it('grants the request that follows a trial, and has everybody else wait for it', () => {
    const circuit = paused(freshBudget, nowMs, 'circuit');
    const trial = reserveSlots(circuit, request);
    const next = { ...request, count: 1, nowMs: nowMs + 50 };

    expect(reserveSlots(trial.state, next)).toMatchObject({ granted: 0 });
    const second = reserveSlots(trial.state, { ...next, followsTrial: true });

    expect(second).toMatchObject({ granted: 1, firstSlotMs: nowMs + 100 });
    expect(second.state.pausedUntilMs).toBe(nowMs + 100 + 30_000);
  });

  it('grants no request because of a trial while the service has asked for a pause', () => {
    const state = paused(freshBudget, nowMs + 1, 'rate-limited');

    expect(reserveSlots(state, { ...request, followsTrial: true })).toMatchObject({ granted: 0 });
  });

  it('grants nothing while a pause lasts, and leaves the state as it is', () => {
    const state = paused(freshBudget, nowMs + 1, 'rate-limited');

    const reservation = reserveSlots(state, request);

    expect(reservation).toMatchObject({ granted: 0, firstSlotMs: nowMs + 1 });
    expect(reservation.state).toBe(state);
  });

  it('lets one through as a trial after a circuit pause, and pauses everybody else meanwhile', () => {
    const state = paused(freshBudget, nowMs, 'circuit');

    const trial = reserveSlots(state, request);
    const other = reserveSlots(trial.state, request);

    expect(trial).toMatchObject({ granted: 1, firstSlotMs: nowMs });
    expect(other).toMatchObject({ granted: 0, firstSlotMs: nowMs + 30_000 });
  });

  it('lets another trial through when the first one was never heard of again', () => {
    const { state } = reserveSlots(paused(freshBudget, nowMs, 'circuit'), request);

    expect(reserveSlots(state, { ...request, nowMs: nowMs + 30_000 }).granted).toBe(1);
  });
});

describe('paused', () => {
  it('never shortens a pause', () => {
    const state = paused(paused(freshBudget, 500, 'rate-limited'), 200, 'rate-limited');

    expect(state).toMatchObject({ pausedUntilMs: 500, pauseReason: 'rate-limited' });
  });

  it('keeps the circuit when a longer pause is asked for', () => {
    const state = paused(paused(freshBudget, 500, 'circuit'), 800, 'rate-limited');

    expect(state).toMatchObject({ pausedUntilMs: 800, pauseReason: 'circuit' });
  });

  it('opens the circuit within a longer pause', () => {
    const state = paused(paused(freshBudget, 800, 'rate-limited'), 500, 'circuit');

    expect(state).toMatchObject({ pausedUntilMs: 800, pauseReason: 'circuit' });
  });
});

describe('recovered', () => {
  it('ends the circuit and the suspicion, and keeps the slots', () => {
    const state = { ...suspected(paused(freshBudget, 500, 'circuit'), 'a'), nextSlotMs: 77 };

    expect(recovered(state)).toEqual({ nextSlotMs: 77, pausedUntilMs: 0 });
  });

  it('keeps a pause that the service asked for', () => {
    const state = recovered(suspected(paused(freshBudget, 500, 'rate-limited'), 'a'));

    expect(state).toEqual({ nextSlotMs: 0, pausedUntilMs: 500, pauseReason: 'rate-limited' });
  });

  it('changes nothing when there is nothing to end', () => {
    expect(recovered(freshBudget)).toBe(freshBudget);
  });
});
