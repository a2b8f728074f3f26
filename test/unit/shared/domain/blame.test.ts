import { expect, it } from 'vitest';
import { accountAfter, type BlamedRow, bridgeAfter } from '../../../../shared/domain/blame.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import { holdFor, withTrial } from '../../../../shared/domain/holds.ts';

const startMs = 1_000_000;
const circuitMs = 1_800_000;

/** How long others wait for the answer of the one that has the turn. */
const turnMs = 30_000;

/**
 * Both rows, changed by answers such as `main 1 forbidden` and `main feed`, ten milliseconds apart. With `turn`, the advert
 * has claimed the trial.
 */
function setUp(bridge: BlamedRow = { connected: 2 }) {
  let [row, account, now]: [BlamedRow, BlamedRow, number] = [bridge, {}, startMs];
  const answer = (
    text: string,
    { sentAt = now, retryAfterMs }: { sentAt?: number; retryAfterMs?: number } = {},
  ) => {
    const [name, object, kind, mark] = text.split(' ');
    const resource = `${name} ${object}`;
    if (mark === 'turn') claim(resource);
    now += 10;
    const fault = kind ? new BridgeFault(kind as FaultKind, kind, { retryAfterMs }) : undefined;
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
    get account() {
      return account;
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

it('evidence of a block is the first of an account', () => {
  const world = setUp({ connected: 1 });
  world.answers('main 1 forbidden', 'main 2 forbidden', 'main 3 forbidden');

  expect(world.bridge.failing).toEqual(['main 1']);
  world.answers('main 4');
  expect(world.bridge.failing).toBeUndefined();
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

it.each(['main 5 forbidden', 'main 5 transient', 'main 5 invalid-request'])(
  'a blocked address ignores bad answers to earlier requests: %s',
  (text) => {
    const world = blocked();
    const before = world.bridge;
    world.answer(text);

    expect(world.bridge).toBe(before);
  },
);

it('a blocked address ignores good answers to earlier requests', () => {
  const world = setUp();
  world.answers('main 1 forbidden', 'shop 1 forbidden');
  world.answer('main 5', { sentAt: startMs });

  expect(world.waits('main 6')).toBeGreaterThan(0);
});

it('a blocked address stays so although a token is renewed', () => {
  const { bridge, now } = blocked();
  const renewed = { account: undefined, resource: 'token', fault: undefined, sentAt: now };

  expect(bridgeAfter(bridge, renewed, circuitMs, now)).toBe(bridge);
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

it('a wait lasts as long as the service asks, or longer than before', () => {
  const world = setUp();
  world.answer('main 1 rate-limited', { retryAfterMs: 9_000 });
  expect(world.waits('shop 1')).toBe(9_000);
  world.pass(9_001);
  world.answer('main 1 rate-limited', { retryAfterMs: 2_000 });
  expect(world.waits('shop 1')).toBe(18_000);
});

it('a wait grows by earlier requests only when they ask for more', () => {
  const world = setUp();
  const sentAt = world.now;
  world.answer('main 1 rate-limited', { retryAfterMs: 2_000 });
  world.answer('main 2 rate-limited', { sentAt, retryAfterMs: 1_000 });
  expect(world.waits('shop 1')).toBe(1_990);
  world.answer('main 3 rate-limited', { sentAt, retryAfterMs: 5_000 });
  expect(world.waits('shop 1')).toBe(5_000);
});

it('a wait leaves an address block as it is', () => {
  const world = setUp();
  world.answers('main 1 forbidden', 'shop 1 forbidden', 'main 2 rate-limited');

  expect(world.bridge.holds?.map(({ kind }) => kind)).toEqual(['circuit', 'service']);
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

it.each([
  ['one of them fails again and again', ['main 1 transient', 'main 1 transient', 'main 1 transient']],
  ['one is answered well between', ['main 1 transient', 'main 2 transient', 'main 9', 'main 3 transient']],
  ['the feed fails too', ['main 1 transient', 'main 2 transient', 'main feed transient']],
  ['another is unknown', ['main 1 transient', 'main 2 transient', 'main 3 not-found']],
  ['another was not sent', ['main 1 transient', 'main 2 transient', 'main 3 paused']],
])('adverts of an account go on together when %s', (_title, answers) => {
  const world = setUp();
  world.answers(...answers);
  world.claim('main 8');

  expect(world.waits('main 9')).toBe(0);
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

it.each([
  [1_000, 50],
  [60_000, 3_000],
  [600_000, 5_000],
])('adverts that went in single file for %i ms go %i ms apart', (lastedMs, gapMs) => {
  const world = single();
  world.pass(lastedMs - 20);
  world.answer('main 4 transient turn');

  expect(world.waits('main 9')).toBe(gapMs);
});

it('adverts in single file come before those that have failed', () => {
  const world = single();

  expect([world.waits('main 9'), world.waits('main 1', true)]).toEqual([0, turnMs - 10]);
  world.pass(turnMs - 10);
  expect(world.waits('main 1', true)).toBe(0);
});

it('adverts in single file give the turn on when one is unknown', () => {
  const world = single();
  world.answer('main 4 not-found turn');

  expect(world.waits('main 9')).toBe(0);
  expect(world.account.holds).toHaveLength(1);
});

it('adverts in single file go on together after any good answer', () => {
  const world = single();
  world.answer('main 9');

  expect(world.account).toEqual({});
});

it('adverts in single file ignore good answers to earlier requests', () => {
  const world = single();
  world.answer('main 9', { sentAt: startMs });

  expect(world.account.holds).toHaveLength(1);
});

it('adverts in single file keep what somebody else ordered', () => {
  const hold = { kind: 'operator', since: 1, who: 'me' } as const;
  const row = { holds: [hold, { kind: 'service', since: 1, until: 1, fault: 'transient' }] } as const;
  const good = { account: 'main', resource: 'main 9', fault: undefined, sentAt: 1 };

  expect(accountAfter(row, good, 2)).toEqual({ holds: [hold] });
});

const hoursMs = 26 * 3_600_000;

it('a wait of before a clock was put right ends with a good answer', () => {
  const { answers, pass, waits } = setUp();
  answers('main 1 transient', 'main 2 transient', 'main 3 transient');
  answers('main 8 forbidden', 'shop 1 forbidden');
  pass(-hoursMs);
  answers('main 4 transient turn', 'main 5  turn');

  expect(['main 6', 'main 7', 'shop 2'].map((resource) => waits(resource))).toEqual([0, 0, 0]);
});

it('a pause lasts although a request under way is answered well', () => {
  const { answer, pass, waits } = setUp();
  answer('main feed rate-limited', { retryAfterMs: 60_000 });
  pass(90);
  answer('main 1');

  expect(waits('main feed')).toBe(59_900);
});

it('a pause begins although an earlier one is of a clock ahead', () => {
  const { answer, pass, waits } = setUp();
  answer('main 1 rate-limited');
  pass(-hoursMs);
  answer('main 2 rate-limited');

  expect(waits('shop feed')).toBe(1_000);
});

it('all go on at once when a pause that the service asked for is over', () => {
  const { answer, claim, pass, waits } = setUp();
  answer('main 1 rate-limited');
  pass(1_000);

  claim('main 1');

  expect(waits('main 2')).toBe(0);
});

it('adverts sent before their account goes one at a time hold nothing', () => {
  const world = setUp();
  world.answers('main 1 transient', 'main 2 transient', 'main 3 transient');
  const before = world.account;

  world.answer('main 4 transient');

  expect(world.account).toBe(before);
});
