/** The table of planted faults, with how many seeds each took: `npm run simulate -- --planted all --table`. */
import { seedsUntilFound } from './planted.ts';
import type { PlantedFault } from './planted-fault.ts';
import { plantedRules } from './rules.ts';

/** Far enough apart, so that no two searches share a seed. */
const startingSeeds = [1, 100_001, 200_001, 300_001, 400_001];

export interface Row {
  readonly name: string;
  /** Number of seeds of each search; Infinity if it found nothing. */
  readonly seeds: readonly number[];
  readonly invariants: readonly string[];
}

export async function measure(fault: PlantedFault, count: number): Promise<Row> {
  const seeds: number[] = [];
  const invariants = new Set<string>();
  for (const from of startingSeeds) {
    const found = await seedsUntilFound(fault, { from, count });
    seeds.push(found?.seeds ?? Number.POSITIVE_INFINITY);
    if (found) invariants.add(found.invariant);
  }
  return { name: fault.name, seeds: seeds.sort((a, b) => a - b), invariants: [...invariants].sort() };
}

const shown = (seeds: number | undefined): string =>
  seeds === undefined || seeds === Number.POSITIVE_INFINITY ? 'not found' : seeds.toLocaleString('en');

export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ name, seeds, invariants }) => {
    const median = seeds[Math.floor(seeds.length / 2)];
    return `| ${name} | ${plantedRules[name]} | ${invariants.join(', ')} | ${shown(median)} | ${shown(seeds.at(-1))} |`.replace(
      /^\| (\S+)/,
      '| `$1`',
    );
  });
  return [
    '| planted fault | rule left out | found as | seeds, median | worst |',
    '|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}
