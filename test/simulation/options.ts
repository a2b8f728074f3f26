import { UsageError, valuesOf, wholeNumber } from '../helpers/options.ts';
import { worldNames, worlds } from './model/worlds.ts';
import { plantedFaults } from './planted/planted.ts';

export const usage = `Usage: npm run simulate -- [options]

Runs the bridge's use cases over the in-memory ports with everything going wrong, and checks its invariants.

  --seeds N        how many seeds to run (1000)
  --from S         the first of them (1)
  --seed S         just this one; prints its violation as a story, shrunk to what has to happen for it
  --trace          with --seed: the story with every line, also when nothing is violated
  --coverage       how often each incident, and each branch of the protocol, occurred; fails when one never did
  --planted NAMES  with planted faults, one after the other, each of which has to be found within N seeds (5000);
                   names separated by commas, or "all"
  --world NAME     every seed in this world:
${worldNames.map((name) => `                     ${name.padEnd(16)}${worlds[name].says}`).join('\n')}
  --jobs N         shares the seeds, or the planted faults, among N processes (1)
  --help           this text

Exit codes: 0 nothing violated (with --planted: found), 1 violated (with --planted: not found; with --coverage: or something
never occurred), 2 usage.
`;

/** @throws {UsageError} */
export function optionsOf(args: readonly string[]) {
  const { trace, coverage, help, ...values } = valuesOf(args, {
    seeds: { type: 'string' },
    from: { type: 'string' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    coverage: { type: 'boolean', default: false },
    planted: { type: 'string' },
    jobs: { type: 'string' },
    world: { type: 'string' },
    help: { type: 'boolean', default: false },
  });
  const seed = wholeNumber('seed', values.seed);
  const from = wholeNumber('from', values.from);
  const seeds = wholeNumber('seeds', values.seeds, { least: 1 });
  const jobs = wholeNumber('jobs', values.jobs, { least: 1, most: 64 }) ?? 1;
  if (seed !== undefined && (from !== undefined || seeds !== undefined || jobs > 1))
    throw new UsageError('--seed runs a single seed: leave out --seeds, --from and --jobs');
  if (trace && seed === undefined) throw new UsageError('--trace needs --seed');
  const world = worldNames.find((name) => name === values.world);
  if (values.world !== undefined && !world)
    throw new UsageError(`--world: expected one of ${worldNames.join(', ')}`);
  const isPlanted = values.planted !== undefined;
  const names = values.planted?.split(',') ?? [];
  const planted = plantedFaults.filter(({ name }) => values.planted === 'all' || names.includes(name));
  if (planted.length < names.length)
    throw new UsageError(`--planted: expected all, ${plantedFaults.map(({ name }) => name).join(', ')}`);
  return {
    from: seed ?? from ?? 1,
    count: seed === undefined ? (seeds ?? (isPlanted ? 5_000 : 1_000)) : 1,
    /** A single, explicit seed: its violation is printed as a story. */
    isSingle: seed !== undefined,
    isTraced: trace,
    isCounted: coverage,
    planted,
    world,
    jobs,
    isHelp: help,
  };
}
