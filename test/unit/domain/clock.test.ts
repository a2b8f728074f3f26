import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { knownSuccess, systemClock } from '../../../shared/domain/clock.ts';

describe("the machine's clock", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
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
});

it.each([
  ['nothing', undefined, undefined],
  ['the past', 999_000, 999_000],
  ['now', 1_000_000, 1_000_000],
  ['a minute ahead, as another machine may see it', 1_060_000, 1_000_000],
  ['more than that', 1_060_001, undefined],
])('a stored last success is believed as far as it can be true: %s', (_case, stored, known) => {
  expect(knownSuccess(stored, 1_000_000)).toBe(known);
});
