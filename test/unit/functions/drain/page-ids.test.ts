import { describe, expect, it } from 'vitest';
import { idsOf } from '../../../../functions/drain/read-page.ts';

describe('what a page names', () => {
  it('is told apart: IDs once each in their order, repeats and what is no ID counted', () => {
    expect(idsOf(['3', '1', 'x', '3', 2, '2', '1', null])).toEqual({
      ids: ['3', '1', '2'],
      repeated: 3,
      malformed: 2,
      malformedShown: ['x', 'null'],
    });
    expect(idsOf([])).toEqual({ ids: [], repeated: 0, malformed: 0, malformedShown: [] });
  });

  it.each<[unknown, string]>([
    ['', ''],
    ['x'.repeat(256), 'x'.repeat(256)],
    ['x'.repeat(257), 'x'.repeat(256)],
    [{ id: 'y'.repeat(300) }, `{"id":"${'y'.repeat(249)}`],
    [undefined, ''],
    [-1, '-1'],
    [1.5, '1.5'],
    [2 ** 53, '9007199254740992'],
    [[1], '[1]'],
  ])('shows %j, which is no ID, in at most 256 characters', (entry, shown) => {
    expect(idsOf([entry, '7'])).toEqual({ ids: ['7'], repeated: 0, malformed: 1, malformedShown: [shown] });
  });

  it('shows nothing of an entry that is nested too deep, and goes on with the rest', () => {
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);

    expect(idsOf([deep, '7'])).toMatchObject({ ids: ['7'], malformedShown: ['(not printable)'] });
  });

  it('shows five of what is no ID, and counts all', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'a'];

    expect(idsOf(names)).toMatchObject({ malformed: 7, repeated: 0, malformedShown: names.slice(0, 5) });
  });
});
