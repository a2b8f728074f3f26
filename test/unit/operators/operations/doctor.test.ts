import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  type Catalogue,
  type Check,
  type Checks,
  examine,
  type Found,
  SkippedError,
} from '../../../../operators/operations/doctor/check.ts';
import doctor from '../../../../operators/operations/doctor/doctor.json' with { type: 'json' };
import { createManualClock } from '../../../helpers/manual-clock.ts';

const catalogue: Catalogue = {
  any: { late: { fault: 'none within {seconds} s', mend: 'wait' }, failed: { fault: '{error}' } },
  check: {
    ok: 'fine',
    n: { warning: 'n{index}', mend: { local: '`{advert-bridge run}`', stack: 'deploy' } },
    c: { fault: 'c', mend: 'y' },
    'needs-x': { skipped: 'see {x}' },
  },
  slow: { broken: { fault: 'broken {what}', mend: 'mend it' } },
  fast: 'check',
};
const mends = { kind: 'local', command: (words: string) => `advert-bridge ${words} --local x` } as const;
const facts = async () => 'facts';
const explain = (): undefined => undefined;
const examined = (check: Check<string>, more: { explain?: (error: unknown) => Found | undefined } = {}) =>
  examine({ ...mends, checks: { check }, catalogue, facts, explain, ...more });

it('results come in the order of the checks, whichever ends first', async () => {
  const slow = Promise.withResolvers<void>();
  const checks: Checks<string> = {
    async slow(what, report) {
      await slow.promise;
      report('broken', { what });
    },
    async fast() {
      slow.resolve();
    },
  };

  expect(await examine({ ...mends, checks, catalogue, facts, explain })).toEqual([
    { name: 'slow', result: 'fault', says: 'broken facts', mends: ['mend it'] },
    { name: 'fast', result: 'ok', says: 'fine', mends: [] },
  ]);
});

it('a check ends at its time limit', async () => {
  const clock = createManualClock(0);
  const never = () => new Promise<never>(() => undefined);

  const checks = { check: never };
  const [result] = await examine({ ...mends, checks, catalogue, facts: never, explain, clock });

  expect(result).toMatchObject({ result: 'fault', says: 'none within 30 s' });
  expect(clock.slept).toEqual([30_000]);
});

it.each([
  ['known', new Error('known'), { result: 'fault', says: 'c', mends: ['y'] }],
  [
    'of another check',
    new SkippedError('needs-x', { facts: { x: 'y' } }),
    { result: 'skipped', says: 'see y', mends: [] },
  ],
  ['unforeseen', new TypeError('odd'), { result: 'fault', says: 'TypeError: odd' }],
  ['no error', 'odd', { result: 'fault', says: 'odd' }],
])('a check has a result when its error is %s', async (_, thrown, expected) => {
  const known = (error: unknown): Found | undefined =>
    error instanceof Error && error.message === 'known' ? ['c'] : undefined;

  expect(await examined(() => Promise.reject(thrown), { explain: known })).toMatchObject([expected]);
});

it('several problems are joined: the worst first, ten at most', async () => {
  const [result] = await examined(async (_facts, report) => {
    for (let index = 0; index < 12; index += 1) report('n', { index });
    report('c');
  });

  expect(result).toMatchObject({
    ...{ result: 'fault', says: expect.stringMatching(/^c; n0; .*n8; and 3 more$/) },
    mends: ['y', '`advert-bridge run --local x`'],
  });
});

it('doctor.json has each code that a check reports, and no other', () => {
  const files = ['bridge', 'folder', 'stack', 'storage', 'bus'].map(
    (name) => `operators/operations/doctor/${name}-checks.ts`,
  );
  const source = [...files, 'operators/cli/commands/doctor.ts', 'operators/operations/doctor/check.ts']
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  const codes = Object.values(doctor as Catalogue).flatMap((entries) =>
    typeof entries === 'string' ? [] : Object.keys(entries),
  );
  const unused = codes.filter((code) => code !== 'ok' && !new RegExp(`['. \\[]${code}\\b`).test(source));
  const reported = [...source.matchAll(/(?:report\(|SkippedError\(|orSkip\([^,]+, )'([^']+)'/g)];
  expect(unused).toEqual([]);
  expect(reported.map(([, code]) => code).filter((code) => !codes.includes(code ?? ''))).toEqual([]);
});
