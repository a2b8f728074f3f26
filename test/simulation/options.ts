import { UsageError, valuesOf, wholeNumber } from '../helpers/options.ts';
import { type WorldName, worldNames, worlds } from './model/worlds.ts';

export interface Options {
  readonly from: number;
  readonly count: number;
  /** A single, explicit seed: its violation is printed as a story. */
  readonly isSingle: boolean;
  readonly isTraced: boolean;
  /** Also prints how often each incident and branch occurred. */
  readonly isCounted: boolean;
  /** Names of planted faults, or `all`. */
  readonly planted: string | undefined;
  /** The world of every seed, in place of the one that it draws. */
  readonly world: WorldName | undefined;
  /** How many processes share the seeds, or the planted faults. */
  readonly jobs: number;
  readonly isHelp: boolean;
}

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
export function optionsOf(args: readonly string[]): Options {
  const values = valuesOf(args, {
    seeds: { type: 'string' },
    from: { type: 'string' },
    seed: { type: 'string' },
    trace: { type: 'boolean' },
    coverage: { type: 'boolean' },
    planted: { type: 'string' },
    jobs: { type: 'string' },
    world: { type: 'string' },
    help: { type: 'boolean' },
  });
  const seed = wholeNumber('seed', values.seed);
  const from = wholeNumber('from', values.from);
  const seeds = wholeNumber('seeds', values.seeds);
  if (seed !== undefined && (from !== undefined || seeds !== undefined)) {
    throw new UsageError('--seed runs a single seed: leave out --seeds and --from');
  }
  if (values.trace && seed === undefined) throw new UsageError('--trace needs --seed');
  if (seeds === 0) throw new UsageError('--seeds: expected at least 1');
  const jobs = wholeNumber('jobs', values.jobs, { least: 1, most: 64 }) ?? 1;
  if (jobs > 1 && seed !== undefined) {
    throw new UsageError('--jobs shares seeds or planted faults: leave out --seed');
  }
  const world = worldNames.find((name) => name === values.world);
  if (values.world !== undefined && !world) {
    throw new UsageError(`--world: expected one of ${worldNames.join(', ')}`);
  }
  return {
    jobs,
    world,
    from: seed ?? from ?? 1,
    count: seed === undefined ? (seeds ?? (values.planted === undefined ? 1_000 : 5_000)) : 1,
    isSingle: seed !== undefined,
    isTraced: values.trace ?? false,
    isCounted: values.coverage ?? false,
    planted: values.planted,
    isHelp: values.help ?? false,
  };
}
