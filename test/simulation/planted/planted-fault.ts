import type { createInMemoryState } from '../../fakes/state.ts';
import type { SimulateOptions } from '../run/simulate.ts';
import type { UseCases, Wiring } from '../world/stages.ts';
import { realUseCases } from '../world/use-cases.ts';
import { mutant, type Replacement } from './mutants.ts';

/**
 * A rule left out, to show that the simulation finds its absence. Where it changes the source, a comment there names it
 * (`// Planted fault: <name>`): who changes that line carries the fault along.
 */
export interface PlantedFault {
  readonly name: string;
  /** Where it changes the source; none for a fault in the wiring. */
  readonly mutations: readonly Mutation[];
  readonly plant: () => Promise<SimulateOptions>;
}

/** A fault in the wiring: ports that do less than they should, or settings. */
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
  /** Folder and module that the use case comes from, such as `functions/drain` and `drain.ts`. */
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
    let createState: typeof createInMemoryState | undefined;
    for (const { folder, entry, replacements } of mutations) {
      const changed = await mutant<Partial<UseCases> & { createInMemoryState?: typeof createInMemoryState }>(
        folder,
        entry,
        replacements,
      );
      Object.assign(useCases, changed);
      createState ??= changed.createInMemoryState;
    }
    return { wiring: { useCases }, ...(createState ? { createState } : {}) };
  },
});
