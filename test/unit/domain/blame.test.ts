import { describe, expect, it } from 'vitest';
import { afterTrial, Blame, isEndedBy } from '../../../shared/domain/blame.ts';
import type { FaultKind } from '../../../shared/domain/faults.ts';
import type { Hold } from '../../../shared/domain/holds.ts';

const startMs = 1_000_000;
const circuitMs = 1_800_000;

function setUp() {
  const blame = new Blame(circuitMs);
  let now = startMs;
  /** The answers of `account` about the adverts with these numbers. */
  const answered = (
    account: string,
    adverts: readonly number[],
    fault?: FaultKind,
    retryAfterMs?: number,
  ) => {
    const verdicts = adverts.map((advert) => {
      const sentAt = now;
      now += 10;
      return blame.answered({ account, resource: `${account} ${advert}`, fault, retryAfterMs, sentAt }, now);
    });
    return verdicts.find((verdict) => verdict !== undefined);
  };
  return { blame, answered, now: () => now, pass: (ms: number) => (now += ms) };
}

const passing: readonly FaultKind[] = ['transient', 'forbidden', 'token-rejected'];
const permanent: readonly FaultKind[] = [
  'invalid-request',
  'request-refused',
  'wrong-path',
  'contract-broken',
];
const blamed = ['main 1', 'main 2', 'main 3'];
const circuit = { kind: 'circuit', forMs: circuitMs, until: startMs + 20 + circuitMs };
const tenOf = (account: string, last: string) => `${account} 1 2 3 4 5 6 7 8 9 ${last} !`;

describe('blame', () => {
  // Answers about adverts of accounts, in their order: `!` is the fault, all others are successes.
  it.each<[string, string, readonly FaultKind[], object | undefined]>([
    ['nothing for one advert', 'main 1 1 1 1 1 2 2 !', passing, undefined],
    ['the account for three of its adverts', 'main 1 2 3 !', passing, { account: 'main', hold: { blamed } }],
    ['nothing after a success in between', 'main 1 2 !; main 9; main 3 4 !', passing, undefined],
    ["the account after another's success", 'main 1 2 !; shop 9; main 3 !', passing, { account: 'main' }],
    [
      'the bridge for two accounts',
      'main 1 !; shop 1 !',
      ['forbidden'],
      { account: undefined, hold: circuit },
    ],
    ['no bridge after any success', 'main 1 2 !; beta 7; shop 1 2 !', ['forbidden'], undefined],
    ['the bridge at once', 'main 1 !', ['rate-limited'], { account: undefined, hold: { forMs: 1_000 } }],
    ['nothing for 19 adverts', `${tenOf('main', '10')}; shop 1 2 3 4 5 6 7 8 9 !`, permanent, undefined],
    [
      'the bridge for 20 adverts alike',
      `${tenOf('main', '10')}; ${tenOf('shop', '77')}`,
      permanent,
      { account: undefined, hold: { forMs: 60_000 } },
    ],
  ])('holds %s: %s', (_case, answers, faults, expected) => {
    for (const fault of faults) {
      const { answered } = setUp();
      const verdicts = answers.split('; ').map((part) => {
        const [account = '', ...adverts] = part.split(' ');
        const isBad = adverts.at(-1) === '!' && adverts.pop() !== undefined;
        return answered(account, adverts.map(Number), isBad ? fault : undefined);
      });

      expect(verdicts.slice(0, -1).filter(Boolean)).toEqual([]);
      if (expected) expect(verdicts.at(-1)).toMatchObject(expected);
      else expect(verdicts.at(-1)).toBeUndefined();
    }
  });

  it('holds the bridge for twenty adverts refused alike, although feeds are read well', () => {
    const { blame, now, pass } = setUp();
    const answer = (advert: number, fault?: FaultKind) => {
      const [account, path] = [
        advert % 2 ? 'main' : 'shop',
        fault ? `/adverts/${advert}` : '/status/adverts',
      ];
      pass(10);
      return blame.answered({ account, resource: `${account} ${path}`, fault, sentAt: now() }, now());
    };
    for (let advert = 1; advert < 20; advert += 1) {
      expect(answer(advert, 'invalid-request')).toBeUndefined();
      answer(advert);
    }

    const verdict = answer(20, 'invalid-request');

    expect(verdict).toMatchObject({ account: undefined, hold: { fault: 'invalid-request', forMs: 60_000 } });
    const { hold } = verdict ?? expect.fail();
    expect(isEndedBy('main /status/adverts', hold)).toBe(false);
    expect(isEndedBy('main /adverts/99', hold)).toBe(true);
  });

  it('doubles a hold that follows another, up to a limit', () => {
    const { answered, pass } = setUp();
    const lengths: (number | undefined)[] = [];
    for (let turn = 0; turn < 8; turn += 1) {
      const length = answered('main', [1], 'rate-limited')?.hold.forMs;
      lengths.push(length);
      answered('main', [2]);
      pass((length ?? 0) + 1);
    }

    expect(lengths).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    pass(200_000);
    expect(answered('main', [1], 'rate-limited')?.hold.forMs).toBe(1_000);
  });

  it('holds longer when an answer of before the hold asks for a longer wait', () => {
    const { blame, now } = setUp();
    const sentAt = now();
    const evidence = { account: 'main', fault: 'rate-limited', sentAt } as const;
    blame.answered({ ...evidence, resource: 'main 1', retryAfterMs: 2_000 }, sentAt + 10);

    const longer = { ...evidence, resource: 'main 2', retryAfterMs: 9_000 };
    expect(blame.answered(longer, sentAt + 20)).toMatchObject({ hold: { until: sentAt + 9_020 } });
  });

  it('ignores answers to requests that were sent before the hold began', () => {
    const { blame, answered, now, pass } = setUp();
    const sentAt = now();
    const late = (account: string, fault: FaultKind) =>
      [4, 5, 6].map((advert) =>
        blame.answered({ account, resource: `${account} ${advert}`, fault, sentAt }, now()),
      );
    const nothing = [undefined, undefined, undefined];
    answered('main', [1, 2, 3], 'transient');
    expect(late('main', 'transient')).toEqual(nothing);
    pass(1_000);
    answered('main', [1], 'forbidden');
    expect(answered('shop', [1], 'forbidden')).toMatchObject({ account: undefined });

    expect([...late('beta', 'forbidden'), ...late('dune', 'forbidden')]).toEqual([...nothing, ...nothing]);
  });
});

describe('a trial', () => {
  const hold = { kind: 'circuit', since: 1, until: 9, forMs: 60_000, fault: 'forbidden' } as const;
  const doubled = { since: 1, forMs: 120_000, until: 121_000, blamed: ['main 1'] };
  const refused = { ...hold, fault: 'invalid-request' } as const;
  it.each<[string, Hold, FaultKind, object | undefined]>([
    ['doubles the hold for the same fault, and is blamed too', hold, 'forbidden', doubled],
    [
      'is blamed for another fault, and leaves the end to the next',
      hold,
      'transient',
      { ...hold, blamed: ['main 1'] },
    ],
    ['ends the hold when that one request is refused as wrong', hold, 'request-refused', undefined],
    ['is followed by a hold as long as asked for', hold, 'rate-limited', { kind: 'service', until: 91_000 }],
    ['comes once a minute while all are refused alike', refused, 'invalid-request', { until: 61_000 }],
  ])('%s', (_case, before, fault, expected) => {
    const retryAfterMs = fault === 'rate-limited' ? 90_000 : 0;
    const next = afterTrial(
      before,
      { account: 'main', resource: 'main 1', sentAt: 10, retryAfterMs, fault },
      1_000,
    );

    if (expected) expect(next).toMatchObject(expected);
    else expect(next).toBeUndefined();
  });
});

it.each<[boolean, FaultKind, object]>([
  [true, 'forbidden', { account: undefined, hold: { kind: 'circuit', forMs: circuitMs } }],
  [true, 'transient', { account: 'main' }],
  [true, 'invalid-request', { account: 'main' }],
  [false, 'forbidden', { account: 'main' }],
])('the only account (%s) whose adverts answer %s opens the circuit for 403', (isOnly, fault, end) => {
  const blame = new Blame(circuitMs);
  const answered = (advert: number) => {
    const sentAt = startMs + advert;
    return blame.answered({ account: 'main', resource: `main ${advert}`, fault, sentAt }, sentAt + 1, isOnly);
  };

  expect(Array.from({ length: 20 }, (_, index) => answered(index)).find(Boolean)).toMatchObject(end);
});
