import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { forEachConcurrent } from '../../../shared/domain/concurrency.ts';

it('does work in the order of its items, two at a time, and rejects with the first error at the end', async () => {
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
