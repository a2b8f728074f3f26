import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

/** A separate process, in which Node and not vitest imports the changed sources. */
const simulateWith = (...args: string[]) =>
  spawnSync(process.execPath, ['--no-warnings', path.join(import.meta.dirname, '../main.ts'), ...args], {
    encoding: 'utf8',
  });

/** Faults that some dozen seeds find, at most two hundred; `npm run simulate -- --planted all` also searches for the others. */
const quick = [
  'cursor-before-sends',
  'key-from-cursor',
  'reset-before-sends',
  'resync-starts-over-from-last-success',
  'date-believed',
  'lost-lease-writes',
  'pending-left-out',
  'pending-unrecorded',
  'repeat-made-anew',
  'only-published-counted',
  'refused-events-ignored',
  'every-bus',
  'order-of-bus',
  'old-refresh-token-kept',
  'told-before-stored',
  'disconnect-forgets-stop',
  'budget-per-process',
  'pause-not-shared',
  'cursor-403-counted',
  'block-of-two-accounts',
  'stopped-wait-in-queue',
  'removed-before-sent',
  'history-ignores-pending',
  'history-without-aside',
  'pause-unseen-by-warm-process',
  'pause-not-asked-for',
  'aged-while-paused',
  'hidden-while-paused',
  'tokens-held-back',
];

describe('the checker', () => {
  let found = '';
  beforeAll(() => {
    const args = ['--planted', quick.join(','), '--seeds', '400', '--jobs', '2'];
    found = simulateWith(...args).stdout;
  }, 400_000);

  it.each(quick)('notices %s', (name) => {
    expect(found).toMatch(new RegExp(`^${name} +\\d+ seeds`, 'm'));
  });
});

describe('npm run simulate', () => {
  it.each([
    [['--seed', 'x'], 'Expected a whole number'],
    [['--seeds', '0'], 'Expected a whole number, 1 to '],
    [['--trace'], "'--trace' needs '--seed'"],
    [['--seed', '1', '--seeds', '2'], 'cannot be used with option'],
    [['--planted', 'nothing'], 'Expected some of '],
    [['--sedes', '2'], "unknown option '--sedes'"],
  ])('says what is wrong with %j', (args, message) => {
    const { stderr, status } = simulateWith(...args);

    expect(stderr).toContain(message);
    expect(status).toBe(2);
  });
});
