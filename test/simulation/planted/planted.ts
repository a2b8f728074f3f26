/** Checks the checker: each rule of the protocols is left out once, and the simulation must notice it. */
import type { Violation } from '../model/history.ts';
import type { Invariant } from '../model/invariants.ts';
import { simulate } from '../run/simulate.ts';
import { realUseCases } from '../world/use-cases.ts';
import { plantedInPipeline } from './pipeline.ts';
import { type PlantedFault, plantedFault } from './planted-fault.ts';
import { plantedInService } from './service.ts';

export const plantedFaults = [...plantedInPipeline, ...plantedInService].map(plantedFault);

export interface Found {
  /** Number of seeds until the fault was found, including the last one. */
  readonly seeds: number;
  readonly seed: number;
  readonly invariant: Invariant;
  readonly message: string;
}

/** @returns undefined when none of `count` seeds, starting with `from`, finds the fault */
export async function seedsUntilFound(
  fault: PlantedFault,
  { from, count }: { readonly from: number; readonly count: number },
): Promise<Found | undefined> {
  const options = await fault.plant();
  for (let seeds = 1; seeds <= count; seeds += 1) {
    const seed = from + seeds - 1;
    const [violation]: readonly Violation[] = (await simulate(seed, options)).violations;
    if (!violation || (await isViolatedAnyway(seed, violation.invariant))) continue;
    return { seeds, seed, invariant: violation.invariant, message: violation.message };
  }
  return undefined;
}

/** A violation that also occurs without the planted fault does not count. */
async function isViolatedAnyway(seed: number, invariant: Invariant): Promise<boolean> {
  const { violations } = await simulate(seed, { wiring: { useCases: realUseCases } });
  return violations.some((violation) => violation.invariant === invariant);
}
