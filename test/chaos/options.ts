import { freshSeed, partsOf, valuesOf, wholeNumber } from '../helpers/options.ts';

export const parts = ['kills', 'disk', 'lock'] as const;
export type Part = (typeof parts)[number];

export interface Options {
  readonly kills: number;
  readonly changes: number;
  readonly seed: number;
  readonly parts: readonly Part[];
  /** Keeps the folder with state and output. */
  readonly keep: boolean;
  readonly isHelp: boolean;
}

export const usage = `Usage: npm run chaos -- [options]

Kills the embedded bridge again and again while adverts change, fills its disk, locks its state; then checks that every
subscriber's history is right and that nothing was lost.

  --kills N     how many times it is killed with SIGKILL (200)
  --changes N   how many changes are made meanwhile (5000)
  --seed S      decides changes, faults and moments; what the machine makes of them differs a little (default: fresh)
  --only PARTS  some of ${parts.join(', ')}, separated by commas (default: all)
  --keep        leave the bridge's folder and its output behind, and say where
  --help        this text

Exit codes: 0 all right, 1 not, 2 usage.
`;

/** @throws {UsageError} */
export function optionsOf(args: readonly string[]): Options {
  const values = valuesOf(args, {
    kills: { type: 'string' },
    changes: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string' },
    keep: { type: 'boolean' },
    help: { type: 'boolean' },
  });
  return {
    kills: wholeNumber('kills', values.kills) ?? 200,
    changes: wholeNumber('changes', values.changes) ?? 5_000,
    seed: wholeNumber('seed', values.seed) ?? freshSeed(),
    parts: partsOf(parts, values.only),
    keep: values.keep ?? false,
    isHelp: values.help ?? false,
  };
}
