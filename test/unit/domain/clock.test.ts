import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock, toInstant } from '../../../shared/domain/clock.ts';

describe("the machine's clock", () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: Date.parse('2026-11-20T12:00:00.123Z') });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('tells the time', () => {
    expect(toInstant(systemClock.now())).toBe('2026-11-20T12:00:00.123Z');
  });

  it.each<[string, AbortSignal | undefined]>([
    ['without a signal', undefined],
    ['with one that stays silent', new AbortController().signal],
  ])('sleeps as long as it is told, %s', async (_case, signal) => {
    let isAwake = false;
    const sleeping = systemClock.sleep(1_000, signal).then(() => {
      isAwake = true;
    });
    await vi.advanceTimersByTimeAsync(999);
    expect(isAwake).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await sleeping;
    if (signal) expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('wakes at once when the signal is given, before or meanwhile, and leaves no timer', async () => {
    const controller = new AbortController();
    const sleeping = systemClock.sleep(1_000, controller.signal);
    controller.abort();
    await sleeping;
    await systemClock.sleep(1_000, controller.signal);

    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('does not sleep until a moment that is over', async () => {
    const sleeping = systemClock.sleep(-5);
    await vi.advanceTimersByTimeAsync(0);
    await sleeping;
  });
});
