import { describe, expect, it } from 'vitest';
import { fromItem, numberIn, toAttribute, toItem } from '../../../../shared/aws/dynamodb/values.ts';

const value = {
  text: 'ż',
  empty: '',
  none: null,
  zero: 0,
  part: -1.5,
  yes: true,
  no: false,
  list: [1, 'a', null, [], {}],
  map: { deeper: { still: [false] } },
};

describe('a value as DynamoDB keeps it', () => {
  it('comes back as it was', () => {
    expect(fromItem(toItem(value), 'place')).toEqual(value);
  });

  it('has the types of DynamoDB, and no field that is undefined', () => {
    expect(toItem({ a: 'x', b: 1, c: false, d: null, e: [1], f: { g: undefined }, h: undefined })).toEqual({
      a: { S: 'x' },
      b: { N: '1' },
      c: { BOOL: false },
      d: { NULL: true },
      e: { L: [{ N: '1' }] },
      f: { M: {} },
    });
  });

  it.each([undefined, () => 1, 1n, Symbol('s'), Number.NaN, Number.POSITIVE_INFINITY])(
    'is refused when it is no JSON: %s',
    (odd) => {
      expect(() => toAttribute(odd)).toThrow(new TypeError(`a ${typeof odd} cannot be stored`));
      expect(() => toItem({ list: [odd] })).toThrow(TypeError);
    },
  );

  it.each([{ SS: ['a'] }, { B: new Uint8Array() }])('is refused when somebody else wrote it as %o', (odd) => {
    expect(() => fromItem({ a: { L: [odd] } }, 'history of advert 1')).toThrow(
      expect.objectContaining({
        name: 'ShapeError',
        message: expect.stringContaining('history of advert 1'),
      }),
    );
    expect(() => fromItem({ a: odd }, 'place')).toThrow('no set and no binary');
  });

  it('counts as 0 where it is no number, or there is none', () => {
    expect([numberIn({ a: { N: '7' } }, 'a'), numberIn({}, 'a'), numberIn({ a: { S: '7' } }, 'a')]).toEqual([
      7, 0, 0,
    ]);
    expect(numberIn(undefined, 'a')).toBe(0);
  });
});
