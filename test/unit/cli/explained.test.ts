/** Every error that an operator may meet says what to do, in words of the outside. */
import { describe, expect, it } from 'vitest';
import { explained } from '../../../cli/shared/explain.ts';
import { localTarget, stackTarget, type Target } from '../../../cli/shared/target.ts';
import { CommandError, UsageError } from '../../../operations/errors.ts';
import { ShapeError } from '../../../shared/contract/checks.ts';
import { BridgeFault, type FaultKind, faultKinds } from '../../../shared/domain/faults.ts';

const local = localTarget('./state');
const targets: readonly Target[] = [local, stackTarget('AdvertBridge')];
const named = (name: string, message: string, more = {}) =>
  Object.assign(new Error(message), { name, ...more });
const secret = (name: string) =>
  new ShapeError(`secret advert-bridge/${name}`, [{ path: '', expected: 'expected JSON' }]);

/** Faults that only messages in the queue have, and those that a command never meets on its own. */
const notOfCommands: readonly FaultKind[] = [
  'account-busy', // Its message says by itself when to try again.
  ...(['not-found', 'delivered-too-often', 'account-stopped', 'account-paused', 'token-rejected'] as const),
];
const faults = faultKinds
  .filter((kind) => !notOfCommands.includes(kind))
  .map((kind): [string, Error] => [kind, new BridgeFault(kind, 'GET /x answered 418')]);

const ofAws: readonly (readonly [string, Error])[] = [
  ['expired credentials', named('ExpiredToken', 'The security token included in the request is expired')],
  ['denied', named('AccessDeniedException', 'User: me is not authorized to perform: x')],
  ['no credentials', named('CredentialsProviderError', 'none')],
  ['no region', new Error('Region is missing')],
  ['no network', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
  ['a lost table', named('ResourceNotFoundException', 'Requested resource not found', { $metadata: {} })],
];

/** A command or a page to go to, an option or a setting to change, something to ask or to do again. */
const mend = /`[^`]+`|docs\/|--[a-z]|setting|again|Is it up|Set AWS|Check|Sign in|Connect|stored/;
const privateWord = /undefined|null|NaN|\[object|Error\b|etag|fence|ShapeError|at \/|\.ts\b/;

describe.each(targets)('an error on a $kind bridge', (target) => {
  it.each<readonly [string, Error]>([
    ...faults,
    ['a damaged secret of an account', secret('partner-accounts/main')],
    ['a damaged secret of the application', secret('application')],
    ...(target.kind === 'stack' ? ofAws : []),
  ])('is explained, with what mends it: %s', (_kind, error) => {
    const shown = explained(error, target);

    expect(shown instanceof CommandError || shown instanceof UsageError).toBe(true);
    expect(shown.message).toMatch(mend);
    expect(shown.message).not.toMatch(privateWord);
    expect(shown.message).not.toMatch(/\n/);
  });
});

it('a service that answered with a fault of its own is not blamed on the base URL', () => {
  const answered = explained(new BridgeFault('transient', 'GET /x answered 503', { status: 503 }), local);
  const silent = explained(new BridgeFault('transient', 'GET /x: no connection'), local);

  expect(answered.message).toMatch(/answers, but with a fault of its own: .*503\. Try again in a while$/);
  expect(silent.message).toContain('Is it up, and is its base URL right?');
});

it('a user who is another, or cannot be told, is a choice to make: exit code 2', () => {
  const error = new BridgeFault('other-user', 'it cannot be told');

  expect(explained(error, local)).toBeInstanceOf(UsageError);
});

it('an unexpected error stays what it is, to be reported', () => {
  const error = new TypeError('x is not a function');

  expect(explained(error, local)).toBe(error);
});
