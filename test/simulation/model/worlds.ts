/**
 * Worlds with something special: `--world NAME` forces one; otherwise a seed draws an ordinary plan, or one of those
 * worlds in which the product holds.
 */
import { drawPlan, type Plan } from './draw-plan.ts';
import type { Ill, IllAnswer } from './ill.ts';
import type { Temper } from './incidents.ts';
import type { PlannedChange } from './plan.ts';
import { between, hashOf, pick, type Random, streamOf } from './random.ts';
import { drainEachMinute, steadyPlan } from './steady-plan.ts';
import { strictTokensPlan, tokenEndsPlan, tokensIllPlan } from './token-worlds.ts';

export interface World {
  readonly says: string;
  /** One seed of so many is of this world, on average. */
  readonly oneOf: number;
  /** Of the plan that is changed; otherwise, the seed draws it. */
  readonly temper?: Temper;
  readonly change: (plan: Plan, random: Random) => Plan;
}

/**
 * How often a world is drawn: what only few of its seeds find has to be found within 5,000 seeds of all. Where delays are
 * measured, a run takes up to a second; where thousands of adverts are fetched, some.
 */
const [mostOften, often, sometimes, seldom, rarely] = [10, 20, 60, 300, 450];

export const worlds = {
  'ill-advert': {
    says: 'one advert or two answer badly for ten minutes, all others well (I8)',
    oneOf: seldom,
    change: (plan, random) => illPlan(plan, random, { of: 'adverts', adverts: pick(random, [1, 1, 2]) }),
  },
  'only-account': {
    says: 'one advert or two of the only account answer badly for ten minutes (I8)',
    oneOf: seldom,
    change: (plan, random) =>
      illPlan(plan, random, { of: 'adverts', adverts: pick(random, [1, 2]), accounts: ['dune'] }),
  },
  'ill-adverts': {
    says: 'a hundred to nine hundred adverts of one account answer badly for ten minutes (I8)',
    oneOf: rarely,
    change: (plan, random) =>
      illPlan(plan, random, { of: 'adverts', adverts: pick(random, [100, 300, 900]) }),
  },
  'ill-account': {
    says: 'every request of one account is answered badly for ten minutes (I8)',
    oneOf: seldom,
    change: (plan, random) => illPlan(plan, random, { of: 'account' }),
  },
  'ill-feed': {
    says: 'the feed of one account, or of three, answers badly for ten minutes (I8)',
    oneOf: seldom,
    change: (plan, random) =>
      illPlan(plan, random, { of: 'feed', ...pick<object>(random, [{}, threeFeeds]) }),
  },
  'stuck-feed': {
    says: "one account's feed lists nothing that is new, without an end (I8)",
    oneOf: seldom,
    change: (plan, random) =>
      illPlan(plan, random, { of: 'feed', answers: ['no-id', 'cycles', 'empty', 'status-400'] }),
  },
  backlog: {
    says: 'two thousand changes of one account at once, and few of the others (I8)',
    oneOf: rarely,
    change: backlogPlan,
  },
  'limit-a-minute': {
    says: 'a backlog uses up the requests that the service answers in each minute (I8)',
    oneOf: seldom,
    change: quotaPlan,
  },
  archived: {
    says: 'thirty adverts of the only account answer 403 because they are archived, all others well (I8)',
    oneOf: seldom,
    change: (plan, random) =>
      illPlan(plan, random, { of: 'adverts', adverts: 30, answers: ['archived'], accounts: ['dune'] }),
  },
  'refuses-alike': {
    says: 'every advert of all accounts, or of one, is answered badly for ten minutes (I10)',
    oneOf: seldom,
    change: refusingPlan,
  },
  'refused-long': {
    says: 'the few changed adverts of the only account are refused for forty minutes (I10)',
    oneOf: seldom,
    change: refusedLongPlan,
  },
  'stale-secrets': {
    says: 'reads of a secret return the version of up to ten seconds ago',
    oneOf: often,
    change: (plan) => ({ ...plan, secretLagMs: 10_000 }),
  },
  frozen: {
    says: 'processes stand still for up to a minute and go on, after another one has taken over',
    oneOf: often,
    change: (plan) => ({ ...plan, freezes: true }),
  },
  'handed-twice': {
    says: 'a delivery is sometimes handed to two workers',
    oneOf: mostOften,
    temper: 'overtaken',
    // Long enough that no message comes back by itself while both workers have it.
    change: (plan) => ({ ...plan, handsTwice: true, visibilityMs: 20_000 }),
  },
  'off-clock': {
    says: 'the clock of one worker, or of every drain, is fifteen seconds off',
    oneOf: seldom,
    change(plan, random) {
      const healthy = steadyPlan(plan, random);
      const byMs = pick(random, [15_000, -15_000]);
      const processes = pick(random, ['worker-1', 'drain']);
      return { ...healthy, healthy, offClock: { processes, byMs, untilMs: healthy.chaosMs } };
    },
  },
  'clock-set-back': {
    says: 'the clock of the machine was 5 or 26 hours ahead, or 5 behind, and is put right during a pause',
    oneOf: seldom,
    change: setRightPlan,
  },
  'all-gone': {
    says: 'every advert is answered with 404 for two minutes (I10)',
    oneOf: seldom,
    change: allGonePlan,
  },
  'gone-long': {
    says: 'every advert of the only account is answered with 404 for up to 70 minutes, and then well again (I10)',
    oneOf: seldom,
    change: goneLongPlan,
  },
  behind: {
    says: 'an advert is answered as before for four seconds after the feed has listed its change',
    oneOf: seldom,
    change: behindPlan,
  },
  'token-endpoint-ill': {
    says: 'the token endpoint answers badly for ten minutes, to one account or to all, while their tokens run out',
    oneOf: seldom,
    change: tokensIllPlan,
  },
  'token-ends-early': {
    says: 'tokens end long before their time, also one whose process died before its row named it; an advert answers 401',
    oneOf: seldom,
    change: tokenEndsPlan,
  },
  'ten-ill': {
    says: 'ten adverts of the only account answer badly for ten minutes, all others well (I8)',
    oneOf: sometimes,
    change: (plan, random) =>
      illPlan(plan, random, {
        ...{ of: 'adverts', adverts: 10, turns: 6, accounts: ['dune'] },
        // Turns of hanging ones take the longest; those of 401 end with a renewal.
        answers: pick(random, [badAnswers, ['hangs'], ['status-401']]),
      }),
  },
  'answers-turn': {
    says: 'all adverts are answered badly, and then badly in another way, or the address is blocked',
    oneOf: sometimes,
    change: turningPlan,
  },
  'strict-tokens': {
    says: 'the service takes only the newest refresh token, and answers a refresh after up to fifteen seconds (I6)',
    oneOf: seldom,
    change: strictTokensPlan,
  },
  'bad-for-ever': {
    says: 'up to four adverts of the only account are refused for ever, and given up; or fail for an hour, and are not',
    oneOf: sometimes,
    change: badForEverPlan,
  },
  return: {
    says: 'three accounts with ninety-five messages each come back from a pause, beside the live changes of another',
    oneOf: seldom,
    change: returnPlan,
  },
} as const satisfies Record<string, World>;

export type WorldName = keyof typeof worlds;

export const worldNames = Object.keys(worlds) as WorldName[];

/** By a hash, because plans make use of remainders of the seed. @returns undefined for an ordinary plan */
function drawWorld(seed: number): WorldName | undefined {
  let left = streamOf(hashOf('world', seed))();
  return worldNames.find((name) => {
    left -= 1 / worlds[name].oneOf;
    return left < 0;
  });
}

/** The plan of a seed. @param name a world that this seed would not have drawn by itself */
export function planOf(seed: number, name: WorldName | undefined = drawWorld(seed)): Plan {
  if (name === undefined) return drawPlan(seed);
  const { temper, change }: World = worlds[name];
  return { ...change(drawPlan(seed, temper), streamOf(hashOf(name, seed))), world: name };
}

const minuteMs = 60_000;

interface Illness {
  readonly of: Ill['of'];
  /** With `of: 'adverts'`: how many. */
  readonly adverts?: number;
  /** Default: four. */
  readonly accounts?: string[];
  /** Default: one. */
  readonly illAccounts?: readonly string[];
  readonly answers?: readonly IllAnswer[];
  /** How often each advert changes; default: six times if they are a few, and otherwise once. */
  readonly turns?: number;
}

/** 403 of several would be a blocked address. */
const threeFeeds = {
  illAccounts: ['dune', 'main', 'shop'],
  answers: ['status-500', 'status-503', 'wait-50', 'hangs', 'resets'],
} as const;

const badAnswers = [
  ...(['status-401', 'status-403', 'status-500', 'status-503', 'wait-50', 'wait-600'] as const),
  ...(['hangs', 'resets'] as const),
];

/** The steady world, in which a part of one account answers badly for ten minutes. */
function illPlan(plan: Plan, random: Random, illness: Illness): Plan {
  const { of, adverts = 0, answers = badAnswers } = illness;
  const steady = steadyPlan(plan, random, illness.accounts);
  const { illAccounts = ['dune'] } = illness;
  const advertIds = new Set(Array.from({ length: adverts }, (_, index) => String(1_000 + index)));
  const [fromMs, untilMs] = [3 * minuteMs, 13 * minuteMs];
  const answer = pick(random, answers);
  const ills = illAccounts.map((account): Ill => {
    return { key: `ill-${account}`, account, of, advertIds, answer, fromMs, untilMs };
  });
  const isMany = adverts > 2;
  const { turns = isMany ? 1 : 6 } = illness;
  const spreadMs = isMany ? Math.min(1_200 * adverts, untilMs - fromMs) : minuteMs;
  const ofIll = [...advertIds].flatMap((advertId, index) =>
    // Each of a few changes again and again; of many, each once.
    Array.from({ length: turns }, (_, turn) => ({
      ...{ key: `ill-${index}-${turn}`, account: 'dune', advertId, status: `status-${turn}` },
      atMs: fromMs + 90_000 * turn + between(random, 0, spreadMs),
    })),
  );
  // A feed that answers has listed its changes; so the one that is stuck has none.
  const isStill = (change: PlannedChange) =>
    of === 'feed' &&
    illAccounts.includes(change.account) &&
    change.atMs > fromMs - minuteMs &&
    change.atMs < untilMs;
  const healthy = { ...steady, changes: [...steady.changes.filter((one) => !isStill(one)), ...ofIll] };
  return { ...healthy, ills, healthy };
}

/** The steady world, in which accounts are paused when many of their changes have been listed. */
function returnPlan(plan: Plan, random: Random): Plan {
  const steady = steadyPlan(plan, random);
  const fromMs = 3 * minuteMs + 1_000 * steady.pollSeconds + 5_000;
  const resumedMs = between(random, 3, 6) * minuteMs;
  const paused = steady.accounts.filter((account) => account !== 'dune');
  // As many as are read ahead.
  const many = paused.flatMap((account) =>
    Array.from({ length: 95 }, (_, index) => ({
      ...{ key: `many-${account}-${index}`, atMs: 3 * minuteMs, account },
      ...{ advertId: String(1_000 + index), status: 'new' },
    })),
  );
  const operatorPauses = paused.map((account) => ({
    ...{ key: `pause-${account}`, atMs: fromMs, account },
    ...{ forMs: undefined, resumedMs, early: false },
  }));
  const changes = [...steady.changes.filter(({ account }) => account === 'dune'), ...many];
  return { ...steady, changes, operatorPauses, returnMs: fromMs + resumedMs };
}

/** The steady world with 2,000 changes of one account in its third minute. */
function backlogPlan(plan: Plan, random: Random): Plan {
  const steady = steadyPlan(plan, random);
  const backlog = Array.from({ length: 2_000 }, (_, index) => ({
    ...{ key: `backlog-${index}`, atMs: 3 * minuteMs, account: 'dune' },
    ...{ advertId: String(10_000 + index), status: 'new' },
  }));
  return {
    ...steady,
    changes: [...steady.changes.filter(({ account }) => account !== 'dune'), ...backlog],
    service: { ...steady.service, maxPerPage: 1_000 },
    backlogOf: 'dune',
  };
}

/**
 * The steady world with a poll a minute, in which an advert waits aside, and 2,000 changes of one account use up the
 * requests of each minute; drains begin at any time of it.
 */
function quotaPlan(plan: Plan, random: Random): Plan {
  const backlog = backlogPlan(plan, random);
  // Most often, drains begin shortly before the minute of the service does, so in the pause that it asked for.
  const phaseMs = pick(random, [2, 5, 8, 15, 35, 55]) * 1_000;
  // It waits aside before the backlog begins, and is well again while the backlog is read.
  const fromMs = 2 * minuteMs - 5_000;
  const ill: Ill = {
    ...{ key: 'ill', account: 'main', of: 'adverts', advertIds: new Set(['1000']), answer: 'status-500' },
    ...{ fromMs, untilMs: fromMs + 3 * minuteMs },
  };
  const failing = { key: 'failing', atMs: fromMs, account: 'main', advertId: '1000', status: 'new' };
  return {
    ...backlog,
    ...{ changes: [...backlog.changes, failing], ills: [ill], pollSeconds: 60 },
    quota: { requests: 200, phaseMs, isTold: random() < 0.5 },
  };
}

/**
 * The steady world, with three hundred changes more, in which every advert of all accounts, or of one, fails for ten
 * minutes; one of each account has failed in another way before.
 */
function refusingPlan(plan: Plan, random: Random): Plan {
  const steady = steadyPlan(plan, random);
  const [fromMs, untilMs] = [3 * minuteMs, 13 * minuteMs];
  const more = Array.from({ length: 300 }, (_, index) => ({
    ...{ key: `more-${index}`, advertId: String(1_000 + index), status: 'new' },
    ...{ atMs: between(random, fromMs, untilMs), account: pick(random, steady.accounts) },
  }));
  const answer = pick<IllAnswer>(random, ['status-400', 'archived', 'status-451']);
  // 403 of two accounts would be a blocked address.
  const accounts = answer === 'archived' ? ['dune'] : steady.accounts;
  // Too late to be given up before all fail.
  const earlyMs = fromMs - 90_000;
  const early = accounts.map((account) => ({
    ...{ key: `early-${account}`, account, advertId: '2000', status: 'new', atMs: earlyMs },
  }));
  const changes = [...steady.changes, ...early, ...more];
  const advertIds = new Set(changes.flatMap(({ advertId }) => advertId ?? []));
  const before = answer === 'status-451' ? 'wrong-shape' : 'status-451';
  const ills = accounts.flatMap((account): Ill[] => [
    { key: `ill-${account}`, account, of: 'adverts', advertIds, answer, fromMs, untilMs },
    {
      ...{ key: `before-${account}`, account, of: 'adverts', advertIds: new Set(['2000']) },
      ...{ answer: before, fromMs: earlyMs, untilMs: fromMs },
    },
  ]);
  return { ...steady, changes, ills, refusesAlike: true };
}

/** The steady world of one account, in which four adverts change before a long refusal ends, and others after it. */
function refusedLongPlan(plan: Plan, random: Random): Plan {
  const steady = steadyPlan(plan, random, ['dune']);
  const [fromMs, untilMs, chaosMs] = [2 * minuteMs, 42 * minuteMs, 46 * minuteMs];
  const advertIds = new Set(['1000', '1001', '1002', '1003']);
  const changes = [...advertIds, '1004'].map((advertId) => ({
    ...{ key: `change-${advertId}`, account: 'dune', advertId, status: 'new' },
    atMs: (advertId === '1004' ? untilMs : fromMs) + between(random, 0, 30_000),
  }));
  const drains = drainEachMinute(chaosMs);
  const answer = pick<IllAnswer>(random, ['status-400', 'archived', 'status-451']);
  const ill = { key: 'ill', account: 'dune', of: 'adverts', advertIds, answer, fromMs, untilMs } as const;
  const livesOneBatch = random() < 0.5;
  return { ...steady, changes, drains, chaosMs, ills: [ill], refusesAlike: true, livesOneBatch };
}

/**
 * The steady world of one account, in which some adverts fail and then are refused for ever, beside others or alone; or one
 * or two alone fail for longer than they may wait.
 */
function badForEverPlan(plan: Plan, random: Random): Plan {
  const steady = steadyPlan(plan, random, ['dune']);
  const kind = pick(random, ['fail', 'beside', 'alone', 'alone']);
  const [fewest, most] = { fail: [1, 2], beside: [1, 4], alone: [3, 4] }[kind] as [number, number];
  const ids = Array.from({ length: between(random, fewest, most) }, (_, index) => String(1_000 + index));
  const [fromMs, turnMs] = [2 * minuteMs, 6 * minuteMs];
  const bad = ids.map((advertId) => ({
    ...{ key: `change-${advertId}`, account: 'dune', advertId, status: 'new' },
    atMs: fromMs + between(random, 0, 30_000),
  }));
  const part = { account: 'dune', of: 'adverts', advertIds: new Set(ids) } as const;
  const failing = { ...part, key: 'failing', answer: 'status-500', fromMs } as const;
  const base = { ...steady, changes: bad, maxAgeMs: 40 * minuteMs };
  if (kind === 'fail') {
    const chaosMs = 80 * minuteMs;
    const ills = [{ ...failing, untilMs: chaosMs - 5 * minuteMs }];
    return { ...base, drains: drainEachMinute(chaosMs), chaosMs, ills, turns: true };
  }
  const answer = pick<IllAnswer>(random, ['status-400', 'archived', 'status-451', 'wrong-shape']);
  const refused = { ...part, key: 'refused', answer, fromMs: turnMs, untilMs: Number.POSITIVE_INFINITY };
  const ills = [{ ...failing, untilMs: turnMs }, refused];
  if (kind === 'alone') return { ...base, ills };
  const beliefs = random() < 0.5 ? [{ key: 'belief', atMs: between(random, 7, 18) * minuteMs }] : [];
  return { ...base, changes: [...steady.changes, ...bad], ills, beliefs };
}

/** The steady world, in which the service knows no advert for two minutes. */
function allGonePlan(plan: Plan, random: Random): Plan {
  const steady = steadyPlan(plan, random);
  const advertIds = new Set(steady.changes.flatMap(({ advertId }) => advertId ?? []));
  const gone = { of: 'adverts', advertIds, answer: 'status-404' } as const;
  const [fromMs, untilMs] = [5 * minuteMs, 7 * minuteMs];
  const ills = steady.accounts.map((account) => ({
    key: `ill-${account}`,
    account,
    ...gone,
    fromMs,
    untilMs,
  }));
  return { ...steady, ills, confirmUnavailableSeconds: 30 };
}

/**
 * The steady world of one account with a few changes, in which the service knows no advert for so long that this is
 * believed, and knows them again before the look an hour later; one of them is gone indeed.
 */
function goneLongPlan(plan: Plan, random: Random): Plan {
  const steady = steadyPlan(plan, random, ['dune']);
  const fromMs = 2 * minuteMs;
  const untilMs = fromMs + between(random, 25, 68) * minuteMs;
  // They are said to be gone within 24 minutes of it, and right an hour later.
  const chaosMs = 92 * minuteMs;
  const advertIds = ['1000', '1001', '1002', '1003'];
  const changes = [0, fromMs].flatMap((sinceMs, turn) =>
    advertIds.map((advertId) => ({
      key: `change-${advertId}-${turn}`,
      account: 'dune',
      advertId,
      status: turn === 1 && advertId === '1003' ? null : `status-${turn}`,
      atMs: sinceMs + between(random, 0, 30_000),
    })),
  );
  const drains = drainEachMinute(chaosMs);
  const ill: Ill = {
    key: 'ill',
    account: 'dune',
    of: 'adverts',
    advertIds: new Set(advertIds),
    answer: 'status-404',
    fromMs,
    untilMs,
  };
  return { ...steady, changes, drains, chaosMs, ills: [ill], goneLong: true, confirmUnavailableSeconds: 30 };
}

/** The steady world, in which a replica answers that is behind the feed. No advert changes twice in two minutes. */
function behindPlan(plan: Plan, random: Random): Plan {
  const steady = steadyPlan(plan, random);
  const last = new Map<string, number>();
  const changes = steady.changes.filter(({ account, advertId, atMs }) => {
    const subject = `${account}/${advertId}`;
    const isAlone = atMs - (last.get(subject) ?? Number.NEGATIVE_INFINITY) > 2 * minuteMs;
    if (isAlone) last.set(subject, atMs);
    return isAlone;
  });
  return { ...steady, changes, advertLagMs: 4_000, confirmUnchangedSeconds: 10 };
}

/**
 * The steady world, with three hundred changes more, in which the answers turn bad, and then bad in another way; or the
 * address is blocked at once, and trials fail in another way; or the changes wait already when the address of the only
 * account is blocked.
 */
function turningPlan(plan: Plan, random: Random): Plan {
  const kind = pick(random, ['trials', 'trials', 'turns', 'burst']);
  const isBurst = kind === 'burst';
  const four = ['main', 'shop', 'beta', 'dune'];
  const accounts = isBurst ? ['dune'] : kind === 'trials' ? four : pick(random, [['dune'], ['dune'], four]);
  const steady = steadyPlan(plan, random, accounts);
  // Until its feed is polled, only the gaps between its adverts keep an account from a block.
  const pollSeconds = kind === 'turns' ? steady.pollSeconds : 60;
  // Some seconds after a poll of either interval.
  const fromMs = 3 * minuteMs + (isBurst ? 3_000 : 0);
  const untilMs = 13 * minuteMs;
  const turnMs = kind === 'turns' ? pick(random, [3, 4, 7]) * minuteMs : fromMs;
  const [moreFromMs, moreUntilMs] = isBurst ? [fromMs - 25_000, fromMs - 20_000] : [fromMs, untilMs];
  const more = Array.from({ length: 300 }, (_, index) => ({
    ...{ key: `more-${index}`, advertId: String(1_000 + index), status: 'new' },
    ...{ atMs: between(random, moreFromMs, moreUntilMs), account: pick(random, accounts) },
  }));
  const changes = [...steady.changes, ...more];
  const advertIds = new Set(changes.flatMap(({ advertId }) => advertId ?? []));
  const first = pick<IllAnswer>(random, ['status-503', 'status-503', 'status-400', 'hangs']);
  const isBlock = kind !== 'turns' || random() < 0.7;
  const blockedFeed = { of: 'feed', advertIds: new Set<string>(), fromMs: turnMs, untilMs } as const;
  // Of several, each second one fails in another way, so that a trial does.
  const answerOf = (index: number) => (index % 2 === 0 ? 'status-403' : 'status-503');
  const ills = accounts.flatMap((account, index): Ill[] => [
    { key: `ill-${account}`, account, of: 'adverts', advertIds, answer: first, fromMs, untilMs: turnMs },
    {
      ...{ key: `worse-${account}`, account, of: 'adverts', advertIds },
      ...{ answer: isBlock ? 'status-403' : 'status-451', fromMs: turnMs, untilMs },
    },
    ...(isBlock
      ? [{ ...blockedFeed, key: `feed-${account}`, account, answer: answerOf(index) } as const]
      : []),
  ]);
  const circuitSeconds = kind === 'trials' ? 60 : pick(random, [60, 300]);
  const lasting = ills.filter((ill) => ill.fromMs < ill.untilMs);
  const livesOneBatch = random() < 0.5;
  const service = { ...steady.service, tokenLifeMs: random() < 0.5 ? minuteMs : steady.service.tokenLifeMs };
  return {
    ...steady,
    service,
    changes,
    ills: lasting,
    circuitSeconds,
    pollSeconds,
    turns: true,
    livesOneBatch,
  };
}

/**
 * The steady world, in which clocks are off until the sixth minute, when the service has asked for a minute's pause, an
 * advert waits aside, and those of another account go one at a time.
 */
function setRightPlan(plan: Plan, random: Random): Plan {
  const steady = steadyPlan(plan, random);
  const atMs = 6 * minuteMs;
  const asked: Ill = {
    ...{ key: 'ill', account: 'dune', of: 'feed', advertIds: new Set(), answer: 'wait-429' },
    ...{ fromMs: atMs - 70_000, untilMs: atMs - 5_000 },
  };
  const failing = (advertId: string, account: string, fromMs: number, untilMs: number): Ill => ({
    ...{ key: `failing-${advertId}`, account, of: 'adverts', advertIds: new Set([advertId]) },
    ...{ answer: 'status-500', fromMs, untilMs },
  });
  const ills = [
    failing('1000', 'main', atMs - 4 * minuteMs, atMs - 80_000),
    ...['1001', '1002', '1003'].map((id) => failing(id, 'shop', atMs - 25_000, atMs + 5_000)),
  ];
  const changes = ills.map(({ key, account, advertIds: [advertId], fromMs: atMs }) => ({
    ...{ key, account, advertId, atMs, status: 'new' },
  }));
  const healthy = { ...steady, changes: [...steady.changes, ...changes], ills: [asked, ...ills] };
  const byMs = pick(random, [5, 26, -5]) * 60 * minuteMs;
  return { ...healthy, healthy, offClock: { processes: '', byMs, untilMs: atMs } };
}
