import { getEventListeners } from 'node:events';
import { afterEach, expect, it, vi } from 'vitest';
import { knownSuccess, systemClock } from '../../../../shared/domain/clock.ts';

afterEach(() => void vi.useRealTimers());

it('a sleep ends at its time or signal, and leaves no timer or listener', async () => {
  vi.useFakeTimers();
  const controller = new AbortController();
  const woken = vi.fn();
  const first = systemClock.sleep(1_000, controller.signal).then(woken);
  await vi.advanceTimersByTimeAsync(999);
  expect(woken).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await first;
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);

  const second = systemClock.sleep(1_000, controller.signal);
  controller.abort();
  await second;
  await systemClock.sleep(1_000, controller.signal);
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});

it.each([
  ['nothing', undefined, undefined],
  ['the past', 999_000, 999_000],
  ['a minute ahead, as another machine may see it', 1_060_000, 1_000_000],
  ['more than that', 1_060_001, undefined],
])('a stored last success is believed as far as it can be true: %s', (_case, stored, known) => {
  expect(knownSuccess(stored, 1_000_000)).toBe(known);
});
