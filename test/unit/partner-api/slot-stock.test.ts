import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSlotStock } from '../../../shared/partner-api/slot-stock.ts';

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

describe('the stock of slots', () => {
  it('is the list of its slots, whatever is added, taken and given up', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const stock = createSlotStock(intervalMs);
        let slots: number[] = [];
        let endMs = 0;
        for (const one of steps) {
          if (one.kind === 'add') {
            const firstMs = endMs + one.afterMs;
            stock.add(firstMs, one.granted);
            for (let i = 0; i < one.granted; i += 1) slots.push(firstMs + i * intervalMs);
            if (one.granted > 0) endMs = firstMs + one.granted * intervalMs;
          } else if (one.kind === 'take') {
            stock.take();
            slots.shift();
          } else {
            stock.dropBefore(one.toMs);
            slots = slots.filter((slot) => slot >= one.toMs);
          }
          expect(stock.count()).toBe(slots.length);
          expect(stock.first()).toBe(slots[0]);
          expect(Array.from({ length: slots.length + 2 }, (_, place) => stock.at(place))).toEqual([
            ...slots,
            undefined,
            undefined,
          ]);
        }
      }),
      { numRuns: 300, seed: 14 },
    );
  });

  it('keeps a slot that begins at the very moment', () => {
    const stock = createSlotStock(intervalMs);
    stock.add(1_000, 3);

    stock.dropBefore(1_100);

    expect([stock.count(), stock.first()]).toEqual([2, 1_100]);
  });
});
