/** `npm run simulate`: runs seeds, and prints the story of the first one that fails. */

import { UsageError } from '../helpers/options.ts';
import { addCounts, coverageTable, missingOf } from './model/coverage.ts';
import { type Options, optionsOf, usage } from './options.ts';
import { plantedFaults, seedsUntilFound } from './planted/planted.ts';
import { inJobs, isJob, partsOf, report } from './run/jobs.ts';
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

/** Adds up what was run, here or in other processes. */
function createTotal({ from, count, isCounted }: Options) {
  const startedAt = performance.now();
  const counts = new Map<string, number>();
  let done = 0;
  const perMinute = () => Math.round(done / ((performance.now() - startedAt) / 60_000));
  return {
    add(coverage: Iterable<readonly [string, number]>): void {
      if (isJob) return void report([...coverage]);
      done += 1;
      addCounts(counts, coverage);
      if (done % 100 === 0) {
        progress(`${done} of ${count} seeds, ${perMinute()} a minute`, done % 1_000 === 0);
      }
    },
    /** @returns the exit code */
    print(): number {
      if (isJob) return 0;
      progress('');
      if (isCounted) say(`${coverageTable(counts)}\n`);
      const range = count === 1 ? `seed ${from}` : `seeds ${from} to ${from + count - 1}`;
      const missing = isCounted ? missingOf(counts) : [];
      say(`${range}: nothing violated, ${perMinute()} seeds a minute`);
      if (missing.length > 0) say(`Never occurred, so nothing was shown of it: ${missing.join('; ')}`);
      return missing.length > 0 ? 1 : 0;
    },
  };
}

async function runSeeds(options: Options, simulated: SimulateOptions, suffix = ''): Promise<number> {
  const { from, count, isTraced } = options;
  const total = createTotal(options);
  for (let seed = from; seed < from + count; seed += 1) {
    const run = await simulate(seed, simulated);
    if (run.violations.length > 0) {
      progress('');
      const inWorld = options.world === undefined ? '' : ` --world ${options.world}`;
      const command = `npm run simulate -- --seed ${seed}${inWorld}${suffix}`;
      say(storyOf(await shrink(run, simulated), { isWhole: isTraced, command }));
      return 1;
    }
    total.add(run.coverage);
  }
  if (isTraced) say((await simulate(from, { ...simulated, isTraced })).lines.join('\n'));
  return total.print();
}

async function runSeedsInJobs(options: Options): Promise<number> {
  const total = createTotal(options);
  const parts = partsOf(options.count, options.jobs).map(({ first, size }) => [
    ...['--from', String(options.from + first), '--seeds', String(size)],
    ...(options.world === undefined ? [] : ['--world', options.world]),
  ]);
  return (await inJobs<[string, number][]>(parts, total.add)) || total.print();
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
  if (options.jobs > 1) {
    const { from, count, jobs } = options;
    const common = ['--from', String(from), '--seeds', String(count), '--planted'];
    // Faults that are hard to find stand side by side.
    const shares = Array.from({ length: jobs }, (_, job) =>
      chosen.filter((_, index) => index % jobs === job),
    );
    return inJobs(shares.map((share) => [...common, share.map(({ name }) => name).join()]));
  }
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

function run(options: Options): Promise<number> {
  if (options.planted !== undefined) return runPlanted(options);
  // A story shows the stack of an error; otherwise, creating stacks takes a tenth of the time.
  if (!options.isSingle) Error.stackTraceLimit = 0;
  if (options.jobs > 1) return runSeedsInJobs(options);
  return runSeeds(options, { wiring: { useCases: realUseCases }, world: options.world });
}

try {
  const options = optionsOf(process.argv.slice(2));
  if (options.isHelp) say(usage);
  else process.exitCode = await run(options);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${usage}`);
  process.exitCode = 2;
}
