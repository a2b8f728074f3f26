/** Worlds about the renewal of tokens; checks/renewals.ts counts what they cost. */
import type { Plan } from './draw-plan.ts';
import type { Ill, IllAnswer } from './ill.ts';
import { between, pick, type Random } from './random.ts';
import { steadyPlan } from './steady-plan.ts';

const minuteMs = 60_000;
const four = ['main', 'shop', 'beta', 'dune'];
const [fromMs, untilMs] = [3 * minuteMs, 13 * minuteMs];

/** The steady world with a backlog, in which the token endpoint is ill while every token runs out. */
export function tokensIllPlan(plan: Plan, random: Random): Plan {
  const accounts = pick(random, [['dune'], four, [...four, 'reed', 'sand', 'moor', 'cove', 'lake', 'glen']]);
  const steady = steadyPlan(plan, random, accounts);
  const answer = pick<IllAnswer>(random, [
    ...(['status-500', 'status-503', 'status-403', 'client-401', 'token-400', 'hangs'] as const),
  ]);
  const ill = (account: string): Ill => ({
    ...{ key: `ill-${account}`, account, of: 'tokens', advertIds: new Set() },
    ...{ answer, fromMs, untilMs },
  });
  if (accounts.length > 1 && random() < 0.6)
    return { ...steady, ills: [ill('dune')], healthy: steady, renewals: true };
  const backlog = Array.from({ length: 300 }, (_, index) => ({
    ...{ key: `more-${index}`, advertId: String(1_000 + index), status: 'new' },
    ...{ atMs: between(random, fromMs, untilMs), account: pick(random, accounts) },
  }));
  return { ...steady, changes: [...steady.changes, ...backlog], ills: accounts.map(ill), renewals: true };
}

/** The steady world with long-lived tokens, which the service ends early; one advert is answered 401 with any token. */
export function tokenEndsPlan(plan: Plan, random: Random): Plan {
  const account = 'dune';
  const steady = steadyPlan(plan, random);
  const changes = Array.from({ length: 8 }, (_, turn) => ({
    ...{ key: `ill-${turn}`, account, advertId: '1000', status: `status-${turn}` },
    atMs: fromMs + 60_000 * turn,
  }));
  const ill: Ill = {
    ...{ key: 'ill', account, of: 'adverts', advertIds: new Set(['1000']), answer: 'status-401' },
    ...{ fromMs, untilMs },
  };
  const ends = Array.from({ length: 6 }, (_, index) => ({
    ...{ key: `token-ends-${index}`, account: pick(random, [...four, account, account]) },
    atMs: between(random, minuteMs, 16 * minuteMs),
    diesUnnamed: index === 0,
  }));
  const service = { ...steady.service, tokenLifeMs: 60 * minuteMs };
  return {
    ...{ ...steady, service, ills: [ill], tokenEnds: ends, renewals: true },
    changes: [...steady.changes, ...changes],
  };
}

/**
 * The steady world, in which a refresh token works once, and the answer with the next one comes late. A token lives a
 * moment longer than the whole seconds that are said, and until then a renewal returns it again.
 */
export function strictTokensPlan(plan: Plan, random: Random): Plan {
  const steady = steadyPlan(plan, random);
  const service = { ...steady.service, onlyNewest: true, tokenLifeMs: steady.service.tokenLifeMs + 900 };
  return { ...steady, service, renewals: true, tokenAnswerMs: between(random, 0, 15_000) };
}
