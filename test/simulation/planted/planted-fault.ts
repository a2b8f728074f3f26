import type { SimulateOptions } from '../run/simulate.ts';
import type { UseCases, Wiring } from '../world/stages.ts';
import { realUseCases } from '../world/use-cases.ts';
import { mutant, type Replacement } from './mutants.ts';

/**
 * A rule that is left out on purpose, to show that the simulation finds its absence. If the fault changes the source, a
 * comment there names it (`// Planted fault: <name>`): whoever changes that line must adapt the fault.
 */
export interface PlantedFault {
  readonly name: string;
  /** The changes of the source; empty for a fault in the wiring. */
  readonly mutations: readonly Mutation[];
  readonly plant: () => Promise<SimulateOptions>;
}

/** A fault in the wiring: ports that do less than they should, or wrong settings. */
export const plantedWiring = (
  name: string,
  wiring: Omit<Wiring, 'useCases'>,
  options: Partial<SimulateOptions> = {},
): PlantedFault => ({
  name,
  mutations: [],
  plant: async () => ({ wiring: { useCases: realUseCases, ...wiring }, ...options }),
});

export interface Mutation {
  /** Folder and module of the use case, such as `functions/drain` and `drain.ts`. */
  readonly folder: string;
  readonly entry: string;
  readonly replacements: readonly Replacement[];
}

/** A fault in the source. */
export const plantedSource = (name: string, mutations: readonly Mutation[]): PlantedFault => ({
  name,
  mutations,
  async plant() {
    const useCases: UseCases = { ...realUseCases };
    for (const { folder, entry, replacements } of mutations) {
      Object.assign(useCases, await mutant<Partial<UseCases>>(folder, entry, replacements));
    }
    return { wiring: { useCases } };
  },
});
