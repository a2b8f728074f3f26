import { describe, expect, it } from 'vitest';
import { knownSuccess } from '../../../shared/domain/clock.ts';

describe('the last success that is stored', () => {
  it.each([
    ['nothing', undefined, undefined],
    ['the past', 999_000, 999_000],
    ['now', 1_000_000, 1_000_000],
    ['a minute ahead, as another machine may see it', 1_060_000, 1_000_000],
    ['more than that', 1_060_001, undefined],
  ])('is believed as far as it can be true: %s', (_case, stored, known) => {
    expect(knownSuccess(stored, 1_000_000)).toBe(known);
  });
});
