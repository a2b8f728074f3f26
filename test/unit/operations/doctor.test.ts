import { describe, expect, it } from 'vitest';
import { examine, fault, judged, SkippedError, warning } from '../../../operations/doctor/check.ts';
import { aClock } from '../../helpers/aws/fixtures.ts';

const explain = () => undefined;

describe('examine', () => {
  it('returns the results in the order of the checks, whichever ends first', async () => {
    const slow = Promise.withResolvers<void>();
    const checks = {
      async slow() {
        await slow.promise;
        return judged('', fault('broken', 'mend it'));
      },
      async fast() {
        slow.resolve();
        return judged('fine', false, undefined);
      },
    };

    expect(await examine(checks, { explain })).toEqual([
      { name: 'slow', result: 'fault', says: 'broken', mend: 'mend it' },
      { name: 'fast', result: 'ok', says: 'fine', mend: null },
    ]);
  });

  it('ends a check at its time limit', async () => {
    const clock = aClock();
    const never = () => new Promise<never>(() => undefined);

    const [result] = await examine({ never }, { explain, clock, limitMs: 5_000 });

    expect(result).toMatchObject({ result: 'fault', says: expect.stringContaining('within 5 s') });
    expect(clock.slept).toEqual([5_000]);
  });

  it.each([
    ['known', new Error('known'), { result: 'warning', says: 'explained', mend: 'mend it' }],
    ['of another check', new SkippedError('see x'), { result: 'skipped', says: 'see x', mend: null }],
    [
      'unforeseen',
      new TypeError('odd'),
      { result: 'fault', says: expect.stringContaining('TypeError: odd') },
    ],
    ['no error', 'odd', { result: 'fault', says: expect.stringContaining('odd') }],
  ])('gives a result when the error of a check is %s', async (_, thrown, expected) => {
    const known = (error: unknown) =>
      error instanceof Error && error.message === 'known' ? warning('explained', 'mend it') : undefined;

    const failing = () => Promise.reject(thrown);

    expect(await examine({ failing }, { explain: known, clock: aClock() })).toMatchObject([expected]);
  });

  it('joins several problems: the worst first, each mend once, ten at most', async () => {
    const more = Array.from({ length: 12 }, (_, index) => warning(`n${index}`, 'x'));
    const many = async () => judged('', ...more, fault('c', 'y'));

    expect(await examine({ many }, { explain })).toEqual([
      {
        name: 'many',
        result: 'fault',
        says: expect.stringMatching(/^c; n0; .*n8; and 3 more$/),
        mend: 'y\nx',
      },
    ]);
  });
});
