import { expect, it } from 'vitest';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import type { Hold } from '../../../../shared/domain/holds.ts';
import {
  endpointFailed,
  helpedRenewal,
  isTokenHold,
  nextRenewal,
  type Renewal,
  renewableNow,
  waitingForToken,
  waitingRenewal,
} from '../../../../shared/domain/renewal.ts';

const at = 1_000_000_000;
const good = (forMs: number, since = 1): Renewal => ({ at: since, forMs });
const bad = (forMs: number, fault = 'transient'): Renewal => ({ at: 1, forMs, fault, reason: 'odd' });
const faultOf = (text: string | undefined): BridgeFault | undefined => {
  const [kind, waitMs] = (text ?? '').split(' ');
  return kind
    ? new BridgeFault(kind as FaultKind, 'why', waitMs ? { retryAfterMs: +waitMs } : {})
    : undefined;
};

it.each<[before: Renewal | undefined, failure: string | undefined, forMs: number]>([
  [undefined, undefined, 5_000],
  [undefined, 'transient', 5_000],
  // Doubled after one that ended alike, from five seconds to an hour, or to ten minutes where the endpoint fails.
  [good(2_499), undefined, 5_000],
  [good(5_000), undefined, 10_000],
  [good(1_700_000), undefined, 3_400_000],
  [good(1_900_000), undefined, 3_600_000],
  [bad(5_000), 'transient', 10_000],
  [bad(290_000), 'transient', 580_000],
  [bad(310_000), 'transient', 600_000],
  [bad(310_000), 'client-rejected', 600_000],
  [bad(1_900_000, 'grant-rejected'), 'request-refused', 600_000],
  [bad(310_000), 'contract-broken', 600_000],
  [bad(3_600_000, 'client-rejected'), 'transient', 600_000],
  // One that ended otherwise begins anew.
  [bad(40_000), undefined, 5_000],
  [good(40_000), 'transient', 5_000],
  // The service may ask for a longer wait, never for a shorter one.
  [undefined, 'transient 4999', 5_000],
  [bad(5_000), 'transient 86400000', 86_400_000],
])('a renewal after %j that ends with %s keeps the next one waiting %i ms', (before, failure, forMs) => {
  const fault = failure && { fault: failure.split(' ')[0], reason: 'why' };

  expect(nextRenewal(before, at, faultOf(failure))).toStrictEqual({ at, forMs, ...(fault || {}) });
});

it.each([
  [310_000, 620_000],
  [1_900_000, 3_600_000],
])('useless tokens after %i ms keep the next renewal waiting %i ms', (before, forMs) => {
  const failure = faultOf('contract-broken');
  expect(nextRenewal(bad(before), at, failure, true)).toMatchObject({ forMs, fault: 'contract-broken' });
});

it.each([undefined, 'transient'])('a renewal that is stored twice is counted once: %s', (failure) => {
  const stored = good(40_000, at);

  expect(nextRenewal(stored, at, faultOf(failure))).toBe(stored);
});

it.each<[Renewal | undefined, now: number, isWaiting: boolean]>([
  [undefined, at, false],
  [good(5_000, at), at + 4_999, true],
  [good(5_000, at), at + 5_000, false],
  [bad(5_000), 1, true],
  // A clock was set back, further than clocks differ.
  [good(5_000, at), at - 60_000, true],
  [good(5_000, at), at - 60_001, false],
])('the next renewal waits for its time only: %j, %i: %s', (renewal, now, isWaiting) => {
  expect(waitingRenewal(renewal ? { renewal } : {}, now)).toBe(isWaiting ? renewal : undefined);
});

it.each<[Renewal | undefined, number | undefined]>([
  [undefined, undefined],
  [bad(40_000), undefined],
  [good(5_000), undefined],
  [good(5_001), 5_000],
])('a good answer makes the wait after %j the first one: %s', (renewal, forMs) => {
  const row = { failing: ['main 1'], ...(renewal && { renewal }) };
  const after = forMs && { ...row, renewal: { ...renewal, forMs } };

  expect(helpedRenewal(row)).toStrictEqual(after);
});

const operator: Hold = { kind: 'operator', since: 1 };
const refused: Hold = { kind: 'token', since: 2, until: 9, fault: 'transient' };
const waiting: Hold = { kind: 'token', since: 3, until: 9, reason: 'grant-rejected' };

it.each<[Hold, boolean]>([
  [waiting, true],
  [refused, false],
  [operator, false],
])('only a hold without a fault of the service waits for a token: %j', (hold, isWaiting) => {
  expect(isTokenHold(hold)).toBe(isWaiting);
});

it.each<[fault: string | undefined, reason: string]>([
  [undefined, 'token-answer-broken'],
  ['contract-broken', 'token-answer-broken'],
  ['client-rejected', 'client-rejected'],
  ['wrong-path', 'wrong-path'],
  ['transient', 'token-not-renewed'],
  ['token-rejected', 'token-not-renewed'],
  ['of-a-newer-bridge', 'token-not-renewed'],
])('an account waits for its token after %s because of %s', (fault, reason) => {
  const last = { at, forMs: 7_000, ...(fault && { fault }) };
  const hold = { kind: 'token', until: at + 7_000, forMs: 7_000, reason };
  const after = (...holds: Hold[]) => waitingForToken({ name: 'main', holds }, last);

  expect(after(operator)).toStrictEqual({ name: 'main', holds: [operator, { ...hold, since: at }] });
  expect(after(waiting, operator).holds).toStrictEqual([operator, { ...hold, since: 3 }]);
  expect(after(refused).holds).toStrictEqual([{ ...hold, since: at }]);
  expect(waitingForToken({}, last)).toStrictEqual({ holds: [{ ...hold, since: at }] });
});

it('a renewal that is due at once has no wait and no hold of its token', () => {
  const row = { name: 'main', renewal: bad(5_000), holds: [waiting, operator] };

  expect(renewableNow(row)).toStrictEqual({ name: 'main', holds: [operator] });
  expect(renewableNow({ name: 'main', holds: [refused] })).toStrictEqual({ name: 'main', holds: [refused] });
});

it.each<[Renewal | undefined, number]>([
  [undefined, 0],
  [bad(0), 5_000],
  [bad(5_000), 10_000],
  [bad(290_000), 580_000],
  [bad(310_000), 600_000],
])('an endpoint that fails again after %j keeps all waiting %i ms', (renewal, forMs) => {
  const bridge = { nextSlotMs: 1, ...(renewal && { renewal }) };
  const failure = new BridgeFault('forbidden', 'why');

  expect(endpointFailed(bridge, at, failure)).toStrictEqual({
    nextSlotMs: 1,
    renewal: { at, forMs, fault: 'forbidden', reason: 'why' },
  });
});
