import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { forEachConcurrent } from '../../../shared/domain/concurrency.ts';

describe('work side by side', () => {
  it('is begun in the order of the items, so many at a time at most', async () => {
    const begun: number[] = [];
    let atWork = 0;
    let most = 0;

    await forEachConcurrent([1, 2, 3, 4, 5], 2, async (item) => {
      begun.push(item);
      atWork += 1;
      most = Math.max(most, atWork);
      await nextTurn();
      atWork -= 1;
    });

    expect(begun).toEqual([1, 2, 3, 4, 5]);
    expect(most).toBe(2);
    expect(atWork).toBe(0);
  });

  it('goes on after a rejection, and throws the first when all have ended', async () => {
    const done: number[] = [];

    const working = forEachConcurrent([1, 2, 3, 4], 2, async (item) => {
      await nextTurn();
      done.push(item);
      if (item > 1) throw new Error(`failure ${item}`);
    });

    await expect(working).rejects.toThrow('failure 2');
    expect(done).toEqual([1, 2, 3, 4]);
  });
});
