import fc from 'fast-check';
import { expect, expectTypeOf, it } from 'vitest';
import {
  type AdvertFilter,
  contradictionsOf,
  type DetailType,
  maxPatternLength,
  patternsOf,
} from '../../infra/constructs/subscription/subscription-pattern.ts';
import { matches } from '../helpers/event-pattern.ts';
import { aFilter, anEvent, isWanted } from '../helpers/subscriptions.ts';

it('patterns match exactly the wanted events, each by one rule', () => {
  fc.assert(
    fc.property(aFilter, anEvent, (filter, event) => {
      fc.pre(contradictionsOf(filter).length === 0);
      const patterns = patternsOf(filter);
      const matching = patterns.filter((pattern) => matches(pattern, event));
      expect(matching).toHaveLength(isWanted(filter, event) ? 1 : 0);
      expect(patterns.some((pattern) => matches(pattern, { ...event, source: 'another' }))).toBe(false);
    }),
    { numRuns: 2000 },
  );
});

it('patterns are rejected when they can never match', () => {
  const statuses = ['sold'];
  const advertIds = ['1'];
  expect(contradictionsOf({ statuses, advertIds, detailTypes: ['PartnerAuthorizationRequired'] })).toEqual([
    [
      'statuses',
      'none of the detail types listed has one: expected AdvertStatusChanged among them, or no statuses',
    ],
    [
      'advertIds',
      'none of the detail types listed has one: expected AdvertStatusChanged or AdvertUnavailable among them, or no advertIds',
    ],
  ]);
  expect(contradictionsOf({ statuses, detailTypes: ['AdvertUnavailable'] })).toHaveLength(1);
  expect(contradictionsOf({ statuses, detailTypes: ['AdvertUnavailable', 'AdvertStatusChanged'] })).toEqual(
    [],
  );
});

it('patterns are rejected beyond 2048 characters', () => {
  const withIds = (count: number) => ({
    advertIds: Array.from({ length: count }, (_, index) => String(1000 + index)),
  });
  const lengthOf = (count: number) => JSON.stringify(patternsOf(withIds(count))[0]).length;
  const most =
    Array.from({ length: 400 }, (_, index) => index + 1).findLast((count) => lengthOf(count) <= 2048) ?? 0;

  expect(most).toBeGreaterThan(200);
  expect(contradictionsOf(withIds(most))).toEqual([]);
  expect(contradictionsOf(withIds(most + 1))).toEqual([
    [
      'advertIds',
      expect.stringContaining(`expected an event pattern of at most ${maxPatternLength} characters`),
    ],
  ]);
});

it('patterns are typed: fields, detail types and IDs', () => {
  type Fields = 'partnerAccounts' | 'statuses' | 'advertIds' | 'detailTypes';
  expectTypeOf<keyof AdvertFilter>().toEqualTypeOf<Fields>();
  expectTypeOf<'AdvertDeleted'>().not.toExtend<DetailType>();
  expectTypeOf<AdvertFilter['advertIds']>().toEqualTypeOf<readonly string[] | undefined>();
});
