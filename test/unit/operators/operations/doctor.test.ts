import { expect, it } from 'vitest';
import {
  type Checks,
  examine,
  fault,
  SkippedError,
  warning,
} from '../../../../operators/operations/doctor/check.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';

type Explain = Parameters<typeof examine>[2];
const examined = (check: Checks<string>[string], explain: Explain = () => undefined) =>
  examine({ check }, async () => 'facts', explain);

it('results come in the order of the checks, whichever ends first', async () => {
  const slow = Promise.withResolvers<void>();
  const checks: Checks<string> = {
    async slow(facts, report) {
      await slow.promise;
      report(fault(`broken ${facts}`, 'mend it'));
      return '';
    },
    async fast() {
      slow.resolve();
      return 'fine';
    },
  };

  expect(
    await examine(
      checks,
      async () => 'facts',
      () => undefined,
    ),
  ).toEqual([
    { name: 'slow', result: 'fault', says: 'broken facts', mend: 'mend it' },
    { name: 'fast', result: 'ok', says: 'fine', mend: null },
  ]);
});

it('a check ends at its time limit', async () => {
  const clock = createManualClock(0);
  const never = () => new Promise<never>(() => undefined);

  const [result] = await examine({ never }, never, () => undefined, clock);

  expect(result).toMatchObject({ result: 'fault', says: expect.stringContaining('within 30 s') });
  expect(clock.slept).toEqual([30_000]);
});

it.each([
  ['known', new Error('known'), { result: 'warning', says: 'explained', mend: 'mend it' }],
  ['of another check', new SkippedError('see x'), { result: 'skipped', says: 'see x', mend: null }],
  ['unforeseen', new TypeError('odd'), { result: 'fault', says: expect.stringContaining('TypeError: odd') }],
  ['no error', 'odd', { result: 'fault', says: expect.stringContaining('odd') }],
])('a check has a result when its error is %s', async (_, thrown, expected) => {
  const explain = (error: unknown) =>
    error instanceof Error && error.message === 'known' ? warning('explained', 'mend it') : undefined;

  expect(await examined(() => Promise.reject(thrown), explain)).toMatchObject([expected]);
});

it('several problems are joined: the worst first, ten at most', async () => {
  const [result] = await examined(async (_facts, report) => {
    for (let index = 0; index < 12; index += 1) report(warning(`n${index}`, 'x'));
    report(fault('c', 'y'));
    return '';
  });

  expect(result).toMatchObject({
    ...{ result: 'fault', says: expect.stringMatching(/^c; n0; .*n8; and 3 more$/), mend: 'y\nx' },
  });
});
