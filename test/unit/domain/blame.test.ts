import { describe, expect, it } from 'vitest';
import { afterTrial, Blame, isEndedBy } from '../../../shared/domain/blame.ts';
import type { FaultKind } from '../../../shared/domain/faults.ts';

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
    return verdicts.at(-1);
  };
  return { blame, answered, now: () => now, pass: (ms: number) => (now += ms) };
}

const passing: readonly FaultKind[] = ['transient', 'forbidden', 'token-rejected'];

describe('blame', () => {
  it.each(passing)('holds nothing when one advert answers %s again and again', (fault) => {
    const { answered } = setUp();

    expect(answered('main', [1, 1, 1, 1, 1, 1, 2, 2, 2], fault)).toBeUndefined();
  });

  it.each(passing)('holds the account when three of its adverts answer %s', (fault) => {
    const { answered } = setUp();

    expect(answered('main', [1, 2, 3], fault)).toMatchObject({
      account: 'main',
      hold: { fault, blamed: ['main 1', 'main 2', 'main 3'] },
    });
  });

  it.each(passing)('holds nothing for %s when the account succeeded in between', (fault) => {
    const { answered } = setUp();
    answered('main', [1, 2], fault);
    answered('main', [9]);

    expect(answered('main', [3, 4], fault)).toBeUndefined();
    expect(answered('main', [5], fault)).toBeDefined();
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

  it('does not take the success of another account for one of this', () => {
    const { answered } = setUp();
    answered('main', [1, 2], 'transient');
    answered('shop', [9]);

    expect(answered('main', [3], 'transient')).toMatchObject({ account: 'main' });
  });

  it('holds the bridge when two accounts answer 403 with no success between', () => {
    const { answered, now } = setUp();
    answered('main', [1], 'forbidden');

    expect(answered('shop', [1], 'forbidden')).toMatchObject({
      account: undefined,
      hold: { kind: 'circuit', forMs: circuitMs, until: now() + circuitMs },
    });
  });

  it('holds no bridge when anybody succeeded between the faults of two accounts', () => {
    const { answered } = setUp();
    answered('main', [1, 2], 'forbidden');
    answered('beta', [7]);

    expect(answered('shop', [1, 2], 'forbidden')).toBeUndefined();
  });

  it('holds the bridge at once for 429, and for the time that the service named', () => {
    const { answered } = setUp();

    expect(answered('main', [1], 'rate-limited', 7_000)).toMatchObject({
      account: undefined,
      hold: { kind: 'service', forMs: 7_000 },
    });
  });

  it('doubles a hold that follows another, up to a limit', () => {
    const { answered, pass } = setUp();
    const lengths: (number | undefined)[] = [];
    for (let turn = 0; turn < 8; turn += 1) {
      const length = answered('main', [1], 'rate-limited')?.hold.forMs;
      lengths.push(length);
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

  it('doubles the next hold although a request of before the hold succeeds', () => {
    const { blame, answered, now, pass } = setUp();
    const sentAt = now();
    expect(answered('main', [1], 'rate-limited')?.hold.forMs).toBe(1_000);
    blame.answered({ account: 'main', resource: 'main 2', fault: undefined, sentAt }, now());
    pass(1_000);

    expect(answered('main', [1], 'rate-limited')?.hold.forMs).toBe(2_000);
  });

  it.each<FaultKind>(['invalid-request', 'request-refused', 'wrong-path', 'contract-broken'])(
    'holds the bridge when twenty adverts in a row got %s, and tries one a minute',
    (fault) => {
      const { answered } = setUp();
      const adverts = Array.from({ length: 10 }, (_, index) => index);
      expect(answered('main', adverts, fault)).toBeUndefined();
      expect(answered('shop', adverts.slice(1), fault)).toBeUndefined();

      const verdict = answered('shop', [77], fault);

      expect(verdict).toMatchObject({ account: undefined, hold: { fault, forMs: 60_000 } });
      const { hold } = verdict ?? { hold: undefined };
      const evidence = { account: 'main', resource: 'main 1', fault, sentAt: startMs };
      expect(hold && afterTrial(hold, evidence, 5_000_000)).toMatchObject({
        forMs: 60_000,
        until: 5_060_000,
      });
    },
  );
});

describe('a trial', () => {
  const hold = {
    kind: 'circuit',
    since: 1,
    until: 9,
    forMs: circuitMs,
    reason: '',
    fault: 'forbidden',
  } as const;
  const evidence = { account: 'main', resource: 'main 1', sentAt: 10 };

  it('doubles the hold when it ends with the same fault, and is blamed too', () => {
    const account = { ...hold, forMs: 60_000 };

    expect(afterTrial(account, { ...evidence, fault: 'forbidden' }, 1_000)).toEqual({
      ...account,
      reason: expect.any(String),
      ...{ forMs: 120_000, until: 121_000, blamed: ['main 1'] },
    });
  });

  it('leaves the hold as it is when it ends with another fault', () => {
    expect(afterTrial(hold, { ...evidence, fault: 'transient' }, 1_000)).toBe(hold);
  });

  it('ends the hold when the service refuses that one request as wrong', () => {
    expect(afterTrial(hold, { ...evidence, fault: 'request-refused' }, 1_000)).toBeUndefined();
  });
});

describe('403 where only one account is connected', () => {
  const answered = (blame: Blame, advert: number, isOnly: boolean, fault: FaultKind = 'forbidden') => {
    const sentAt = startMs + advert;
    const evidence = { account: 'main', resource: `main ${advert}`, fault, sentAt };
    return blame.answered(evidence, sentAt + 1, isOnly);
  };

  it('opens the circuit when two of its resources answer so', () => {
    const blame = new Blame(circuitMs);

    expect(answered(blame, 1, true)).toBeUndefined();
    expect(answered(blame, 2, true)).toMatchObject({
      account: undefined,
      hold: { kind: 'circuit', forMs: circuitMs, blamed: ['main 1', 'main 2'] },
    });
  });

  it('opens it for no other answer, and not while there are other accounts', () => {
    for (const [isOnly, fault] of [
      [false, 'forbidden'],
      [true, 'transient'],
    ] as const) {
      const blame = new Blame(circuitMs);
      expect([1, 2].map((advert) => answered(blame, advert, isOnly, fault))).toEqual([undefined, undefined]);
      expect(answered(blame, 3, isOnly, fault)).toMatchObject({ account: 'main' });
    }
  });
});

it('a hold is followed by one as long as the service asks when its trial got 429', () => {
  const hold = { kind: 'circuit', fault: 'forbidden', since: 0, until: 40_000, forMs: 40_000 } as const;
  const evidence = { account: 'main', resource: 'main 1', sentAt: 40_000 } as const;

  const next = afterTrial(hold, { ...evidence, fault: 'rate-limited', retryAfterMs: 90_000 }, 40_010);

  expect(next).toMatchObject({ kind: 'service', fault: 'rate-limited', until: 130_010 });
});
