/** Draws the plan of a seed. */
import type { PublishedEvents } from '../../../shared/domain/advert-event.ts';
import type { Ill } from './ill.ts';
import { type Rates, ratesOf, ratesOfPorts, type Temper } from './incidents.ts';
import { type Limits, shortLimits } from './limits.ts';
import type { AccountMoment, Moment, PlannedChange, Siege, Trouble } from './plan.ts';
import { between, hashOf, pick, type Random, streamOf } from './random.ts';

/** The last two differ beyond 2^53: as JavaScript numbers they would be equal. */
const advertIds = ['11', '12', '9007199254740992', '9007199254740993'];
const statuses = ['new', 'active', 'limited'];

/**
 * What a plan says: the size of the world, what changes in it and when, which processes run and what is broken; and
 * what only some worlds have.
 */
export type Plan = ReturnType<typeof planWithDefaults> & {
  /** undefined: an ordinary one. */
  readonly world?: string;
  /** The same world without what is ill, to compare delays with; undefined: delays are not compared. */
  readonly healthy?: Plan;
  /** Every advert is refused alike for a while: few messages may be dead-lettered. */
  readonly refusesAlike?: boolean;
  /** What renewing tokens costs is counted. */
  readonly renewals?: boolean;
  /** The service ends an account's access token; perhaps the new one too, unnamed when the process that stored it died. */
  readonly tokenEnds?: readonly (AccountMoment & { readonly diesUnnamed: boolean })[];
  /** The answers change from one kind to another; how many are given up and sent into a block is counted. */
  readonly turns?: boolean;
  /** An operator has the answers about some adverts that fail believed. */
  readonly beliefs?: readonly Moment[];
  /** Workers that end after a batch, as a function does that idles out before the next one. */
  readonly livesOneBatch?: boolean;
  /** An account with so many changes at once that they take minutes. */
  readonly backlogOf?: string;
  /** When all accounts but `dune` come back from a pause, with many messages aside. */
  readonly returnMs?: number;
  /** The service answers so many requests of each minute, which begins so long after the drains. It may say how long to wait. */
  readonly quota?: { readonly requests: number; readonly phaseMs: number; readonly isTold: boolean };
  /** So long after the feed lists a change, its advert is still answered as before. */
  readonly advertLagMs?: number;
  /** Adverts are answered with 404 for so long that it counts as their status; each is right in the end. */
  readonly goneLong?: boolean;
  /** How much later the token endpoint answers than the rest of the service. Default 0. */
  readonly tokenAnswerMs?: number;
  /** Reads of a secret return the version of up to this long ago. */
  readonly secretLagMs?: number;
  /** Processes stand still for a while and go on: functions that ran out of time, or machines that were suspended. */
  readonly freezes?: boolean;
  /** A delivery is sometimes handed to a second worker too. */
  readonly handsTwice?: boolean;
  /** Clocks that are wrong by `byMs` until `untilMs`: of the processes whose names begin so, or of all. */
  readonly offClock?: { readonly processes: string; readonly byMs: number; readonly untilMs: number };
};

/** The plan of an ordinary world. */
export const drawPlan = (seed: number, temper?: Temper): Plan =>
  withSettings(planWithDefaults(seed, temper), streamOf(hashOf('settings', seed)));

/**
 * In a quarter of the worlds, settings far from their defaults: rates that divide a second into fractions of a
 * millisecond, and the least and great values of the others. Drawn last and from their own stream, so that nothing else
 * of a seed's plan changes.
 */
function withSettings(plan: Plan, random: Random): Plan {
  // Both are about the number of receives, which the delays determine.
  if (plan.temper === 'overtaken' || plan.siege || random() >= 0.25) return plan;
  return {
    ...plan,
    requestsPerSecond: pick(random, [3.3, 7, 13, 99.9]),
    // Must exceed the service's visibility delay, also by clocks that differ.
    overlapSeconds: pick(random, [plan.service.maxVisibilityMs / 1000 + 10, 41, 600]),
    confirmUnavailableSeconds: pick(random, [0, 1, 7, 41]),
    circuitSeconds: pick(random, [1, 7, 101]),
    maxPauseSeconds: pick(random, [1, 3, 86_400]),
    pollSeconds: plan.pollSeconds < 60 ? pick(random, [1, 7, 11]) : pick(random, [59, 60]),
  };
}

function planWithDefaults(seed: number, wanted?: Temper) {
  const random = streamOf(hashOf('plan', seed));

  const moments = (name: string, most: number, draw = random): AccountMoment[] =>
    Array.from({ length: between(draw, 0, most) }, (_, index) => {
      return { key: `${name}-${index}`, account: pick(draw, accounts), atMs: between(draw, 0, chaosMs) };
    });
  const tempers = ['quiet', 'late', 'late', 'overtaken', 'mixed', 'mixed', 'mixed', 'mixed'] as const;
  const drawn = pick<Temper>(random, tempers);
  const temper = wanted ?? drawn;
  const isOvertaken = temper === 'overtaken';
  // Drawn from a separate stream, so that the rest of the seed's plan does not change.
  const waits = streamOf(hashOf('waits', seed));
  const siege: Siege | undefined =
    temper === 'quiet' && waits() < 0.4
      ? pick(waits, ['waits-1', 'accounts-restored', 'accounts-unreadable', 'killer-advert'] as const)
      : undefined;
  // 60 in the 25 minutes of a siege: 40 receives without a growing delay (redelivery.ts), then 1, 2, 4 … 900 s.
  const maxReceives = siege === 'killer-advert' ? 15 : isOvertaken ? pick(waits, [6, 80]) : 60;
  const usualMs = between(random, isOvertaken ? 200 : 90, 260) * 1000;
  const chaosMs = siege ? siegeMs : usualMs;
  const accounts = ['main', 'shop', 'beta'].slice(0, isOvertaken ? 1 : pick(random, [1, 2, 2, 3]));

  const operating = streamOf(hashOf('operator', seed));
  const handing = streamOf(hashOf('handover', seed));
  const revokesWhileStoring = (temper === 'late' || temper === 'mixed') && random() < 0.15;
  const everyMs = pick(random, [5_000, 12_000, 25_000]);
  const rates = ratesOf(temper, hashOf('rates', seed));
  const later = streamOf(hashOf('later', seed));
  const isDateWrong = !isOvertaken && later() < 0.15;
  const resyncs = isOvertaken || later() < 0.7 ? [] : resyncsOf(later, accounts, chaosMs);
  const rejectedAtOnce = later() < 0.2 ? rejectedAtOnceOf(later, accounts, chaosMs) : [];

  const changes = isOvertaken
    ? clustersOf(random, chaosMs)
    : changesOf(random, accounts, usualMs).map(
        isDateWrong || resyncs.length > 0 ? ofManyAdverts : (change) => change,
      );

  const portRates: ReadonlyMap<string, Partial<Rates>> = revokesWhileStoring
    ? new Map([['vault.write', { late: 0.3 }]])
    : ratesOfPorts(temper, hashOf('ports', seed));
  const troubles: Trouble[] = siege
    ? [{ key: 'siege', kind: siege, account: pick(waits, accounts), fromMs: 30_000, untilMs: chaosMs }]
    : moments('trouble', isOvertaken ? 0 : temper === 'late' ? 1 : 3).map(({ key, account, atMs }) => {
        const kind = pick(random, ['outage', 'block', 'bus-down', 'bus-down'] as const);
        return { key, kind, account, fromMs: atMs, untilMs: atMs + between(random, 5_000, 60_000) };
      });

  return {
    seed,
    limits: shortLimits as Limits,
    temper,
    rates: isDateWrong ? { ...rates, 'wrong-date': 0.3, 'cursor-rejected': 0.06 } : rates,
    ratesOfPorts: portRates,
    accounts,
    chaosMs,
    changes,
    troubles,
    ills: isOvertaken || siege ? [] : illsOf(streamOf(hashOf('ills', seed)), accounts, chaosMs),
    drains: drainsOf(random, chaosMs, everyMs),
    workers: isOvertaken ? 8 : temper === 'late' ? between(random, 3, 4) : stackWorkers,
    revocations:
      !isOvertaken && random() < 0.4
        ? moments('revocation', 4).map((one) => ({
            ...one,
            backMs: between(random, 0, pick(random, [500, 8_000, 60_000])),
            /** Only the scope that the bridge needs. */
            isOfScope: random() < 0.3,
          }))
        : [],
    departures:
      !isOvertaken && random() < 0.3
        ? moments('departure', 3).map((one) => ({
            ...one,
            // A generation is a time in seconds, and clocks differ.
            backMs: between(random, 6_000, 40_000),
            forgets: random() < 0.6,
            /** The user revokes the authorization this long before; 0: not at all. */
            revokedMs: pick(streamOf(hashOf(one.key, seed)), [0, 8_000, 40_000]),
          }))
        : [],
    handovers:
      !isOvertaken && handing() < 0.3
        ? moments('handover', 2, handing).map((one) => ({
            ...one,
            /** Disconnects first, and connects after this time; undefined: does not disconnect. */
            awayMs: pick(handing, [null, null, 500, 8_000, 30_000]) ?? undefined,
            /** At first, the person forgets to say that it is another user. */
            forgetsToSay: handing() < 0.6,
            revokedMs: pick(handing, [null, 500, 3_000]) ?? undefined,
          }))
        : [],
    /** Two people connect the same new name at the same time. */
    twins: streamOf(hashOf('twins', seed))() < 0.2,
    /** An account that stays revoked until the end. */
    lostAccount: accounts.length > 1 && random() < 0.1 ? accounts.at(-1) : undefined,
    redrives: moments('redrive', 6),
    rejections: [
      ...(!isOvertaken && random() < 0.4 ? moments('rejection', 3) : []),
      ...resyncs.map(({ key, account, rejectedMs }) => ({
        key: `${key}-rejected`,
        account,
        atMs: rejectedMs,
      })),
      ...rejectedAtOnce,
    ],
    audits: auditsOf(streamOf(hashOf('audits', seed)), accounts, changes, chaosMs),
    /** How many adverts of each account the drain audits a day; a run lasts some minutes. */
    auditSample: pick(streamOf(hashOf('audit-sample', seed)), [0, 0, 10_000]),
    resyncs,
    maxSkewMs: pick(random, [0, 0, 500, 2_500]),
    maxLateMs: isOvertaken ? 9_000 : pick(random, [1_500, 6_000, 20_000]),
    /** May be shorter than a batch takes, so that two workers have the same message. */
    visibilityMs: isOvertaken ? 800 : pick(random, [2_000, 5_000, 20_000]),
    maxAgeMs: siege
      ? 3 * siegeMs
      : temper === 'quiet' || isOvertaken
        ? 150_000
        : pick(random, [8_000, 30_000, 150_000]),
    advertTries: isOvertaken ? 1 : 3,
    maxGroups: isOvertaken ? 1 : 10,
    // Runs that poll several times continue until the next run is due.
    pollSeconds: everyMs === 25_000 ? pick(random, [60, 5, 10]) : 60,
    /** The account is revoked and connected again just when a refresh is about to store its token pair. */
    revokesWhileStoring,
    // A blocked address would look the same as a rejection with 403.
    rejectionStyle: rejectedAtOnce.length > 0 ? 1 : between(random, 0, 6),
    sendsDate: random() < 0.7,
    requestsPerSecond: pick(random, [4, 10, 50]),
    operatorPauses: siege ? [] : operatorPausesOf(operating, { accounts, chaosMs, temper }),
    /** The whole bridge is paused for the days at the end of a run: tokens must be kept alive even then. */
    pausesAtLast: operating() < 0.3,
    /** A person ends an open circuit, or a pause that the service asked for, if there is one. */
    lifts: moments('lift', 3, waits),
    publishedEvents: publishedEventsOf(streamOf(hashOf('published', seed))),
    circuitSeconds: pick(waits, [40, 40, 200]),
    siege,
    /** Longer waits happen outside the queue. */
    longestHiddenMs: isOvertaken ? 500 : 5_000,
    /** After so many receives, fan-out dead-letters a message; after more, the queue does. */
    maxReceives,
    // Many deliveries expire in this temper.
    queueMaxReceives: isOvertaken ? 240 : 3 * maxReceives,
    confirmUnavailableSeconds: pick(random, isOvertaken ? [0] : [0, 5, 30]),
    confirmUnchangedSeconds: pick(streamOf(hashOf('unchanged', seed)), isOvertaken ? [0] : [0, 2, 10]),
    overlapSeconds: 30,
    maxPauseSeconds: 3_600,
    service: {
      maxVisibilityMs: pick(random, [0, 3_000, 9_000]),
      maxPerPage: pick(random, resyncs.length > 0 ? [1, 2] : [1, 2, 5, 20]),
      // A siege is about messages, so tokens last longer than it.
      tokenLifeMs: siege ? 3 * siegeMs : between(random, 40, 200) * 1000,
      rotationMs: siege ? 3 * siegeMs : 600_000,
      idleMs: siege ? 4 * siegeMs : 900_000,
    },
  };
}

/** Uses many adverts, so that few of them are listed again: another listing would repair what was skipped. */
const ofManyAdverts = (change: PlannedChange, index: number): PlannedChange =>
  change.advertId === undefined ? change : { ...change, advertId: `5${index % 20}` };

/** Resyncs over a few minutes of changes, with the cursor rejected shortly after each one begins. */
const resyncsOf = (random: Random, accounts: readonly string[], chaosMs: number) =>
  Array.from({ length: between(random, 1, 2) }, (_, index) => {
    const atMs = between(random, chaosMs / 3, chaosMs);
    const rejectedMs = atMs + between(random, 50, 2_500);
    return {
      key: `resync-${index}`,
      account: pick(random, accounts),
      atMs,
      backMs: between(random, 40_000, 200_000),
      rejectedMs,
    };
  });

/** In half of the worlds. Most begin just after a change, which the feed may not list yet. */
const auditsOf = (
  random: Random,
  accounts: readonly string[],
  changes: readonly PlannedChange[],
  chaosMs: number,
): readonly AccountMoment[] =>
  Array.from({ length: random() < 0.5 ? 0 : between(random, 2, 4) }, (_, index) => {
    const { account, atMs } = pick(random, changes);
    const key = `audit-${index}`;
    return random() < 0.8
      ? { key, account, atMs: atMs + between(random, 0, 3_000) }
      : { key, account: pick(random, accounts), atMs: between(random, 0, chaosMs) };
  });

/** An account that is down or hangs for a minute at most, and an advert that nobody can read, perhaps to the end. */
function illsOf(random: Random, accounts: readonly string[], chaosMs: number): Ill[] {
  const ills: Ill[] = [];
  if (random() < 0.3) {
    const fromMs = between(random, 0, chaosMs);
    const untilMs = fromMs + between(random, 5_000, 60_000);
    const answer = pick(random, ['status-500', 'hangs', 'resets', 'status-503'] as const);
    const part = { of: pick(random, ['account', 'account', 'feed'] as const), advertIds: new Set<string>() };
    ills.push({ key: 'ill-account', account: pick(random, accounts), ...part, answer, fromMs, untilMs });
  }
  if (random() < 0.3) {
    const answers = ['wrong-shape', 'status-403', 'status-400', 'status-500', 'wait-1', 'wait-1'] as const;
    const answer = pick(random, answers);
    const advertIdsOfOne = new Set([pick(random, advertIds.slice(0, 2))]);
    // Some are published before.
    const fromMs = random() < 0.5 ? 0 : chaosMs * 0.75;
    // What may pass is given up only if another advert is answered well, and there may be none.
    const mayPass = answer === 'status-500' || answer === 'wait-1';
    const untilMs = random() < 0.5 || mayPass ? chaosMs : Number.POSITIVE_INFINITY;
    ills.push({
      ...{ key: 'ill-advert', account: pick(random, accounts), of: 'adverts', advertIds: advertIdsOfOne },
      ...{ answer, fromMs, untilMs },
    });
  }
  return ills;
}

/** Rejects the cursors of all accounts at once, one or more times. */
const rejectedAtOnceOf = (random: Random, accounts: readonly string[], chaosMs: number): AccountMoment[] =>
  Array.from({ length: between(random, 1, 3) }, () => between(random, 0, chaosMs)).flatMap((atMs, index) =>
    accounts.map((account) => ({ key: `rejected-at-once-${index}-${account}`, account, atMs })),
  );

const siegeMs = 25 * 60_000;
/** The number of workers of a stack at the default rate (infra/constructs/stages.ts). */
const stackWorkers = 2;

/** One after another, with gaps. Half of the seeds have none, because a pause could hide other faults. */
function operatorPausesOf(
  random: Random,
  { accounts, chaosMs, temper }: { accounts: readonly string[]; chaosMs: number; temper: Temper },
) {
  // In the temper `overtaken`, messages that accumulate during a longer pause would be received too often.
  const [shortestMs, longestMs, longestGapMs] =
    temper === 'overtaken' ? [1_000, 4_000, 8_000] : [3_000, 50_000, 90_000];
  const pauses = [];
  let atMs = random() < 0.5 ? chaosMs : between(random, 5_000, 40_000);
  while (atMs < chaosMs) {
    const lastsMs = between(random, shortestMs, longestMs);
    const endsByItself = random() < 0.3;
    pauses.push({
      ...{ key: `operator-pause-${pauses.length}`, atMs },
      /** undefined: the whole bridge. */
      account: random() < 0.3 ? undefined : pick(random, accounts),
      /** undefined: the pause has no end. */
      forMs: endsByItself ? lastsMs : random() < 0.5 ? undefined : 300_000,
      /** When it is resumed, relative to its start; undefined: it ends by itself. */
      resumedMs: endsByItself ? undefined : lastsMs,
      /** Also ends a pause that the service asked for. */
      early: random() < 0.3,
    });
    atMs += lastsMs + between(random, shortestMs, longestGapMs);
  }
  return pauses;
}

function publishedEventsOf(random: Random): PublishedEvents {
  if (random() < 0.85) return {};
  return pick(random, [{ publishStatuses: ['active'] }, { publishPartnerAccounts: ['main'] }]);
}

function changesOf(random: Random, accounts: readonly string[], chaosMs: number): PlannedChange[] {
  const count = between(random, 10, 70);
  const ids = advertIds.slice(0, pick(random, [1, 1, 2, 4]));
  const burstMs = pick(random, [0, 3_000, 20_000]);
  let burstAtMs = 0;
  return Array.from({ length: count }, (_, index) => {
    if (burstMs === 0 || random() < 0.2) burstAtMs = between(random, 0, chaosMs);
    const atMs = burstAtMs + between(random, 0, burstMs);
    const account = pick(random, accounts);
    const status = random() < 0.15 ? null : pick(random, statuses);
    const advertId = random() < 0.03 ? undefined : pick(random, ids);
    return { key: `change-${index}`, atMs, account, advertId, status };
  });
}

/**
 * Three changes of one advert within a quarter of a minute, then none, so that a late worker finds the result and
 * nothing newer. Or frequent changes of a single advert, so that two workers that fetch it shortly after each other
 * see different statuses.
 */
function clustersOf(random: Random, chaosMs: number): PlannedChange[] {
  const ids = pick(random, [advertIds, advertIds.slice(0, 1)]);
  return Array.from({ length: between(random, 56, 68) }, () => ({
    fromMs: between(random, 0, chaosMs),
    advertId: pick(random, ids),
  })).flatMap(({ fromMs, advertId }, cluster) =>
    [1, 2, 3].map((number) => ({
      key: `change-${3 * cluster + number}`,
      atMs: fromMs + between(random, 0, 15_000),
      account: 'main',
      advertId,
      status: pick(random, statuses),
    })),
  );
}

/** About every quarter of a minute; sometimes two at once. */
function drainsOf(random: Random, chaosMs: number, everyMs: number): Moment[] {
  const drains: Moment[] = [];
  for (
    let atMs = between(random, 0, 5_000);
    atMs < chaosMs;
    atMs += between(random, everyMs / 2, everyMs * 1.5)
  ) {
    const times = random() < 0.25 ? 2 : 1;
    for (let twin = 0; twin < times; twin += 1) drains.push({ key: `drain-${drains.length + 1}`, atMs });
  }
  return drains;
}
