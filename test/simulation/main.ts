/** `npm run simulate`: runs seeds, and prints the story of the first one that fails. */

import { UsageError } from '../helpers/options.ts';
import { addCounts, coverageTable, missingOf } from './model/coverage.ts';
import { type Options, optionsOf, usage } from './options.ts';
import { plantedFaults, seedsUntilFound } from './planted/planted.ts';
import { measure, type Row, tableOf, writeTable } from './planted/table.ts';
import { shrink } from './run/shrink.ts';
import { type SimulateOptions, simulate } from './run/simulate.ts';
import { storyOf } from './run/story.ts';
import { realUseCases } from './world/use-cases.ts';

const say = (text: string) => process.stdout.write(`${text}\n`);

/** Overwrites one line on a terminal. Without a terminal, prints only lines meant for a log. */
function progress(text: string, isLogged = false): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text}\x1b[K`);
  else if (isLogged) process.stderr.write(`${text}\n`);
}

async function runSeeds(
  { from, count, isTraced, isCounted }: Options,
  options: SimulateOptions,
  suffix = '',
): Promise<number> {
  const startedAt = performance.now();
  const perMinute = (done: number) => Math.round(done / ((performance.now() - startedAt) / 60_000));
  const counts = new Map<string, number>();
  for (let done = 0; done < count; done += 1) {
    const seed = from + done;
    const run = await simulate(seed, options);
    addCounts(counts, run.coverage);
    if (run.violations.length > 0) {
      progress('');
      const command = `npm run simulate -- --seed ${seed}${suffix}`;
      say(storyOf(await shrink(run, options), { isWhole: isTraced, command }));
      return 1;
    }
    if (done % 100 === 99) {
      progress(`${done + 1} of ${count} seeds, ${perMinute(done + 1)} a minute`, done % 1_000 === 999);
    }
  }
  progress('');
  if (isTraced) say((await simulate(from, { ...options, isTraced })).lines.join('\n'));
  if (isCounted) say(`${coverageTable(counts)}\n`);
  const range = count === 1 ? `seed ${from}` : `seeds ${from} to ${from + count - 1}`;
  const missing = isCounted ? missingOf(counts) : [];
  say(`${range}: nothing violated, ${perMinute(count)} seeds a minute`);
  if (missing.length > 0) say(`Never occurred, so nothing was shown of it: ${missing.join('; ')}`);
  return missing.length > 0 ? 1 : 0;
}

async function runTable(count: number): Promise<number> {
  const rows: Row[] = [];
  for (const fault of plantedFaults) {
    progress(fault.name);
    const row = await measure(fault, count);
    progress('');
    say(`${row.name.padEnd(30)} ${row.seeds.join(' ')}`);
    rows.push(row);
  }
  writeTable(tableOf(rows));
  return rows.every(({ seeds }) => seeds.every(Number.isFinite)) ? 0 : 1;
}

async function runPlanted(options: Options): Promise<number> {
  const names = options.planted?.split(',') ?? [];
  const chosen = plantedFaults.filter(({ name }) => options.planted === 'all' || names.includes(name));
  if (chosen.length === 0 || (options.planted !== 'all' && chosen.length < names.length)) {
    throw new UsageError(`--planted: expected all, ${plantedFaults.map(({ name }) => name).join(', ')}`);
  }
  if (options.isSingle) {
    const [fault] = chosen;
    return fault ? runSeeds(options, await fault.plant(), ` --planted ${fault.name}`) : 2;
  }
  if (options.isTable) return runTable(options.count);
  let isAnyMissed = false;
  for (const fault of chosen) {
    progress(fault.name);
    const found = await seedsUntilFound(fault, options);
    progress('');
    isAnyMissed ||= !found;
    const what = found
      ? `${String(found.seeds).padStart(5)} seeds  ${found.invariant.padEnd(21)}`
      : 'NOT FOUND'.padEnd(34);
    say(`${fault.name.padEnd(30)} ${what}  ${found?.message ?? ''}`);
  }
  return isAnyMissed ? 1 : 0;
}

try {
  const options = optionsOf(process.argv.slice(2));
  if (options.isHelp) say(usage);
  else if (options.planted !== undefined) process.exitCode = await runPlanted(options);
  else process.exitCode = await runSeeds(options, { wiring: { useCases: realUseCases } });
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${usage}`);
  process.exitCode = 2;
}
