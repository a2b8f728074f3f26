import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReservedSlots } from '../../../../shared/partner-api/rate-limit/reserved-slots.ts';

const intervalMs = 100;

type Step =
  | { readonly kind: 'add'; readonly afterMs: number; readonly granted: number }
  | { readonly kind: 'take' }
  | { readonly kind: 'drop'; readonly toMs: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('add' as const),
    afterMs: fc.integer({ min: 0, max: 350 }),
    granted: fc.integer({ min: 0, max: 4 }),
  }),
  fc.constant({ kind: 'take' } as const),
  fc.record({ kind: fc.constant('drop' as const), toMs: fc.integer({ min: 0, max: 3_000 }) }),
);

describe('the reserved of slots', () => {
  it('is the list of its slots, whatever is added, taken and given up', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const reserved = new ReservedSlots(intervalMs);
        let slots: number[] = [];
        let endMs = 0;
        for (const one of steps) {
          if (one.kind === 'add') {
            const firstMs = endMs + one.afterMs;
            reserved.add(firstMs, one.granted);
            for (let i = 0; i < one.granted; i += 1) slots.push(firstMs + i * intervalMs);
            if (one.granted > 0) endMs = firstMs + one.granted * intervalMs;
          } else if (one.kind === 'take') {
            reserved.take();
            slots.shift();
          } else {
            reserved.dropBefore(one.toMs);
            slots = slots.filter((slot) => slot >= one.toMs);
          }
          expect(reserved.count).toBe(slots.length);
          expect(reserved.first).toBe(slots[0]);
          expect(Array.from({ length: slots.length + 2 }, (_, place) => reserved.at(place))).toEqual([
            ...slots,
            undefined,
            undefined,
          ]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('keeps a slot that begins at the very moment', () => {
    const reserved = new ReservedSlots(intervalMs);
    reserved.add(1_000, 3);

    reserved.dropBefore(1_100);

    expect([reserved.count, reserved.first]).toEqual([2, 1_100]);
  });
});
