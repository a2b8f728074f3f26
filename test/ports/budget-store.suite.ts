import { describe, expect, it } from 'vitest';
import type { SlotRequest } from '../../shared/domain/rate-budget.ts';
import type { BudgetStore } from '../../shared/ports/budget-store.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface BudgetStoreSubject extends Cleaned {
  readonly budgetStore: BudgetStore;
}

const nowMs = Date.parse('2026-11-20T12:00:00Z');
const request = (change: Partial<SlotRequest> = {}): SlotRequest => ({
  count: 1,
  intervalMs: 100,
  nowMs,
  trialMs: 30_000,
  ...change,
});

/**
 * Conformance tests for every store of the rate budget; the rules themselves are tested with
 * shared/domain/rate-budget.ts.
 */
export function budgetStoreSuite(name: string, make: () => Promise<BudgetStoreSubject>): void {
  describe(`${name}: budget store`, () => {
    const subject = subjects(make);

    it('has nothing to wait for at first', async () => {
      const { budgetStore } = await subject();
      expect(await budgetStore.read()).toMatchObject({ pausedUntilMs: 0 });
      expect(await budgetStore.reserve(request())).toMatchObject({ granted: 1, firstSlotMs: nowMs });
    });

    it('gives each of many that ask at once slots of its own', async () => {
      const { budgetStore } = await subject();
      const asked = Array.from({ length: 8 }, () => budgetStore.reserve(request({ count: 3 })));
      const slots = (await Promise.all(asked)).map(({ firstSlotMs }) => firstSlotMs - nowMs);
      expect(slots.sort((a, b) => a - b)).toEqual([0, 300, 600, 900, 1200, 1500, 1800, 2100]);
    });

    it('shows what was reserved to the next reader', async () => {
      const { budgetStore } = await subject();
      const { state } = await budgetStore.reserve(request({ count: 5 }));
      expect(await budgetStore.read()).toEqual(state);
      expect(state.nextSlotMs).toBe(nowMs + 500);
    });

    it('makes everybody wait for a pause, and never shortens it', async () => {
      const { budgetStore } = await subject();
      await budgetStore.pause(nowMs + 60_000, 'rate-limited');
      await budgetStore.pause(nowMs + 1_000, 'rate-limited');
      expect(await budgetStore.read()).toMatchObject({ pausedUntilMs: nowMs + 60_000 });
      expect(await budgetStore.reserve(request())).toMatchObject({ granted: 0 });
      expect(await budgetStore.reserve(request({ nowMs: nowMs + 60_000 }))).toMatchObject({ granted: 1 });
    });

    it('lets one request through as the trial after a circuit pause', async () => {
      const { budgetStore } = await subject();
      await budgetStore.pause(nowMs + 60_000, 'circuit');
      const later = request({ count: 5, nowMs: nowMs + 60_000 });
      const asked = await Promise.all([budgetStore.reserve(later), budgetStore.reserve(later)]);
      expect(asked.map(({ granted }) => granted).sort()).toEqual([0, 1]);
      await budgetStore.recover();
      expect(await budgetStore.reserve(request({ count: 5, nowMs: nowMs + 120_000 }))).toMatchObject({
        granted: 5,
      });
    });

    it('says who was suspected before, until a success', async () => {
      const { budgetStore } = await subject();
      expect((await budgetStore.suspect('a')).suspect).toBeUndefined();
      expect((await budgetStore.suspect('b')).suspect).toBe('a');
      await budgetStore.recover();
      expect((await budgetStore.suspect('c')).suspect).toBeUndefined();
      await budgetStore.recover();
      expect((await budgetStore.read()).suspect).toBeUndefined();
    });

    it('keeps what an operator wants whatever else is written, until it is taken back', async () => {
      const { budgetStore } = await subject();
      const operatorPause = { who: 'ann', since: nowMs, until: nowMs + 60_000, reason: 'they asked us to' };
      await budgetStore.setOperatorPause(operatorPause);
      await budgetStore.pause(nowMs + 1_000, 'circuit');
      await budgetStore.suspect('a');
      await budgetStore.recover();
      await budgetStore.endPause();
      expect((await budgetStore.reserve(request())).granted).toBe(1);
      expect(await budgetStore.read()).toEqual({
        nextSlotMs: nowMs + 100,
        clockMs: nowMs,
        pausedUntilMs: 0,
        operatorPause,
      });
      await budgetStore.setOperatorPause({ who: 'bob', since: nowMs });
      expect((await budgetStore.read()).operatorPause).toEqual({ who: 'bob', since: nowMs });
      await budgetStore.setOperatorPause();
      expect(await budgetStore.read()).not.toHaveProperty('operatorPause');
    });

    it('ends a pause of the service and an open circuit before their time, and keeps the slots given', async () => {
      const { budgetStore } = await subject();
      await budgetStore.reserve(request({ count: 5 }));
      await budgetStore.suspect('a');
      await budgetStore.pause(nowMs + 60_000, 'circuit');
      await budgetStore.endPause();
      expect(await budgetStore.read()).toEqual({
        nextSlotMs: nowMs + 500,
        clockMs: nowMs,
        pausedUntilMs: 0,
      });
      expect(await budgetStore.reserve(request({ count: 2 }))).toMatchObject({
        granted: 2,
        firstSlotMs: nowMs + 500,
      });
    });
  });
}
