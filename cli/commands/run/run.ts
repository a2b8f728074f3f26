import { UsageError } from '../../../operations/errors.ts';
import type { AddCommand } from '../../shared/command.ts';
import { type ExitCode, exitCodes, type Io, say } from '../../shared/io.ts';
import { targetOf } from '../../shared/target.ts';
import { checkedRunOptions, withRunOptions } from './options.ts';

const help = `
Every event is one line of JSON on standard output. SIGTERM and SIGINT end the run when what is in hand is finished: exit
code 0. So does a reader of standard output that goes away (\`| head -1\`); what it did not take stays in the queue and is
delivered by the next run. With --until-idle: 0, or 3 when something is dead-lettered, a partner account is stopped, or a webhook does not take its events.

With --webhook events are stored first and then sent, signed by Standard Webhooks (\`advert-bridge webhook --help\`): one after
the other for each advert, again with backoff until they arrive. A webhook that is down holds up nobody else. What waits for
one is kept when the run ends, and sent by the next run that has the same --webhook.

Examples:
  advert-bridge run --local .advert-bridge --until-idle > events.ndjson
  advert-bridge run --local .advert-bridge --poll-seconds 5 --max-requests-per-second 50 --concurrency 20
  advert-bridge run --local .advert-bridge --webhook https://example.org/adverts --webhook https://example.com/hook --stdout`;

export const addRun: AddCommand = (program, io, end) =>
  withRunOptions(
    program
      .command('run')
      .summary('run the embedded bridge')
      .description(
        'Runs the bridge whose state is in a folder: polls the feeds, fetches each changed advert, gives events. A ' +
          'deployed stack runs by itself, on its schedule.',
      )
      .option('--local <DIR>', 'the folder that keeps the state (required)')
      .option('--verbose', 'say on standard error what is done, not just what goes wrong'),
  )
    .addHelpText('after', help)
    .action(async (options: RunOptions) => end(await run(io, options)));

interface RunOptions {
  readonly local?: string;
  readonly untilIdle?: boolean;
  readonly verbose?: boolean;
  readonly stdout?: boolean;
}

async function run(
  io: Io,
  { local, untilIdle = false, verbose = false, stdout = false, ...given }: RunOptions,
): Promise<ExitCode> {
  const options = checkedRunOptions(given);
  if (local === undefined) {
    throw new UsageError(
      '--local DIR is needed: the folder of the embedded bridge. A deployed stack runs by itself',
    );
  }
  const target = targetOf({ local });
  if (target.kind !== 'local') return exitCodes.usage;
  const { runBridge } = await import('./run-bridge.ts');
  const { needsPerson, stopped } = await runBridge(io, target, {
    ...options,
    untilIdle,
    verbose,
    stdout,
  });
  if (!untilIdle || stopped || !needsPerson) return exitCodes.done;
  say(io, `Something is left for a person: \`advert-bridge status --local ${local}\` says what.`);
  return exitCodes.needsPerson;
}
