/** One run: takes a seed, and returns the violations. */
import { checkAuthorizations } from '../checks/authorizations.ts';
import { checkBacklog, checkBeside, checkRefusals, checkRequests, checkReturn } from '../checks/beside.ts';
import { checkBooks } from '../checks/books.ts';
import { checkEvents } from '../checks/events.ts';
import { checkHistories } from '../checks/histories.ts';
import { checkLatest, checkListings } from '../checks/listings.ts';
import { checkQueue } from '../checks/queue.ts';
import { checkRenewals } from '../checks/renewals.ts';
import { checkTokens } from '../checks/tokens.ts';
import { checkTurns } from '../checks/turns.ts';
import type { Plan } from '../model/draw-plan.ts';
import type { Violation } from '../model/history.ts';
import type { Incident } from '../model/run-log.ts';
import { epochMs } from '../model/scheduler.ts';
import { planOf, type WorldName } from '../model/worlds.ts';
import { createSimWorld, type SimWorld } from '../world/sim-world.ts';
import { createStages } from '../world/stages.ts';
import { createSupervisor } from '../world/supervisor.ts';

export interface SimulateOptions {
  /** Instead of the world that the seed draws. */
  readonly world?: WorldName | undefined;
  readonly without?: ReadonlySet<string>;
  readonly isTraced?: boolean;
}

export interface Run {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly incidents: readonly Incident[];
  readonly lines: readonly string[];
  readonly events: number;
  /** How often each incident and outcome occurred. */
  readonly coverage: ReadonlyMap<string, number>;
}

const minuteMs = 60_000;
/** By then, late calls of the chaos phase have arrived. */
const minCalmMs = 80_000;
/**
 * Longer than the backoff of a message that was received often, the wait for a witness and the look an hour later take
 * together.
 */
const maxCalmMs = 110 * minuteMs;

/** When, as a share of the chaos phase, a person asks for the adverts' histories. */
const sampled = [0.4, 0.7, 1];

export async function simulate(seed: number, options: SimulateOptions): Promise<Run> {
  const plan = planOf(seed, options.world);
  const world = await live(plan, options);
  const { history, log, coverage } = world;
  coverage.count(`world: ${plan.world ?? 'ordinary'}`);
  if (plan.advertLagMs !== undefined || plan.goneLong) checkLatest(world);
  if (plan.backlogOf !== undefined) checkBacklog(world, plan.backlogOf);
  if (plan.returnMs !== undefined) checkReturn(world, plan.returnMs);
  if (plan.renewals) checkRenewals(world);
  if (plan.turns) checkTurns(world);
  if (plan.healthy) checkBeside(world, await live(plan.healthy, { ...options, isTraced: false }));
  return {
    seed,
    violations: history.violations,
    incidents: log.incidents,
    lines: log.lines,
    events: world.scheduler.tick(),
    coverage: coverage.counts,
  };
}

/** Lets a world live to its end, and checks it. */
async function live(plan: Plan, options: SimulateOptions): Promise<SimWorld> {
  const { without = new Set(), isTraced = false } = options;
  const world = createSimWorld(plan, { without, isTraced });
  const { scheduler, history } = world;
  const stages = createStages(world);
  const supervisor = createSupervisor(world, stages);

  try {
    await supervisor.setUp();
    supervisor.begin();
    for (const part of sampled) {
      await scheduler.run(() => scheduler.now() >= epochMs + part * plan.chaosMs);
      await checkHistories(world, false);
    }
    await checkBooks(world);
    supervisor.calmDown();
    const isDone = await supervisor.untilIdle(minCalmMs, maxCalmMs);
    await supervisor.audit();
    await supervisor.finish(supervisor.people.redrive(0.5));
    const isDoneAgain = await supervisor.untilIdle(5_000, maxCalmMs);
    await checkListings(world);
    checkEvents(world);
    checkRequests(world);
    checkRefusals(world);
    await checkQueue(world);
    await checkHistories(world, isDone && isDoneAgain);
    await checkBooks(world);
    await supervisor.people.drop();
    await checkHistories(world, false);
    await supervisor.letDaysPass();
    await checkAuthorizations(world);
    await checkTokens(world, await supervisor.stoppedAccounts());
    // Checked last, because any specific reason has been reported by now.
    const message = isDone
      ? 'nearly two hours later the redriven messages are still at work'
      : 'nearly two hours after the last fault there is still work';
    if (!isDone || !isDoneAgain) history.violated({ invariant: 'no-change-lost', message });
  } catch (error) {
    history.violated({ invariant: 'run-ends', message: (error as Error).stack ?? String(error) });
  }
  return world;
}
