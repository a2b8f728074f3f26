import { expect, it } from 'vitest';
import {
  beginOfHold,
  blamingHold,
  endOfHold,
  type Hold,
  type HoldKind,
  heldBy,
  heldFault,
  holdFor,
  holdMeanings,
  holdOf,
  isOfAdvert,
  newHold,
  withHold,
  withoutHolds,
  withTrial,
} from '../../../../shared/domain/holds.ts';

const now = 1_000_000_000;
/** Ends `endsInMs` from now. */
const held = (kind: HoldKind, endsInMs?: number, more: Partial<Hold> = {}): Hold => ({
  ...{ kind, since: 1, ...more },
  ...(endsInMs !== undefined && { until: now + endsInMs }),
});

it.each<[string, Hold, isInForce: boolean]>([
  ['without an end', held('token'), true],
  ['before its end', held('token', 1), true],
  ['at its end', held('token', 0), false],
  ['without a length', held('token', 1e12), true],
  ['that ends in its length and a minute', held('token', 69_000, { forMs: 9_000 }), true],
  ['that ends later than that', held('token', 69_001, { forMs: 9_000 }), false],
])('a hold %s is in force, or not', (_case, hold, isInForce) => {
  const holder = { holds: [held('operator'), hold] };

  expect(heldBy(holder, 'token', now)).toBe(isInForce ? hold : undefined);
  expect(holdOf(undefined, { holds: [hold] }, now)).toBe(isInForce ? hold : undefined);
  expect(holdOf({ holds: [hold] }, undefined, now)).toBe(isInForce ? hold : undefined);
  expect([heldBy(holder, 'service', now), heldBy({}, 'token', now), heldBy(undefined, 'token', now)]).toEqual(
    [undefined, undefined, undefined],
  );
});

it.each<[Hold | undefined, number, number?]>([
  [undefined, 0],
  [held('operator'), Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  [held('token', 5), now + 5, now + 5],
  [held('token', 5, { forMs: 7 }), now + 5, now - 2],
])('a hold ends and begins when it says: %j', (hold, end, begin) => {
  expect([endOfHold(hold), hold && beginOfHold(hold)]).toEqual([end, begin]);
});

const weights: readonly Hold[] = [
  held('authorization', 1),
  held('operator', 1),
  ...[held('token'), held('circuit', 3), held('service', 2)],
];
it.each(weights.slice(1).map((lighter, at) => [weights[at] as Hold, lighter] as const))(
  'stops count first, then operators’ holds, then the last to end: %j, %j',
  (heavier, lighter) => {
    for (const [bridge, account] of [
      [[heavier], [lighter]],
      [[lighter], [heavier]],
      [[], [heavier, lighter]],
      [[lighter, heavier], undefined],
    ])
      expect(holdOf({ holds: bridge ?? [] }, account && { holds: account }, now)).toBe(heavier);
  },
);

it('of two holds that end together, that of the account counts', () => {
  for (const [kind, endsInMs] of [['operator'], ['service', 9]] as const) {
    const [own, other] = [held(kind, endsInMs), held(kind, endsInMs)];
    expect(holdOf({ holds: [other] }, { holds: [own] }, now)).toBe(own);
  }
});

it.each([
  ['main /api/partner/adverts/17', true],
  ['shop2 /api/partner/adverts', false],
  ['token', false],
])('only a resource that ends with an ID is an advert: %s', (resource, isAdvert) => {
  expect(isOfAdvert(resource)).toBe(isAdvert);
});

const ended = (kind: HoldKind, tried?: Hold['tried'], fault = 'transient') =>
  held(kind, 0, { fault, ...(tried && { tried }) });
const until = (inMs: number, by?: string) => ({ until: now + inMs, ...(by !== undefined && { by }) });
const [advert, ill, feed, token] = [
  { resource: 'main 1' },
  { resource: 'main 1', isIll: true },
  { resource: 'main feed' },
  { resource: 'token', isForTokens: true },
];

it.each<[string, Hold, typeof ill | typeof token | typeof advert, number | undefined]>([
  ['an advert waits for a hold', held('service', 5), advert, 5],
  ['a feed waits for a hold', held('service', 5), feed, 5],
  ['an advert waits for a stop', held('authorization'), advert, Number.POSITIVE_INFINITY],
  ['a token request waits for the service', held('service', 5), token, 5],
  ['a token request waits for the circuit', held('circuit', 5), token, 5],
  ['a token request waits for no operator', held('operator'), token, undefined],
  ['a token request waits for no stop', held('authorization'), token, undefined],
  ['a token request waits for no trial', ended('circuit', until(5, 'main 2')), token, undefined],
  ['an advert waits for a trial', ended('service', until(5, 'main 2')), advert, 5],
  ['an advert waits for a trial of nobody', ended('service', until(5)), advert, 5],
  ['an advert waits for no trial of its own', ended('service', until(5, 'main 1')), advert, undefined],
  ['an advert waits for no trial that is over', ended('service', until(0, 'main 2')), advert, undefined],
  ['an advert tries what nobody tries', ended('service'), advert, undefined],
  ['an ill advert tries what nobody has tried', ended('service'), ill, undefined],
  ['an ill advert waits for others', ended('service', until(-29_999, 'main 2')), ill, 1],
  ['an ill advert waits for others at most 30 s', ended('service', until(-30_000)), ill, undefined],
  ['an advert believes a trial', ended('service', until(120_000, 'main 2')), advert, 120_000],
  ['an advert believes no trial ahead', ended('service', until(120_001, 'main 2')), advert, undefined],
  ['a feed waits for no advert', ended('service', until(5, 'main 2')), feed, undefined],
  ['a feed waits for a trial of the circuit', ended('circuit', until(5, 'main 2')), feed, 5],
  ['nobody tries after 429', ended('service', until(5, 'main 2'), 'rate-limited'), advert, undefined],
  ['nobody tries after another hold', held('token', 0, { tried: until(5) }), advert, undefined],
])('%s', (_title, hold, asking, endsInMs) => {
  const end = endsInMs === undefined ? 0 : now + endsInMs;
  const found = holdFor({ holds: [held('token', -5), hold] }, asking, now);

  expect(endOfHold(found)).toBe(end);
  expect(found ?? hold).toEqual({ ...hold, ...(found && Number.isFinite(end) && { until: end }) });
});

it('the last hold in force to end counts, not the trial of another', () => {
  const service = held('service', 2, { fault: 'rate-limited' });
  const holds = [held('token', 1), ended('circuit', until(5, 'main 2')), service];

  expect(holdFor({ holds }, advert, now)).toBe(service);
  // For a token request, also while an operator's hold is none.
  expect(holdFor({ holds: [held('operator'), ...holds] }, token, now)).toBe(service);
});

it.each<[string, readonly Hold[], typeof advert, readonly Hold[] | undefined]>([
  ['claims it', [ended('circuit')], advert, [ended('circuit', until(30_000, 'main 1'))]],
  [
    'claims it after another’s',
    [ended('service', until(0, 'main 2')), held('operator', 0)],
    advert,
    [held('operator', 0), ended('service', until(30_000, 'main 1'))],
  ],
  ['has claimed it', [ended('service', until(5, 'main 1'))], advert, undefined],
  ['is of a feed', [ended('service')], feed, undefined],
  ['is early', [held('service', 1, { fault: 'transient' })], advert, undefined],
  ['comes after a pause', [ended('service', undefined, 'rate-limited')], advert, undefined],
  ['comes after no hold', [], advert, undefined],
])('a request that tries the service %s', (_case, holds, asking, after) => {
  const holder = { name: 'main', holds };

  expect(withTrial(holder, asking, now)).toStrictEqual(after ? { name: 'main', holds: after } : holder);
  if (!after) expect(withTrial(holder, asking, now)).toBe(holder);
});

it('a hold replaces the one of its kind, and is removed alone', () => {
  const [operator, service, other] = [held('operator'), held('service', 1), held('service', 2)];
  const row = { name: 'main', holds: [service, operator] };

  expect(withHold(row, other)).toStrictEqual({ name: 'main', holds: [operator, other] });
  expect(withHold({}, other)).toStrictEqual({ holds: [other] });
  expect(withoutHolds(row, ({ kind }) => kind === 'service')).toStrictEqual({
    name: 'main',
    holds: [operator],
  });
  expect(withoutHolds(row, () => true)).toStrictEqual({ name: 'main' });
  expect(withoutHolds(row, () => false)).toBe(row);
});

it('a hold is of the service’s answers when it names their fault', () => {
  const blaming = held('service', 0, { fault: 'transient' });

  expect(blamingHold({ holds: [held('operator'), blaming] })).toBe(blaming);
  expect([blamingHold({ holds: [held('token')] }), blamingHold({})]).toEqual([undefined, undefined]);
});

it.each<[string, before: Hold[], after: Hold[], found: number | undefined]>([
  ['of another kind', [held('circuit', 1, { fault: 'f' })], [held('service', 1, { fault: 'f' })], 0],
  ['with another end', [held('service', 1)], [held('service', 2, { fault: 'f' })], 0],
  ['beside a known one', [ended('circuit')], [ended('circuit'), held('service', 2, { fault: 'f' })], 1],
  ['that is known', [held('service', 1)], [held('service', 1, { fault: 'f' })], undefined],
  ['behind one of somebody else', [held('operator')], [held('operator'), held('service', 1)], 1],
])('a hold %s is new or not', (_case, before, after, found) => {
  expect(newHold({ holds: before }, { holds: after })).toBe(found === undefined ? undefined : after[found]);
  expect([newHold({}, {}), newHold({ holds: before }, {})]).toEqual([undefined, undefined]);
});

it.each<[HoldKind, isForPerson: boolean, ofAccount: string, ofBridge: string]>([
  ['authorization', true, 'account-stopped', 'account-stopped'],
  ['operator', true, 'operator-paused', 'operator-paused'],
  ['service', false, 'account-paused', 'paused'],
  ['circuit', false, 'account-paused', 'paused'],
  ['token', false, 'account-paused', 'paused'],
])('a request that is not sent for a hold of kind %s has its fault', (kind, isForPerson, own, whole) => {
  const verb = kind === 'authorization' ? 'is stopped' : 'is paused';
  const full = held(kind, 7_000, { who: 'ann', reason: 'tired' });

  expect(holdMeanings[kind].isForPerson).toBe(isForPerson);
  expect(heldFault(full, 'main', now)).toMatchObject({
    code: own,
    message: `partner account main ${verb} by ann (tired)`,
    retryAfterMs: 7_000,
  });
  const ofBridge = heldFault(held(kind), undefined, now);
  expect(ofBridge).toMatchObject({ code: whole, message: `the whole bridge ${verb}` });
  expect(ofBridge.retryAfterMs).toBeUndefined();
  expect(heldFault(held(kind, -5), 'main', now).retryAfterMs).toBe(1);
});
