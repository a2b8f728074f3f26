import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { upperBound } from '../../../shared/domain/clopper-pearson.ts';

describe('the bound of Clopper and Pearson', () => {
  // By the quantile function of the beta distribution in @stdlib/stats-base-dists-beta-quantile 0.2.3.
  it.each([
    [0, 299, 0.009969146792899269],
    [0, 2_995, 0.000999744420901142],
    [1, 299, 0.015766783127611372],
    [3, 299, 0.02572646740689544],
    [10, 1_000, 0.016903175120562504],
    [5, 20, 0.45558240400174876],
    [100, 41_210, 0.0028646775077562506],
    [299, 300, 0.9998290369678865],
  ])('is for %i wrong of %i what a statistics library says', (wrong, checked, bound) => {
    expect(upperBound(wrong, checked)).toBeCloseTo(bound, 10);
  });

  it('is the root of 0.05 where nothing was found wrong', () => {
    expect(upperBound(0, 298)).toBeGreaterThan(0.01);
    expect(upperBound(0, 299)).toBeLessThan(0.01);
    expect(upperBound(0, 1)).toBeCloseTo(0.95, 12);
  });

  it('says nothing where nothing was checked, or all was found wrong', () => {
    expect(upperBound(0, 0)).toBe(1);
    expect(upperBound(7, 7)).toBe(1);
  });

  it('lies above what was found, rises with it, and falls with more checks', () => {
    fc.assert(
      fc.property(fc.nat(200), fc.integer({ min: 202, max: 5_000 }), (wrong, checked) => {
        const bound = upperBound(wrong, checked);
        expect(bound).toBeGreaterThan(wrong / checked);
        expect(bound).toBeLessThan(upperBound(wrong + 1, checked));
        expect(bound).toBeGreaterThan(upperBound(wrong, checked + 1_000));
        expect(bound).toBeLessThan(upperBound(wrong, checked, 0.99));
      }),
    );
  });
});
