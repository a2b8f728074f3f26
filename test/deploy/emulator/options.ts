import { checkCommand, namesOf, seedOption, wholeNumber } from '../../helpers/options.ts';

const parts = ['journey', 'construct', 'drill', 'restore', 'chaos', 'move', 'ports'] as const;

export interface Options {
  readonly only: readonly (typeof parts)[number][];
  readonly faults: number;
  readonly changes: number;
  readonly seed: number;
}

const description = [
  'Deploys the stack with the CDK command line to MiniStack, beside a sandbox of the partner service, and takes it',
  'through what a person and another team would do (journey); deploys two bridges more in an app of another team, out of',
  'the package (construct); sets each alarm off and follows docs/operate/runbook.md until it ends (drill); loses tables',
  'and moves to another region, as docs/operate/backup.md says (restore); kills the functions, or freezes them while',
  "others do their work, while adverts change (chaos); moves a folder's accounts to the stack, killed at each write (move); and runs the",
  "adapters' conformance suites (ports). Stops all that",
  'it has started.',
].join(' ');

/** The options of this process; ends it if they are wrong. */
export const optionsOf = (): Options =>
  checkCommand('test:deploy', description, '0 all right, 1 not')
    .option('--only <parts>', `some of ${parts.join(', ')}, separated by commas`, namesOf(parts), parts)
    .option('--faults <n>', 'chaos: how often a function is struck during an invocation', wholeNumber(1), 24)
    .option('--changes <n>', 'chaos: how many changes are made meanwhile', wholeNumber(1), 500)
    .addOption(
      seedOption('chaos: decides changes, faults and moments; what the machine makes of them differs'),
    )
    .parse()
    .opts<Options>();
