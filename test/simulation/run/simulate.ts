/** One run: takes a seed, and returns the violations. */
import { checkAuthorizations } from '../checks/authorizations.ts';
import { checkBacklog, checkBeside, checkRefusals, checkRequests } from '../checks/beside.ts';
import { checkBooks } from '../checks/books.ts';
import { checkDelays } from '../checks/delays.ts';
import { checkEvents } from '../checks/events.ts';
import { checkHistories } from '../checks/histories.ts';
import { checkListings } from '../checks/listings.ts';
import { checkQueue } from '../checks/queue.ts';
import { checkTokens } from '../checks/tokens.ts';
import type { Plan } from '../model/draw-plan.ts';
import type { Violation } from '../model/history.ts';
import type { Invariant } from '../model/invariants.ts';
import type { Incident } from '../model/run-log.ts';
import { epochMs } from '../model/scheduler.ts';
import { planOf, type WorldName } from '../model/worlds.ts';
import { createSimWorld, type SimWorld } from '../world/sim-world.ts';
import { createStages, type Wiring } from '../world/stages.ts';
import { createSupervisor } from '../world/supervisor.ts';

export interface SimulateOptions {
  readonly wiring: Wiring;
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
  /** How often each incident and each branch of the protocol occurred. */
  readonly coverage: ReadonlyMap<string, number>;
}

const minuteMs = 60_000;
/** By then, late calls of the chaos phase have arrived. */
const minCalmMs = 80_000;
/** Longer than backoff, a paused feed and messages that are too old take together. */
const maxCalmMs = 30 * minuteMs;

/** When, as a share of the chaos phase, a person asks for the adverts' histories. */
const sampled = [0.4, 0.7, 1];

export async function simulate(seed: number, options: SimulateOptions): Promise<Run> {
  const plan = planOf(seed, options.world);
  const world = await live(plan, options);
  const { history, log, coverage } = world;
  coverage.count(`world: ${plan.world ?? 'ordinary'}`);
  if (plan.backlogOf !== undefined) checkBacklog(world, plan.backlogOf);
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
  const { wiring, world: _name, without = new Set(), isTraced = false, ...stateOptions } = options;
  const world = createSimWorld(plan, { without, isTraced, ...stateOptions });
  const { scheduler, history } = world;
  const stages = createStages(world, wiring);
  const supervisor = createSupervisor(world, stages);
  const { readHistory } = wiring.useCases;
  const violated = (invariant: Invariant, message: string) => history.violated({ invariant, message });

  try {
    await supervisor.setUp();
    supervisor.begin();
    for (const part of sampled) {
      await scheduler.run(() => scheduler.now() >= epochMs + part * plan.chaosMs);
      await checkHistories(world, { readHistory, isOver: false });
    }
    await checkBooks(world);
    supervisor.calmDown();
    const isDone = await supervisor.untilIdle(minCalmMs, maxCalmMs);
    await supervisor.audit();
    await supervisor.people.redrive(0.5);
    const isDoneAgain = await supervisor.untilIdle(5_000, maxCalmMs);
    await checkListings(world);
    checkEvents(world);
    checkDelays(world);
    checkRequests(world);
    checkRefusals(world);
    await checkQueue(world);
    await checkHistories(world, { readHistory, isOver: isDone && isDoneAgain });
    await checkBooks(world);
    await supervisor.people.drop();
    await checkHistories(world, { readHistory, isOver: false });
    await supervisor.letDaysPass();
    await checkAuthorizations(world);
    await checkTokens(world, await supervisor.stoppedAccounts());
    // Checked last, because any specific reason has been reported by now.
    if (!isDone) violated('no-change-lost', 'half an hour after the last fault there is still work');
    else if (!isDoneAgain)
      violated('no-change-lost', 'half an hour later the redriven messages are still at work');
  } catch (error) {
    violated('run-ends', error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  return world;
}
