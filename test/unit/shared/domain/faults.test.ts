import { expect, it } from 'vitest';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import {
  asBridgeFault,
  BridgeFault,
  type FaultKind,
  faultKinds,
  policyOf,
} from '../../../../shared/domain/faults.ts';

const all = 'more cursor endpoint';
const policies: [FaultKind, deadLettered: string, mayBlame: string, more?: object][] = [
  ['transient', 'by-age', all],
  ['rate-limited', 'by-age', ''],
  ['paused', 'never', ''],
  ['forbidden', 'by-tries', all],
  ['token-rejected', 'by-tries', 'more endpoint'],
  ['scope-insufficient', 'by-age', '', { needsAttention: true, account: 'stopped' }],
  ['invalid-request', 'at-second', all],
  ['request-refused', 'by-tries', all],
  ['not-found', 'by-tries', 'cursor endpoint'],
  ['wrong-path', 'by-age', all, { needsAttention: true }],
  ['contract-broken', 'by-tries', 'more endpoint'],
  ['delivered-too-often', 'at-once', ''],
  ['grant-rejected', 'by-age', '', { needsAttention: true, account: 'stopped' }],
  ['client-rejected', 'by-age', 'endpoint', { needsAttention: true }],
  ['scope-refused', 'by-age', '', { needsAttention: true }],
  ['other-user', 'by-age', '', { needsAttention: true }],
  ['account-stopped', 'by-age', '', { needsAttention: true, account: 'stopped' }],
  ['account-paused', 'never', '', { account: 'paused' }],
  ['operator-paused', 'never', '', { account: 'paused' }],
  ['generation-over', 'by-age', ''],
  ['account-busy', 'by-age', ''],
  ['malformed-state', 'by-age', '', { needsAttention: true }],
  ['malformed-application', 'by-age', '', { needsAttention: true }],
  ['malformed-pair', 'by-age', '', { needsAttention: true }],
  ['resource-unusable', 'by-age', '', { needsAttention: true }],
];

it.each(policies)(
  'a fault of kind %s is given up %s, and may blame %j',
  (kind, deadLettered, blame, more) => {
    const mayBlame = blame.split(' ').filter(Boolean);
    const fault = new BridgeFault(kind, 'why');

    expect(fault.policy).toEqual({ deadLettered, mayBlame, ...more });
    expect(policyOf(kind)).toBe(fault.policy);
    for (const what of ['more', 'cursor', 'endpoint'] as const)
      expect(fault.mayBlame(what)).toBe(mayBlame.includes(what));
  },
);

it('a kind of fault that is not in the table has no policy', () => {
  expect([...faultKinds]).toEqual(policies.map(([kind]) => kind));
  expect(['of-a-newer-bridge', 'toString', undefined].map((kind) => policyOf(kind))).toEqual(
    Array(3).fill(undefined),
  );
});

const ofAws = (name: string) => Object.assign(new Error('table x'), { name });
const unusable = (name: string) => `a resource of the bridge cannot be used: ${name}: table x`;
const missing = [
  ...['ResourceNotFoundException', 'AccessDeniedException', 'AccessDenied', 'KMSAccessDeniedException'],
  'QueueDoesNotExist',
];
const odd = [{ path: 'name', expected: 'no name' }];

it.each<[string, unknown, string]>([
  ...missing.map((name): [string, Error, string] => ['resource-unusable', ofAws(name), unusable(name)]),
  [
    'resource-unusable',
    new Error('not accepted', { cause: ofAws('AccessDenied') }),
    unusable('AccessDenied'),
  ],
  ['transient', ofAws('NotAccessDenied'), 'unexpected NotAccessDenied'],
  ['transient', { name: 'AccessDenied' }, 'unexpected object'],
  ['malformed-state', new ShapeError('row x', odd), 'row x: name: no name'],
  ['malformed-pair', new ShapeError('secret x', odd, 'malformed-pair'), 'secret x: name: no name'],
  ['transient', new TypeError('holds a secret'), 'unexpected TypeError'],
  ['transient', undefined, 'unexpected undefined'],
  ['transient', null, 'unexpected object'],
])('an error becomes a fault of kind %s, with its cause: %s', (code, cause, message) => {
  const fault = asBridgeFault(cause);

  expect(fault).toMatchObject({ name: 'BridgeFault', code, message });
  expect(fault.cause).toBe(cause);
});

it('a fault stays as it is', () => {
  const cause = new Error('reset');
  const details = { status: 429, serviceCode: 'a_b', retryAfterMs: 1, askedToWaitMs: 2 };
  const fault = new BridgeFault('rate-limited', 'wait', { ...details, cause });

  expect(asBridgeFault(fault)).toBe(fault);
  expect(fault).toMatchObject({ ...details, message: 'wait', code: 'rate-limited' });
  expect(fault.cause).toBe(cause);
});
