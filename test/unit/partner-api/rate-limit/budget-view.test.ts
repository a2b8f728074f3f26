import { describe, expect, it } from 'vitest';
import { BudgetView } from '../../../../shared/partner-api/rate-limit/budget-view.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';

function setUp() {
  const clock = createManualClock();
  return { clock, at: clock.now(), view: new BudgetView(clock) };
}
const quiet = { nextSlotMs: 0, pausedUntilMs: 0 };

describe('what a process knows of the budget', () => {
  it('is what the store said last, and when that was', () => {
    const { clock, at, view } = setUp();
    view.update({ nextSlotMs: at + 500, pausedUntilMs: at + 9_000, suspect: 'a' }, at);

    expect(view).toMatchObject({
      ...{ nextSlotMs: at + 500, pausedUntilMs: at + 9_000, suspect: 'a', circuit: false },
      ...{ suspectSinceMs: at, seenAtMs: at },
    });
    clock.advance(1_000);
    view.update(quiet, clock.now());
    expect(view).toMatchObject({ ...quiet, suspect: undefined, seenAtMs: at + 1_000 });
  });

  it('dates a circuit and a suspicion from when each was first seen', () => {
    const { clock, at, view } = setUp();
    const state = { ...quiet, pauseReason: 'circuit', suspect: 'a' } as const;
    view.update(state);
    clock.advance(1_000);
    view.update(state);
    expect(view).toMatchObject({ circuit: true, circuitSinceMs: at, suspectSinceMs: at });

    clock.advance(1_000);
    view.update({ ...state, suspect: 'b' });
    expect(view).toMatchObject({ circuitSinceMs: at, suspectSinceMs: at + 2_000 });

    view.update(quiet);
    expect(view.circuit).toBe(false);
    clock.advance(1_000);
    view.update(state);
    expect(view.circuitSinceMs).toBe(at + 3_000);
  });

  it('keeps a pause that was found out here until the store was told and asked after that', () => {
    const { clock, at, view } = setUp();
    const told = view.noteOwnPause(at + 60_000);
    expect(view.pausedUntilMs).toBe(at + 60_000);
    clock.advance(1_000);
    // Not stored yet, so the store's answer cannot include it.
    view.update(quiet, clock.now());
    expect(view.pausedUntilMs).toBe(at + 60_000);

    told(true);
    // Read at the moment of the write or before, so the answer may not include it.
    view.update(quiet, clock.now());
    expect(view.pausedUntilMs).toBe(at + 60_000);
    view.update(quiet);
    expect(view.pausedUntilMs).toBe(at + 60_000);
    clock.advance(1);
    view.update(quiet, clock.now());
    expect(view.pausedUntilMs).toBe(0);
  });

  it('stands to its end where the store could not be told, also when it was told of a shorter one', () => {
    const { clock, at, view } = setUp();
    view.noteOwnPause(at + 60_000)(false);
    view.noteOwnPause(at + 30_000)(true);
    clock.advance(1_000);
    view.update(quiet, clock.now());
    expect(view.pausedUntilMs).toBe(at + 60_000);
    expect(view.untoldUntilMs()).toBe(at + 60_000);
  });

  it('is covered by a longer one that the store was told of', () => {
    const { clock, at, view } = setUp();
    view.noteOwnPause(at + 30_000)(false);
    view.noteOwnPause(at + 60_000)(true);
    expect(view.untoldUntilMs()).toBe(0);
    clock.advance(1_000);
    view.update(quiet, clock.now());
    expect(view.pausedUntilMs).toBe(0);
  });

  it('is not shortened by a pause that ends earlier, and takes over a longer one of the store', () => {
    const { clock, at, view } = setUp();
    view.noteOwnPause(at + 60_000);
    view.noteOwnPause(at + 30_000);
    expect(view.pausedUntilMs).toBe(at + 60_000);
    clock.advance(1);
    view.update({ ...quiet, pausedUntilMs: at + 90_000 }, clock.now());
    expect(view.pausedUntilMs).toBe(at + 90_000);
  });
});
