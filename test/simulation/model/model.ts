import { createCoverage } from './coverage.ts';
import type { Plan } from './draw-plan.ts';
import { createHistory } from './history.ts';
import { hashOf } from './random.ts';
import { createRunLog, type ModelOptions } from './run-log.ts';
import { createScheduler } from './scheduler.ts';
import { createService } from './service.ts';

export type Model = ReturnType<typeof createModel>;

/** The facts of one run: its plan, virtual time, the partner service, and what the bridge really did. */
export function createModel(plan: Plan, { without, isTraced }: ModelOptions) {
  const scheduler = createScheduler(hashOf('scheduler', plan.seed));
  return {
    plan,
    scheduler,
    without,
    log: createRunLog({ scheduler, without, isTraced }),
    /** Whether things still go wrong. */
    phase: { chaos: true },
    coverage: createCoverage(),
    service: createService({ scheduler, ...plan.service }),
    history: createHistory(scheduler),
  };
}
