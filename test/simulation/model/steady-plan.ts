import type { Plan } from './draw-plan.ts';
import { stackLimits } from './limits.ts';
import type { Moment, PlannedChange } from './plan.ts';
import { between, pick, type Random } from './random.ts';

const minuteMs = 60_000;

export const drainEachMinute = (chaosMs: number): Moment[] =>
  Array.from({ length: Math.ceil(chaosMs / minuteMs) }, (_, index) => ({
    key: `drain-${index + 1}`,
    atMs: index * minuteMs,
  }));

/**
 * A quiet world as a stack has it: four accounts, a change about every five seconds, a drain every minute. Nothing goes
 * wrong, so that a delay has no reason but the one that a world adds.
 */
export function steadyPlan(plan: Plan, random: Random, accounts = ['main', 'shop', 'beta', 'dune']): Plan {
  const chaosMs = 20 * minuteMs;
  const rates = Object.fromEntries(Object.keys(plan.rates).map((kind) => [kind, 0])) as Plan['rates'];
  const changes: PlannedChange[] = [];
  for (let atMs = 0; atMs < chaosMs - 2 * minuteMs; atMs += between(random, 1_000, 9_000)) {
    const [account, advertId] = [pick(random, accounts), String(between(random, 100, 160))];
    const number = changes.length;
    changes.push({ key: `change-${number}`, atMs, account, advertId, status: `status-${number}` });
  }
  const pollSeconds = pick(random, [10, 60]);
  return {
    ...plan,
    ...{ accounts, rates, changes, chaosMs, drains: drainEachMinute(chaosMs), pollSeconds },
    ...{ temper: 'quiet', limits: stackLimits, workers: 2, ratesOfPorts: new Map() },
    ...{ troubles: [], ills: [], revocations: [], departures: [], handovers: [], rejections: [] },
    ...{ audits: [], redrives: [], resyncs: [], operatorPauses: [], lifts: [] },
    ...{ publishedEvents: {}, auditSample: 0 },
    ...{ sendsDate: true, twins: false, pausesAtLast: false, revokesWhileStoring: false },
    ...{ lostAccount: undefined, siege: undefined, maxSkewMs: 0, maxLateMs: 1_500 },
    ...{ visibilityMs: stackLimits.visibilityMs, maxAgeMs: 24 * 60 * minuteMs, longestHiddenMs: minuteMs },
    ...{ advertTries: 5, maxGroups: 10, maxReceives: 300, queueMaxReceives: 1_000 },
    ...{ requestsPerSecond: 10, circuitSeconds: 1_800, maxPauseSeconds: 3_600 },
    ...{ confirmUnavailableSeconds: 0, confirmUnchangedSeconds: 0 },
    service: {
      ...{ maxVisibilityMs: 3_000, maxPerPage: 100 },
      ...{ tokenLifeMs: 6 * minuteMs, rotationMs: 60 * minuteMs, idleMs: 120 * minuteMs },
    },
  };
}
