import { describe, expect, it } from 'vitest';
import { afterTrial, Blame } from '../../../shared/domain/blame.ts';
import { BridgeFault, type FaultKind } from '../../../shared/domain/faults.ts';
import type { Hold } from '../../../shared/domain/holds.ts';

const startMs = 1_000_000;
const circuitMs = 1_800_000;
const asking = (kind: FaultKind, retryAfterMs?: number) => new BridgeFault(kind, kind, { retryAfterMs });

function setUp() {
  const blame = new Blame(circuitMs);
  let now = startMs;
  const answer = (resource: string, fault?: BridgeFault, sentAt = now) => {
    now += 10;
    return blame.answered({ account: resource.split(' ')[0], resource, fault, sentAt }, now);
  };
  return { answer, now: () => now, pass: (ms: number) => (now += ms) };
}

const passing: readonly FaultKind[] = ['transient', 'forbidden', 'token-rejected'];
const refusals: readonly FaultKind[] = [
  'invalid-request',
  'request-refused',
  'wrong-path',
  'contract-broken',
];
const blamed = ['main 1', 'main 2', 'main 3'];
const circuit = { kind: 'circuit', forMs: circuitMs, until: startMs + 20 + circuitMs };
const tenOf = (account: string, last: string) => `${account} 1 2 3 4 5 6 7 8 9 ${last} !`;

describe('blame', () => {
  // Answers about adverts or the feed of an account, in their order: `!` is the fault, all others are successes.
  it.each<[string, string, readonly FaultKind[], object | undefined]>([
    ['nothing for one advert', 'main 1 1 1 1 1 2 2 !', passing, undefined],
    ['the account for three of its adverts', 'main 1 2 3 !', passing, { account: 'main', hold: { blamed } }],
    ['nothing after a success in between', 'main 1 2 !; main 9; main 3 4 !', passing, undefined],
    [
      'the account, although its feed is read',
      'main 1 2 !; main feed; main 3 !',
      passing,
      { account: 'main' },
    ],
    ["the account after another's success", 'main 1 2 !; shop 9; main 3 !', passing, { account: 'main' }],
    ['the bridge for two', 'main 1 !; shop 1 !', ['forbidden'], { account: undefined, hold: circuit }],
    ['no bridge after any success', 'main 1 2 !; beta 7; shop 1 2 !', ['forbidden'], undefined],
    ['the bridge at once', 'main 1 !', ['rate-limited'], { account: undefined, hold: { forMs: 1_000 } }],
    ['nothing for 19 adverts', `${tenOf('main', '10')}; shop 1 2 3 4 5 6 7 8 9 !`, refusals, undefined],
    [
      'the bridge for 20 adverts, although feeds are read',
      `${tenOf('main', '10')}; main feed; ${tenOf('shop', '77')}`,
      refusals,
      { account: undefined, hold: { forMs: 60_000 } },
    ],
  ])('holds %s: %s', (_case, answers, faults, expected) => {
    for (const fault of faults) {
      const { answer } = setUp();
      const verdicts = answers.split('; ').flatMap((part) => {
        const [account, ...resources] = part.split(' ');
        const isBad = resources.at(-1) === '!' && resources.pop() !== undefined;
        return resources.map((one) => answer(`${account} ${one}`, isBad ? asking(fault) : undefined));
      });

      expect(verdicts.slice(0, -1).filter(Boolean)).toEqual([]);
      if (expected) expect(verdicts.at(-1)).toMatchObject(expected);
      else expect(verdicts.at(-1)).toBeUndefined();
    }
  });

  it.each([
    ['forbidden', undefined],
    ['invalid-request', { kind: 'service' }],
  ] as const)('remembers answers for a minute, and refusals without an end: %s', (fault, expected) => {
    const { answer, pass } = setUp();
    for (let advert = 1; advert < 20; advert += 1) {
      expect(answer(`account-${advert % 2} ${advert}`, asking(fault))).toBeUndefined();
      pass(60_000);
    }

    expect(answer('account-2 20', asking(fault))?.hold).toEqual(
      expected && expect.objectContaining(expected),
    );
  });

  it('doubles a hold that follows another, up to a limit', () => {
    const { answer, pass } = setUp();
    const lengthOfNext = () => answer('main 1', asking('rate-limited'))?.hold.forMs ?? 0;
    const lengths = Array.from({ length: 8 }, () => {
      const length = lengthOfNext();
      answer('main 2');
      pass(length + 1);
      return length;
    });

    expect(lengths).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    pass(200_000);
    expect(lengthOfNext()).toBe(1_000);
  });

  it('ignores what was sent before the hold, unless it asks for a longer wait', () => {
    const { answer, now } = setUp();
    const sentAt = now();
    for (const advert of [1, 2, 3]) answer(`main ${advert}`, asking('transient'));
    const late = [4, 5, 6].map((advert) => answer(`main ${advert}`, asking('transient'), sentAt));
    expect(late).toEqual([undefined, undefined, undefined]);

    answer('main 1', asking('rate-limited', 2_000), sentAt);
    expect(answer('shop 1', asking('rate-limited', 1_000), sentAt)).toBeUndefined();
    expect(answer('shop 2', asking('rate-limited', 9_000), sentAt)).toMatchObject({ account: undefined });
  });
});

describe('a trial', () => {
  const hold = { kind: 'circuit', since: 1, until: 9, forMs: 60_000, fault: 'forbidden' } as const;
  const doubled = { since: 1, forMs: 120_000, until: 121_000, blamed: ['main 1'] };
  const refused = { ...hold, fault: 'invalid-request', blamed: ['main 7'] } as const;
  const paused = { ...hold, kind: 'service', fault: 'rate-limited' } as const;
  const forFeed = { ...hold, blamed: ['main feed'] } as const;
  it.each<[string, Hold, FaultKind | undefined, object | undefined]>([
    ['ends the hold by a success', hold, undefined, undefined],
    ['ends the hold by a success of what is blamed', refused, undefined, undefined],
    ['leaves the end to another after a success of another kind', forFeed, undefined, forFeed],
    ['doubles the hold for the same fault, and is blamed too', hold, 'forbidden', doubled],
    ['leaves the end to another for another fault', hold, 'transient', { ...hold, blamed: ['main 1'] }],
    ['ends the hold when that one request is refused as wrong', hold, 'request-refused', undefined],
    ['is followed by a hold as long as asked for', hold, 'rate-limited', { kind: 'service', until: 91_000 }],
    ['blames no resource for a pause that is asked for again', paused, 'rate-limited', { blamed: [] }],
    ['comes once a minute while all are refused alike', refused, 'invalid-request', { until: 61_000 }],
  ])('%s', (_case, before, kind, expected) => {
    const fault = kind && asking(kind, kind === 'rate-limited' ? 90_000 : undefined);
    const next = afterTrial(
      before,
      'main',
      { account: 'main', resource: 'main 1', sentAt: 10, fault },
      1_000,
    );

    if (expected) expect(next).toMatchObject(expected);
    else expect(next).toBeUndefined();
  });
});
