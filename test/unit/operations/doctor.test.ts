import { describe, expect, it } from 'vitest';
import {
  type Check,
  examine,
  fault,
  ok,
  SkippedError,
  together,
  warning,
} from '../../../operations/doctor.ts';
import { aClock } from '../../helpers/aws/fixtures.ts';

const explain = () => undefined;
const check = (name: string, look: Check['look']): Check => ({ name, look });

describe('examine', () => {
  it('gives the results in the order of the checks, whichever ends first', async () => {
    const slow = Promise.withResolvers<void>();
    const checks = [
      check('slow', async () => {
        await slow.promise;
        return fault('broken', 'mend it');
      }),
      check('fast', async () => {
        slow.resolve();
        return ok('fine');
      }),
    ];

    expect(await examine(checks, { explain })).toEqual([
      { name: 'slow', result: 'fault', says: 'broken', mend: 'mend it' },
      { name: 'fast', result: 'ok', says: 'fine', mend: null },
    ]);
  });

  it('waits for no check longer than its limit', async () => {
    const clock = aClock();
    const never = check('never', () => new Promise(() => undefined));

    const [result] = await examine([never], { explain, clock, limitMs: 5_000 });

    expect(result).toMatchObject({ result: 'fault', says: 'could not be looked at: no answer within 5 s' });
    expect(clock.slept).toEqual([5_000]);
  });

  it.each([
    ['what it knows', new Error('known'), { result: 'warning', says: 'explained', mend: 'mend it' }],
    [
      'that something else comes first',
      new SkippedError('see x'),
      { result: 'skipped', says: 'see x', mend: null },
    ],
    [
      'what nobody foresaw',
      new TypeError('odd'),
      { result: 'fault', says: 'could not be looked at: TypeError: odd' },
    ],
    ['what is no error', 'odd', { result: 'fault', says: 'could not be looked at: odd' }],
  ])('says of a check that throws %s', async (_, thrown, expected) => {
    const failing = check('failing', () => Promise.reject(thrown));
    const known = (error: unknown) =>
      error instanceof Error && error.message === 'known' ? warning('explained', 'mend it') : undefined;

    expect(await examine([failing], { explain: known, clock: aClock() })).toMatchObject([expected]);
  });
});

describe('together', () => {
  it('is fine where nothing is found', () => {
    expect(together('all fine', [ok('a'), ok('b')])).toEqual(ok('all fine'));
  });

  it('is as bad as the worst, which is told first, and says each mend once', () => {
    expect(together('', [warning('a', 'x'), ok('b'), fault('c', 'y'), warning('d', 'x')])).toEqual(
      fault('c; a; d', 'y\nx'),
    );
  });

  it('counts what it does not tell', () => {
    const many = Array.from({ length: 12 }, (_, index) => warning(`n${index}`, `m${index}`));

    const { says } = together('', many);

    expect(says).toMatch(/^n0; .*n9; and 2 more$/);
  });
});
