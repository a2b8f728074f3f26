import { describe, expect, it } from 'vitest';
import { ShapeError } from '../../../shared/contract/checks.ts';
import {
  asBridgeFault,
  BridgeFault,
  type FaultKind,
  faultKinds,
  faultPolicies,
} from '../../../shared/domain/faults.ts';

const kindsWhere = (isMeant: (policy: (typeof faultPolicies)[FaultKind]) => boolean) =>
  faultKinds.filter((kind) => isMeant(faultPolicies[kind]));

describe('what is done about faults', () => {
  it('tries again at once only what may have passed', () => {
    expect(kindsWhere(({ retryable }) => retryable)).toEqual(['transient']);
  });

  it('gives a message up at once only when its own request is wrong, and after some tries for its advert alone', () => {
    expect(kindsWhere(({ deadLettered }) => deadLettered === 'at-once')).toEqual([
      'invalid-request',
      'delivered-too-often',
    ]);
    expect(kindsWhere(({ deadLettered }) => deadLettered === 'by-tries')).toEqual(
      kindsWhere(({ blames, deadLettered }) => blames === 'advert' && deadLettered !== 'at-once'),
    );
    expect(kindsWhere(({ deadLettered }) => deadLettered !== 'by-age')).toEqual(
      kindsWhere(({ blames }) => blames === 'advert'),
    );
  });

  it('lets nobody else suffer from what one advert or one partner account met', () => {
    expect(kindsWhere(({ blames }) => blames === 'advert')).toEqual([
      ...['forbidden', 'token-rejected', 'invalid-request', 'request-refused', 'not-found'],
      ...['contract-broken', 'delivered-too-often'],
    ]);
    expect(kindsWhere(({ blames }) => blames === 'service')).toEqual(['transient', 'rate-limited', 'paused']);
    expect(kindsWhere(({ blames }) => blames === 'bridge')).toEqual([
      ...['wrong-path', 'client-rejected', 'operator-paused', 'malformed-state', 'resource-unusable'],
    ]);
    expect(kindsWhere(({ blames }) => blames === 'partner-account')).toHaveLength(8);
  });

  it('calls for a person where it does not end by itself', () => {
    expect(kindsWhere(({ needsAttention }) => needsAttention)).toEqual([
      ...['scope-insufficient', 'wrong-path', 'grant-rejected', 'client-rejected', 'scope-refused'],
      ...['other-user', 'account-stopped', 'malformed-state', 'resource-unusable'],
    ]);
  });
});

describe('an error as a fault', () => {
  it.each(['ResourceNotFoundException', 'AccessDeniedException', 'AccessDenied', 'QueueDoesNotExist'])(
    'is a resource that cannot be used when AWS answers %s',
    (name) => {
      const error = Object.assign(new Error('table x'), { name });

      expect(asBridgeFault(error)).toMatchObject({
        ...{ code: 'resource-unusable', cause: error, message: expect.stringContaining('table x') },
      });
    },
  );

  it('is itself when it is one, with what the service said', () => {
    const told = { status: 429, serviceCode: 'slow', retryAfterMs: 1, askedToWaitMs: 2, cause: 'x' };
    const fault = new BridgeFault('rate-limited', 'wait', told);

    expect(asBridgeFault(fault)).toBe(fault);
    expect(fault).toMatchObject({ ...told, code: 'rate-limited', message: 'wait', name: 'BridgeFault' });
    expect(fault.policy).toBe(faultPolicies['rate-limited']);
  });

  it('is malformed state when something stored has another shape, and else passing, with its cause', () => {
    const shape = new ShapeError('row x', [{ path: 'name', expected: 'no name' }]);
    expect(asBridgeFault(shape)).toMatchObject({
      code: 'malformed-state',
      message: shape.message,
      cause: shape,
    });
    const bug = new TypeError('holds a secret');
    expect(asBridgeFault(bug)).toMatchObject({
      code: 'transient',
      message: 'unexpected TypeError',
      cause: bug,
    });
    expect(asBridgeFault(undefined)).toMatchObject({ code: 'transient', message: 'unexpected undefined' });
  });
});
