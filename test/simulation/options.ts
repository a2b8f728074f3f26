import { Option } from 'commander';
import { checkCommand, namesOf, wholeNumber } from '../helpers/options.ts';
import { type WorldName, worldNames, worlds } from './model/worlds.ts';
import { plantedFaults } from './planted/planted.ts';

const names = plantedFaults.map(({ name }) => name);
const described = worldNames.map((name) => `  ${name.padEnd(20)}${worlds[name].says}`).join('\n');

interface Given {
  readonly seeds?: number;
  readonly from: number;
  readonly seed?: number;
  readonly trace: boolean;
  readonly coverage: boolean;
  readonly planted?: readonly string[];
  readonly jobs: number;
  readonly world?: WorldName;
}

/** The options of this process; ends it if they are wrong. */
export function optionsOf() {
  const command = checkCommand(
    'simulate',
    "Runs the bridge's use cases over the in-memory ports with everything going wrong, and checks its invariants.",
    '0 nothing violated (with --planted: found), 1 violated (not found; with --coverage: something never occurred)',
  )
    .option('--seeds <n>', 'how many seeds to run (1000; with --planted 5000)', wholeNumber(1))
    .option('--from <seed>', 'the first of them', wholeNumber(), 1)
    .addOption(
      new Option(
        '--seed <seed>',
        'only this one; its violation as a story, shrunk to what has to happen for it',
      )
        .argParser(wholeNumber())
        .conflicts(['seeds', 'from', 'jobs']),
    )
    .option('--trace', 'with --seed: every line of the story, also if nothing is violated', false)
    .option('--coverage', 'how often each incident occurred; fails if one never did', false)
    .option(
      '--planted <names>',
      'with planted faults, one after the other, each of which has to be found: names separated by commas, or "all"',
      (text: string) => (text === 'all' ? names : namesOf(names)(text)),
    )
    .addOption(new Option('--world <name>', 'every seed in this world').choices(worldNames))
    .option('--jobs <n>', 'shares the seeds, or the planted faults, among N processes', wholeNumber(1, 64), 1)
    .addHelpText('after', `\nWorlds:\n${described}`)
    .parse();
  const { seeds, seed, from, trace, coverage, planted, jobs, world } = command.opts<Given>();
  if (trace && seed === undefined) command.error("error: option '--trace' needs '--seed'");
  return {
    from: seed ?? from,
    count: seed === undefined ? (seeds ?? (planted ? 5_000 : 1_000)) : 1,
    /** A single, explicit seed: its violation is printed as a story. */
    isSingle: seed !== undefined,
    isTraced: trace,
    isCounted: coverage,
    planted: plantedFaults.filter(({ name }) => planted?.includes(name)),
    ...{ world, jobs },
  };
}
