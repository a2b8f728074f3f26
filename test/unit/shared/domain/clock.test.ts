import { getEventListeners } from 'node:events';
import { afterEach, expect, it, vi } from 'vitest';
import { knownSuccess, systemClock, withinTime } from '../../../../shared/domain/clock.ts';

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
  ['its result', async () => 'done', 0, 'done'],
  ['its error', () => Promise.reject('failed'), 0, 'failed'],
  ['what is late', () => new Promise<string>(() => undefined), 1_000, 'late'],
])('work within a time gives %s, and leaves no timer', async (_case, work, afterMs, outcome) => {
  vi.useFakeTimers();
  const given = withinTime(work(), { clock: systemClock, ms: 1_000, late: () => 'late' }).catch(String);
  await vi.advanceTimersByTimeAsync(afterMs);
  expect([await given, vi.getTimerCount()]).toEqual([outcome, 0]);
});

it.each([
  ['nothing', undefined, undefined],
  ['the past', 999_000, 999_000],
  ['a minute ahead, as another machine may see it', 1_060_000, 1_000_000],
  ['more than that', 1_060_001, undefined],
])('a stored last success is believed as far as it can be true: %s', (_case, stored, known) => {
  expect(knownSuccess(stored, 1_000_000)).toBe(known);
});
