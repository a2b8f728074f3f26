import { expect, it } from 'vitest';
import { accountAfter, bridgeAfter } from '../../../../shared/domain/blame.ts';
import { BridgeFault, type FaultKind, faultKinds } from '../../../../shared/domain/faults.ts';
import { type Hold, type Holder, holdFor, withTrial } from '../../../../shared/domain/holds.ts';

const startMs = 1_000_000;
const circuitMs = 1_800_000;

/** How long others wait for the answer of the one that has the turn. */
const turnMs = 30_000;

/**
 * Both rows, changed by answers such as `main 1 forbidden` and `main feed`, ten milliseconds apart. With `turn`, the advert
 * has claimed the trial.
 */
function setUp(bridge: Holder = { connected: 2 }) {
  let [row, account, now]: [Holder, Holder, number] = [bridge, {}, startMs];
  const answer = (text: string) => {
    const sentAt = now;
    const [name, object, kind, mark] = text.split(' ');
    const resource = `${name} ${object}`;
    if (mark === 'turn') claim(resource);
    now += 10;
    const fault = kind ? new BridgeFault(kind as FaultKind, kind) : undefined;
    const evidence = { account: name, resource, fault, sentAt };
    row = bridgeAfter(row, evidence, circuitMs, now);
    if (name === 'main') account = accountAfter(account, evidence, now);
  };
  const claim = (resource: string) => {
    [row, account] = [withTrial(row, { resource }, now), withTrial(account, { resource }, now)];
  };
  return {
    answer,
    answers: (...texts: string[]) => {
      for (const text of texts) answer(text);
    },
    /** For how long a request has to wait, ms. */
    waits: (resource: string, isIll = false) => {
      const own = resource.startsWith('main ') ? account : {};
      const hold = holdFor(own, { resource, isIll }, now) ?? holdFor(row, { resource }, now);
      return hold?.until === undefined ? 0 : hold.until - now;
    },
    claim,
    pass: (ms: number) => (now += ms),
    get now() {
      return now;
    },
    get bridge() {
      return row;
    },
  };
}

const closed = [undefined, circuitMs] as const;
it.each<[string, number, string[], number | undefined]>([
  ['rests when two accounts answer 403', 2, ['main 1 forbidden', 'shop 1 forbidden'], closed[1]],
  ['rests when two feeds answer 403', 2, ['main feed forbidden', 'shop feed forbidden'], closed[1]],
  [
    "goes on after 403 for a feed and its account's advert",
    2,
    ['main feed forbidden', 'main 1 forbidden'],
    closed[0],
  ],
  [
    'rests after that when the account is the only one',
    1,
    ['main feed forbidden', 'main 1 forbidden'],
    closed[1],
  ],
  [
    'goes on after 403 for adverts of one account',
    1,
    ['main 1 forbidden', 'main 2 forbidden', 'main 3 forbidden'],
    closed[0],
  ],
  [
    'goes on when a good answer came between',
    2,
    ['main 1 forbidden', 'beta 7', 'shop 1 forbidden'],
    closed[0],
  ],
  [
    'goes on when an advert was unknown between',
    2,
    ['main 1 forbidden', 'beta 7 not-found', 'shop 1 forbidden'],
    closed[0],
  ],
  [
    'rests though other faults came between',
    2,
    ['main 1 forbidden', 'beta 7 transient', 'shop 1 forbidden'],
    closed[1],
  ],
  [
    'goes on after any other faults',
    2,
    ['main 1 transient', 'shop 1 transient', 'beta 1 token-rejected'],
    closed[0],
  ],
  ['pauses at once after 429', 2, ['main 1 rate-limited'], 1_000],
])('the bridge %s', (_title, connected, answers, forMs) => {
  const world = setUp({ connected });
  world.answers(...answers);

  expect(world.bridge.holds?.map((hold) => hold.forMs)).toEqual(forMs && [forMs]);
  expect(world.waits('beta 9')).toBe(forMs ?? 0);
});

const blocked = () => {
  const world = setUp();
  world.answers('main 1 forbidden', 'shop 1 forbidden');
  world.pass(circuitMs);
  return world;
};

it('a blocked address lets one request try and rests after another 403', () => {
  const world = blocked();
  world.answer('main 5 forbidden turn');

  expect(world.bridge.holds).toMatchObject([{ since: startMs + 20, forMs: circuitMs }]);
  expect(world.waits('main 5')).toBe(circuitMs);
});

it('a blocked address is tried again after 30 s when a trial fails oddly', () => {
  const world = blocked();
  world.answer('main 5 transient turn');

  expect(world.waits('main 6')).toBe(29_990);
  world.pass(29_990);
  expect(world.waits('main 6')).toBe(0);
});

it.each(['', ' not-found'])('a blocked address is free after a good answer%s', (kind) => {
  const world = blocked();
  world.answer(`main 5${kind}`);

  expect(world.bridge.holds).toBeUndefined();
});

it('a wait doubles while answers are 429, and begins anew after a good one', () => {
  const world = setUp();
  const next = () => {
    world.answer('main 1 rate-limited');
    const ms = world.waits('shop 1');
    world.pass(ms + 1);
    return ms;
  };

  expect(Array.from({ length: 8 }, next)).toEqual(
    [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => 1_000 * seconds),
  );
  expect(world.bridge.holds).toMatchObject([{ since: startMs + 10 }]);
  world.answer('shop 1');
  expect(next()).toBe(1_000);
});

const kinds = [
  ...(['transient', 'forbidden', 'token-rejected', 'invalid-request'] as const),
  ...(['request-refused', 'wrong-path', 'contract-broken'] as const),
];
it.each(kinds)('adverts of an account go one at a time after three have failed: %s', (kind) => {
  const world = setUp();
  world.answers(`main 1 ${kind}`, `main 2 ${kind}`);
  world.claim('main 7');
  expect(world.waits('main 8')).toBe(0);
  world.answers(`main 3 ${kind}`);
  world.pass(10);
  world.claim('main 8');

  expect([world.waits('main 8'), world.waits('main 9')]).toEqual([0, turnMs]);
  expect(world.waits('main feed')).toBe(0);
});

it('adverts go one at a time although the feed is read well between', () => {
  const world = setUp();
  world.answers('main 1 transient', 'main 2 transient', 'main feed', 'main 3 transient');
  world.pass(10);
  world.claim('main 8');

  expect(world.waits('main 9')).toBe(turnMs);
});

const single = () => {
  const world = setUp();
  world.answers('main 1 transient', 'main 2 transient', 'main 3 transient');
  world.pass(10);
  return world;
};

it('adverts in single file come before those that have failed', () => {
  const world = single();

  expect([world.waits('main 9'), world.waits('main 1', true)]).toEqual([0, turnMs - 10]);
  world.pass(turnMs - 10);
  expect(world.waits('main 1', true)).toBe(0);
});

const hoursMs = 26 * 3_600_000;

it('a wait of before a clock was put right ends with a good answer', () => {
  const { answers, pass, waits } = setUp();
  answers('main 1 transient', 'main 2 transient', 'main 3 transient', 'main 8 forbidden', 'shop 1 forbidden');
  pass(-hoursMs);
  answers('main 4 transient turn', 'main 5  turn');

  expect(['main 6', 'main 7', 'shop 2'].map((resource) => waits(resource))).toEqual([0, 0, 0]);
});

const now = 1_000_000_000;
/** A hold of the service's answers that began and ends so many milliseconds from now. */
const answered = (kind: 'service' | 'circuit', fault: FaultKind, [beginInMs = 0, endInMs = 0]: number[]) => ({
  ...{ kind, fault, since: 1, until: now + endInMs, forMs: endInMs - beginInMs },
});

it.each<[FaultKind, begins: number, ends: number, sentAt: number, isOver: boolean]>([
  ['transient', -5, 5, -5, true],
  ['transient', -5, 5, -6, false],
  ['forbidden', 9, 9, 8, false],
  // The service said for how long.
  ['rate-limited', -9, -2, -2, true],
  ['rate-limited', -9, -2, -3, false],
  // A clock that is ahead by more than clocks differ has written it.
  ['transient', 60_000, 60_000, 0, false],
  ['transient', 60_001, 60_001, 0, true],
  ['rate-limited', 60_000, 70_000, 0, false],
  ['rate-limited', 60_001, 70_000, 0, true],
])('a good answer ends a hold for %s that began before it: %i–%i, %i: %s', (code, ...times) => {
  const [begins, ends, sentInMs, isOver] = times;
  const sentAt = now + sentInMs;
  const [hold, token] = [
    answered('circuit', code, [begins, ends]),
    { kind: 'token', since: 1, until: 2 } as const,
  ];
  const good = { account: 'main', resource: 'main 1', fault: undefined, sentAt };
  const row = { connected: 2, holds: [token, hold] };

  for (const after of [bridgeAfter(row, good, circuitMs, now), accountAfter(row, good, now)])
    expect(after).toEqual(isOver ? { connected: 2, holds: [token] } : row);
  const feed = { ...good, resource: 'main feed' };
  expect(accountAfter(row, feed, now)).toBe(row);
  expect(bridgeAfter(row, feed, circuitMs, now)).toEqual(isOver ? { connected: 2, holds: [token] } : row);
  expect(bridgeAfter(row, { ...good, account: undefined }, circuitMs, now)).toBe(row);
});

it('a good answer ends the evidence, and changes nothing else', () => {
  const good = { account: 'main', resource: 'main 1', fault: undefined, sentAt: 1 };
  const [row, clean] = [{ connected: 2, failing: ['main 1'] }, { connected: 2 }];
  const unknown = { ...good, fault: new BridgeFault('not-found', 'gone') };

  expect(accountAfter(row, good, now)).toStrictEqual(clean);
  expect(accountAfter(clean, good, now)).toBe(clean);
  expect(accountAfter(row, unknown, now)).toBe(row);
  for (const answer of [good, unknown]) {
    expect(bridgeAfter(row, answer, circuitMs, now)).toStrictEqual(clean);
    expect(bridgeAfter(clean, answer, circuitMs, now)).toBe(clean);
  }
});

it.each<[before: number[] | undefined, sentAt: number, asksMs: number | undefined, forMs: number | 'same']>([
  // The first pause: a second, or what the service asks for.
  [undefined, 0, undefined, 1_000],
  [undefined, 0, 999, 1_000],
  [undefined, 0, 3_600_000, 3_600_000],
  // A request after it that is refused again: twice as long, at most a minute, or what the service asks for.
  [[-400, -1], -1, undefined, 1_000],
  [[-4_000, -1], -1, undefined, 7_998],
  [[-4_000, 0], -3_999, undefined, 8_000],
  [[-29_000, -1], -1, undefined, 57_998],
  [[-31_000, -1], -1, undefined, 60_000],
  [[-600_000, -1], -1, undefined, 60_000],
  [[-4_000, 0], 0, 8_001, 8_001],
  // A pause that lasts as long as that already.
  [[-4_000, 60_000], -3_999, undefined, 'same'],
  [[-4_000, 59_999], -3_999, undefined, 60_000],
  // A request of before the pause says nothing, unless the service asks for more since it was sent.
  [[-4_000, 0], -4_000, undefined, 'same'],
  [[-4_000, -3_000], -4_000, undefined, 'same'],
  [[-4_000, -3_000], -4_001, 1_001, 'same'],
  [[-4_000, -3_000], -4_000, 1_001, 1_001],
  // A pause that was written by a clock ahead does not count.
  [[60_000, 61_000], 0, undefined, 'same'],
  [[60_001, 61_000], 0, undefined, 1_000],
])('a 429 after a pause of %j, sent %i, asking %s ms, pauses for %s', (before, sentInMs, asksMs, forMs) => {
  const reason = 'the service asked for a pause';
  const circuit = answered('circuit', 'forbidden', [-9, -1]);
  const pause = before && { ...answered('service', 'rate-limited', before), reason };
  const row = { connected: 2, holds: [...(pause ? [pause] : []), circuit] };
  const fault = new BridgeFault('rate-limited', 'wait', { retryAfterMs: asksMs });
  const since = before && (before[0] ?? 0) <= 60_000 ? 1 : now;

  for (const account of ['main', undefined]) {
    const evidence = { account, resource: 'x', fault, sentAt: now + sentInMs };
    const after = bridgeAfter(row, evidence, circuitMs, now);
    if (forMs === 'same') expect(after).toBe(row);
    else {
      const hold = { kind: 'service', fault: 'rate-limited', reason, since, until: now + forMs, forMs };
      expect(after).toStrictEqual({ connected: 2, holds: [circuit, hold] });
    }
  }
});

const pause = answered('service', 'rate-limited', [-9, -1]);
const byHand = { kind: 'operator', since: 1 } as const;
const block = (since: number) => ({
  ...answered('circuit', 'forbidden', [0, circuitMs]),
  ...{ since, reason: 'the service answers 403 to different requests' },
});
const openedBy = (resource: string | undefined) => ({
  ...answered('circuit', 'forbidden', [-9, -1]),
  tried: { until: now + 9, ...(resource !== undefined && { by: resource }) },
});

it.each<[string, Holder, evidence: string, after: Holder | 'same']>([
  ['first', { connected: 2 }, 'main 1', { connected: 2, failing: ['main 1'] }],
  ['of the same advert', { connected: 2, failing: ['main 1'] }, 'main 1', 'same'],
  ['of one account', { connected: 2, failing: ['main 1'] }, 'main feed', 'same'],
  ['of one account whose number is unknown', { failing: ['main 1'] }, 'main feed', 'same'],
  ['of none that is connected', { connected: 0, failing: ['main 1'] }, 'main feed', 'same'],
  ['of two adverts of the only account', { connected: 1, failing: ['main 1'] }, 'main 2', 'same'],
  ['of two feeds of the only account', { connected: 1, failing: ['main feed'] }, 'main list', 'same'],
  [
    'of an advert, then the feed',
    { connected: 1, failing: ['main 1'] },
    'main feed',
    { holds: [block(now)] },
  ],
  [
    'of the feed, then an advert',
    { connected: 1, failing: ['main feed'] },
    'main 1',
    { holds: [block(now)] },
  ],
  ['of two accounts', { connected: 2, failing: ['main 1'] }, 'main2 1', { holds: [block(now)] }],
  ['of two others', { connected: 2, failing: ['main2 1'] }, 'main 1', { holds: [block(now)] }],
  ['that was sent before', { connected: 2, failing: ['main 1'], holds: [block(1)] }, 'shop 1', 'same'],
  ['beside a pause by hand', { holds: [byHand] }, 'main 1', { failing: ['main 1'] }],
  ['of a trial', { holds: [openedBy('main 1')] }, 'main 1', { holds: [block(1)] }],
  ['of no trial', { failing: ['main 1'], holds: [openedBy('main 1')] }, 'shop 1', 'same'],
  ['after a pause', { holds: [pause] }, 'main 1', { failing: ['main 1'] }],
])('a 403 %s opens the circuit or is noted', (_case, row, resource, after) => {
  const fault = new BridgeFault('forbidden', 'no');
  const evidence = { account: resource.replace(/ .*/, ''), resource, fault, sentAt: now };
  const found = bridgeAfter(row, evidence, circuitMs, now);

  if (after === 'same') expect(found).toBe(row);
  else expect(found).toStrictEqual({ ...row, ...after });
});

it.each(faultKinds.filter((kind) => !['rate-limited', 'not-found'].includes(kind)))(
  'a fault of kind %s of other requests is no evidence of a block',
  (kind) => {
    const fault = new BridgeFault(kind, 'no');
    const row = { connected: 1, failing: ['main 1'] };
    const token = { account: undefined, resource: 'token', fault, sentAt: now };
    const advert = { ...token, account: 'shop', resource: 'shop 1' };

    expect(bridgeAfter(row, token, circuitMs, now)).toBe(row);
    if (kind !== 'forbidden') expect(bridgeAfter(row, advert, circuitMs, now)).toBe(row);
  },
);

const refused = (resource: string, kind?: FaultKind) => ({
  ...{ account: 'main', resource, sentAt: now },
  fault: kind && new BridgeFault(kind, 'no'),
});
const two = { failing: ['main 1', 'main 2'] };
const file = (sinceInMs: number, tried: Hold['tried'] = { by: 'main 4', until: now + 9 }) => ({
  ...answered('service', 'forbidden', [-7, -7]),
  ...{ since: now + sinceInMs, tried },
});

it.each<[string, Holder, answer: string, after: Holder | 'same']>([
  ['one has failed', { connected: 2 }, 'main 1 transient', { failing: ['main 1'] }],
  ['a second one has failed', { failing: ['main 1'] }, 'main 2 token-rejected', two],
  ['one fails twice', { failing: ['main 1'] }, 'main 1 transient', 'same'],
  ['one of two fails twice', two, 'main 2 transient', 'same'],
  ...faultKinds
    .filter((kind) => !kinds.some((one) => one === kind))
    .map((kind): [string, Holder, string, 'same'] => [
      `a third one is ${kind}`,
      two,
      `main 3 ${kind}`,
      'same',
    ]),
  ['the feed fails', two, 'main feed transient', 'same'],
  ['one that was sent before fails', { holds: [file(-60_000)] }, 'main 5 transient', 'same'],
])('adverts of an account go on when %s', (_case, row, text, after) => {
  const [name, object, kind] = text.split(' ');
  const found = accountAfter(row, refused(`${name} ${object}`, kind as FaultKind), now);

  if (after === 'same') expect(found).toBe(row);
  else expect(found).toStrictEqual({ ...row, ...after });
});

it('adverts of an account go one at a time from the third that fails on', () => {
  const reason = 'its adverts are answered badly, each of the last ones';
  const hold = { kind: 'service', fault: 'wrong-path', reason, since: now, until: now, forMs: 0 };

  // Also beside a hold that the service's answers did not make.
  expect(accountAfter({ ...two, holds: [byHand] }, refused('main 3', 'wrong-path'), now)).toStrictEqual({
    ...two,
    holds: [byHand, { ...hold, tried: { until: now } }],
  });
});

it.each<[FaultKind, sinceInMs: number, gapMs: number]>([
  ['transient', 0, 0],
  ['transient', -1_000, 50],
  ['transient', -99_980, 4_999],
  ['transient', -100_020, 5_000],
  ['token-rejected', -60_000, 3_000],
  // It says nothing of the others, or a clock was put right.
  ['not-found', -60_000, 0],
  ['transient', 60_000, 0],
])('an advert in single file that is answered %s after %i ms leaves %i ms', (kind, sinceInMs, gapMs) => {
  const row = { ...two, holds: [byHand, file(sinceInMs)] };
  const after = accountAfter(row, refused('main 4', kind), now);

  const [hold] = [file(sinceInMs, { until: now + gapMs })];
  expect(after).toStrictEqual({ ...two, holds: [byHand, { ...hold, forMs: gapMs }] });
});
