import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createHeap } from '../../../shared/domain/queue/heap.ts';

describe('a heap', () => {
  it('gives the lowest rank first, whatever was pushed, popped and dropped before', () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ push: fc.integer({ min: 0, max: 40 }) }) },
      { weight: 3, arbitrary: fc.constant('pop' as const) },
      { weight: 1, arbitrary: fc.record({ keepOdd: fc.boolean() }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const heap = createHeap<{ rank: number }>();
        let model: number[] = [];
        for (const one of steps) {
          if (one === 'pop') {
            expect(heap.pop()?.rank).toBe(model.shift());
          } else if ('push' in one) {
            heap.push({ rank: one.push });
            model.push(one.push);
          } else {
            const isKept = (rank: number) => (rank % 2 === 1) === one.keepOdd;
            heap.keep(({ rank }) => isKept(rank));
            model = model.filter(isKept);
          }
          model.sort((a, b) => a - b);
          expect(heap.size()).toBe(model.length);
          expect(heap.peek()?.rank).toBe(model[0]);
        }
        expect(model.map(() => heap.pop()?.rank)).toEqual(model);
        expect(heap.pop()).toBeUndefined();
      }),
      { seed: 1 },
    );
  });
});
