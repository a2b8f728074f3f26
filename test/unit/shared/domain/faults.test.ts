import { expect, it } from 'vitest';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import { asBridgeFault, BridgeFault } from '../../../../shared/domain/faults.ts';

const ofAws = (name: string) => Object.assign(new Error('table x'), { name });
const missing = ['ResourceNotFoundException', 'AccessDeniedException', 'AccessDenied', 'QueueDoesNotExist'];

it.each<[string, unknown, string]>([
  ...missing.map((name): [string, Error, string] => ['resource-unusable', ofAws(name), 'table x']),
  ['resource-unusable', new Error('not accepted', { cause: ofAws('AccessDenied') }), 'table x'],
  [
    'malformed-state',
    new ShapeError('row x', [{ path: 'name', expected: 'no name' }]),
    'row x: name: no name',
  ],
  ['transient', new TypeError('holds a secret'), 'unexpected TypeError'],
  ['transient', undefined, 'unexpected undefined'],
])('an error becomes a fault of kind %s, with its cause: %s', (code, cause, message) => {
  expect(asBridgeFault(cause)).toMatchObject({ code, cause, message: expect.stringMatching(`${message}$`) });
});

it('a fault stays as it is', () => {
  const fault = new BridgeFault('rate-limited', 'wait', { status: 429, retryAfterMs: 1, askedToWaitMs: 2 });

  expect(asBridgeFault(fault)).toBe(fault);
  expect(fault).toMatchObject({
    status: 429,
    retryAfterMs: 1,
    askedToWaitMs: 2,
    policy: { deadLettered: 'by-age' },
  });
});
