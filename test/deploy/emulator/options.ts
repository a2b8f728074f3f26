import { freshSeed, partsOf, valuesOf, wholeNumber } from '../../helpers/options.ts';

export const parts = ['journey', 'construct', 'drill', 'restore', 'chaos', 'ports'] as const;
const byDefault = parts.join(',');
export type Part = (typeof parts)[number];

export interface Options {
  readonly parts: readonly Part[];
  /** How often a function is killed, frozen or given its work twice. */
  readonly faults: number;
  readonly changes: number;
  readonly seed: number;
  readonly isHelp: boolean;
}

export const usage = `Usage: npm run test:deploy -- [options]

Deploys the stack with the CDK command line to MiniStack, beside a sandbox of the partner service, and takes it through
what a person and another team would do (journey); deploys two bridges more in an app of another team, out of the package
(construct); sets each alarm off and follows docs/operate/runbook.md until it ends (drill); loses tables and moves to
another region, as docs/operate/backup.md says (restore); kills the functions, or freezes them while others do their work,
while adverts change (chaos); and runs the adapters' conformance suites (ports). Stops all that it has started.

  --only PARTS  some of ${parts.join(', ')}, separated by commas (default: all)
  --faults N    chaos: how many times a function is struck in the middle of an invocation (24)
  --changes N   chaos: how many changes are made meanwhile (500)
  --seed S      chaos: decides changes, faults and moments; what the machine makes of them differs (default: fresh)
  --help        this text

Examples:
  npm run test:deploy
  npm run test:deploy -- --only chaos --faults 50 --changes 1000
  npm run test:deploy -- --only chaos --seed 42
  npm run test:deploy -- --only drill

Exit codes: 0 all right, 1 not, 2 usage.
`;

/** @throws {UsageError} */
export function optionsOf(args: readonly string[]): Options {
  const values = valuesOf(args, {
    only: { type: 'string' },
    faults: { type: 'string' },
    changes: { type: 'string' },
    seed: { type: 'string' },
    help: { type: 'boolean' },
  });
  return {
    parts: partsOf(parts, values.only ?? byDefault),
    faults: wholeNumber('faults', values.faults, { least: 1 }) ?? 24,
    changes: wholeNumber('changes', values.changes, { least: 1 }) ?? 500,
    seed: wholeNumber('seed', values.seed) ?? freshSeed(),
    isHelp: values.help ?? false,
  };
}
