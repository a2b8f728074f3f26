/** Planted faults in `history`: facts that its answer must consider. */
import { type PlantedFault, plantedSource } from './planted-fault.ts';

const entry = 'history.ts';

const planted = (name: string, from: string, to: string): PlantedFault =>
  plantedSource(name, [{ folder: 'operations', entry, replacements: [{ file: entry, from, to }] }]);

export const plantedInHistory: readonly PlantedFault[] = [
  planted('history-ignores-pending', 'return row.pending ? null : true;', 'return true;'),
  planted(
    'history-without-aside',
    "if (waiting.length > 0) return 'aside';",
    "if (waiting.length > 1e9) return 'aside';",
  ),
];
