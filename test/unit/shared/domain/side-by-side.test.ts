import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { forEachConcurrent, limitedTo } from '../../../../shared/domain/concurrency.ts';

it('work is done in order, two at a time, and rejects with its first error', async () => {
  const [begun, atWork]: [number[], number[]] = [[], []];
  let running = 0;

  const working = forEachConcurrent([1, 2, 3, 4, 5], 2, async (item) => {
    begun.push(item);
    running += 1;
    atWork.push(running);
    await nextTurn();
    running -= 1;
    if (item > 1) throw new Error(`failure ${item}`);
  });

  await expect(working).rejects.toThrow('failure 2');
  expect(begun).toEqual([1, 2, 3, 4, 5]);
  expect(Math.max(...atWork)).toBe(2);
  expect(running).toBe(0);
});

it('work that waited too long is not begun, the rest in order of calls', async () => {
  vi.useFakeTimers();
  const limited = limitedTo(1);
  const first = Promise.withResolvers<string>();
  const late = () => new Error('late');
  const all = [
    limited(() => first.promise),
    ...[1_000, 20, 1_000].map((maxMs) => limited(async () => `within ${maxMs}`, { maxMs, late })),
  ].map((work) => work.catch((error: Error) => error.message));
  await vi.advanceTimersByTimeAsync(20);
  first.resolve('first');

  expect(await Promise.all(all)).toEqual(['first', 'within 1000', 'late', 'within 1000']);
  expect(await limited(async () => 'free', { maxMs: 0, late })).toBe('free');
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});
