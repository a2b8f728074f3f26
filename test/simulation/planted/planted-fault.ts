import type { SimulateOptions } from '../run/simulate.ts';
import type { Wiring } from '../world/stages.ts';
import { realUseCases, type UseCases } from '../world/use-cases.ts';
import { mutant, type Replacement } from './mutants.ts';

/** Path of a source, text that occurs in it once, and what takes its place. */
type Change = readonly [file: string, from: string, to: string];
/** Ports that do less than they should, or wrong settings. */
type Rewiring = Omit<Wiring, 'useCases'>;

export type PlantedRow = readonly [name: string, rule: string, ...how: (Change | Rewiring)[]];

export const wiring = (change: Rewiring): Rewiring => change;

/**
 * A rule that is left out on purpose, to show that the simulation finds its absence. In the source, a comment above the
 * changed line names the fault (`// Rule: <name>`): whoever changes that line must adapt the fault.
 */
export interface PlantedFault {
  readonly name: string;
  /** The rule that the fault leaves out. */
  readonly rule: string;
  readonly mutations: readonly Mutation[];
  readonly plant: () => Promise<SimulateOptions>;
}

interface Mutation {
  readonly folder: string;
  readonly replacements: readonly Replacement[];
}

/** The folders that are changed, each with the modules of it from which the use cases are taken. */
const entries: Readonly<Record<string, readonly string[]>> = {
  'functions/drain': ['drain.ts', 'poll-feed.ts'],
  'functions/fan-out': ['fan-out.ts'],
  'functions/refresh-token': ['refresh-token.ts'],
  'functions/connect': ['connect.ts'],
  'shared/state': ['feed-states.ts'],
  shared: ['partner-api/partner-service.ts'],
  operations: ['audit.ts', 'history.ts'],
};

const isChange = (how: Change | Rewiring): how is Change => Array.isArray(how);
const folderOf = (file: string): string =>
  Object.keys(entries).find((folder) => file.startsWith(`${folder}/`)) ?? '';

export function plantedFault([name, rule, ...how]: PlantedRow): PlantedFault {
  const byFolder = Map.groupBy(how.filter(isChange), ([file]) => folderOf(file));
  const mutations = [...byFolder].map(([folder, changes]) => ({
    folder,
    replacements: changes.map(([file, from, to]) => ({ file: file.slice(folder.length + 1), from, to })),
  }));
  return {
    ...{ name, rule, mutations },
    async plant() {
      const useCases: UseCases = { ...realUseCases };
      for (const { folder, replacements } of mutations)
        for (const entry of entries[folder] ?? [])
          Object.assign(useCases, await mutant<Partial<UseCases>>(folder, entry, replacements));
      return { wiring: Object.assign({ useCases }, ...how.filter((one) => !isChange(one))) };
    },
  };
}
