import { describe, expect, it } from 'vitest';
import type { SlotRequest } from '../../../shared/domain/rate-budget.ts';
import { createBudgetStore } from '../../../shared/state/budget.ts';
import { createInMemoryStore } from '../../fakes/store.ts';

const nowMs = Date.parse('2026-11-20T12:00:00Z');
const request = (change: Partial<SlotRequest> = {}): SlotRequest => ({
  count: 1,
  intervalMs: 100,
  nowMs,
  trialMs: 30_000,
  ...change,
});

describe('the rate budget', () => {
  it('has nothing to wait for at first', async () => {
    const budgetStore = createBudgetStore(createInMemoryStore());
    expect(await budgetStore.read()).toMatchObject({ pausedUntilMs: 0 });
    expect(await budgetStore.reserve(request())).toMatchObject({ granted: 1, firstSlotMs: nowMs });
  });

  it('gives each of many that ask at once slots of its own', async () => {
    const budgetStore = createBudgetStore(createInMemoryStore());
    const asked = Array.from({ length: 8 }, () => budgetStore.reserve(request({ count: 3 })));
    const slots = (await Promise.all(asked)).map(({ firstSlotMs }) => firstSlotMs - nowMs);
    expect(slots.sort((a, b) => a - b)).toEqual([0, 300, 600, 900, 1200, 1500, 1800, 2100]);
  });

  it('shows what was reserved to the next reader', async () => {
    const budgetStore = createBudgetStore(createInMemoryStore());
    const { state } = await budgetStore.reserve(request({ count: 5 }));
    expect(await budgetStore.read()).toEqual(state);
    expect(state.nextSlotMs).toBe(nowMs + 500);
  });

  it('makes everybody wait for a pause, and never shortens it', async () => {
    const budgetStore = createBudgetStore(createInMemoryStore());
    await budgetStore.pause(nowMs + 60_000, 'rate-limited');
    await budgetStore.pause(nowMs + 1_000, 'rate-limited');
    expect(await budgetStore.read()).toMatchObject({ pausedUntilMs: nowMs + 60_000 });
    expect(await budgetStore.reserve(request())).toMatchObject({ granted: 0 });
    expect(await budgetStore.reserve(request({ nowMs: nowMs + 60_000 }))).toMatchObject({ granted: 1 });
  });

  it('lets one request through as the trial after a circuit pause', async () => {
    const budgetStore = createBudgetStore(createInMemoryStore());
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
    const budgetStore = createBudgetStore(createInMemoryStore());
    expect((await budgetStore.suspect('a')).suspect).toBeUndefined();
    expect((await budgetStore.suspect('b')).suspect).toBe('a');
    await budgetStore.recover();
    expect((await budgetStore.suspect('c')).suspect).toBeUndefined();
    await budgetStore.recover();
    expect((await budgetStore.read()).suspect).toBeUndefined();
  });

  it('keeps what an operator wants whatever else is written, until it is taken back', async () => {
    const budgetStore = createBudgetStore(createInMemoryStore());
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
    const budgetStore = createBudgetStore(createInMemoryStore());
    await budgetStore.reserve(request({ count: 5 }));
    await budgetStore.suspect('a');
    await budgetStore.pause(nowMs + 60_000, 'circuit');
    await budgetStore.endPause();
    expect(await budgetStore.read()).toEqual({ nextSlotMs: nowMs + 500, clockMs: nowMs, pausedUntilMs: 0 });
    expect(await budgetStore.reserve(request({ count: 2 }))).toMatchObject({
      granted: 2,
      firstSlotMs: nowMs + 500,
    });
  });

  it('takes effect at once on a change of another process', async () => {
    const store = createInMemoryStore();
    const [here, there] = [createBudgetStore(store), createBudgetStore(store)];
    await here.reserve(request());
    await there.pause(nowMs + 60_000, 'rate-limited');
    expect(await here.reserve(request())).toMatchObject({ granted: 0 });
  });

  it('is not made up when its row cannot be read', async () => {
    const store = createInMemoryStore();
    await store.put({ kind: 'bridge', name: 'budget' }, { nextSlotMs: 'soon' }, 'absent');
    await expect(createBudgetStore(store).reserve(request())).rejects.toThrow('rate budget: nextSlotMs');
  });
});
