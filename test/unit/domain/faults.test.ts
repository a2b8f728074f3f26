import { describe, expect, it } from 'vitest';
import { ShapeError } from '../../../shared/contract/checks.ts';
import { asBridgeFault, BridgeFault, faultPolicies } from '../../../shared/domain/faults.ts';

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
