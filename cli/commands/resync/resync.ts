import { type PollReport, pollFeed } from '../../../functions/drain/poll-feed.ts';
import { CommandError, UsageError } from '../../../operations/errors.ts';
import { partnerAccountName } from '../../../shared/contract/checks.ts';
import { advertsFeed } from '../../../shared/domain/feed.ts';
import type { CatchUp } from '../../shared/catch-up.ts';
import { checkedOptions, momentOption } from '../../shared/check-options.ts';
import type { AddCommand } from '../../shared/command.ts';
import { type ExitCode, exitCodes, give, type Io, say } from '../../shared/io.ts';
import { startProgress } from '../../shared/progress.ts';
import { commandFor, type TargetOptions, targetOf, withJson, withTarget } from '../../shared/target.ts';
import { count } from '../../shared/wording.ts';
import { connectedAccount, withCatchUp } from '../../targets/catch-up.ts';

const help = `
The stored cursor is dropped with the first page that the queue has accepted, not before: if the service refuses TIME, perhaps
because it lies too far back, all stays as it was. Each advert named since is looked at again (cause "resync"); one whose
status was published already gets no event. Ctrl-C stops after the page in hand, and the bridge itself reads on from there.

Examples:
  advert-bridge resync main --since 2026-11-20T12:00:00Z --local .advert-bridge
  advert-bridge resync main --since 2026-11-20T12:00:00Z   (the deployed stack)`;

export const addResync: AddCommand = (program, io, end) =>
  withJson(withTarget(program.command('resync')))
    .summary('read the feed again from a time')
    .description(
      "Reads a partner account's feed again from a time, and goes on from there: for when changes may have been missed.",
    )
    .argument('<NAME>', 'the partner account')
    .option('--since <TIME>', 'where reading begins, with its time zone (required)')
    .addHelpText('after', help)
    .action(async (name: string, options: ResyncOptions) => end(await resync(io, name, options)));

interface ResyncOptions extends TargetOptions {
  readonly since?: string;
  readonly json?: boolean;
}

/** The bridge may be reading at this moment: its turn ends soon, a dead one's lease after a minute and a half. */
const maxHeldMs = 120_000;
const lookMs = 500;
const backlogLookMs = 2_000;
const pollMs = 10 * 60_000;

async function resync(io: Io, given: string, options: ResyncOptions): Promise<ExitCode> {
  const target = targetOf(options);
  const { name, since } = checkedOptions(
    { name: partnerAccountName, since: momentOption },
    { ...options, name: given },
    { name: 'NAME' },
  );
  if (Date.parse(since) > Date.now()) {
    throw new UsageError(`--since: ${since} lies in the future by this machine's clock`);
  }
  const signal = io.untilStopped();
  const { listed, finished } = await withCatchUp(target, async (catchUp) => {
    await connectedAccount(catchUp, name, target);
    return readAgain(io, catchUp, name, since, signal);
  });
  if (options.json) give(io, { partnerAccount: name, since, listed, finished });
  else if (finished) {
    say(io, `Read the feed of ${name} again since ${since}: ${count(listed)} adverts are looked at again.`);
    const next = target.kind === 'local' ? 'run' : `status ${name}`;
    say(io, `Next: \`${commandFor(target, next)}\``);
  } else {
    say(
      io,
      listed === 0
        ? 'Stopped before anything was changed.'
        : `Stopped after ${count(listed)} adverts: the bridge reads on from there.`,
    );
  }
  return finished ? exitCodes.done : exitCodes.needsPerson;
}

async function readAgain(
  io: Io,
  { poll }: CatchUp,
  partnerAccount: string,
  since: string,
  signal: AbortSignal,
): Promise<{ readonly listed: number; readonly finished: boolean }> {
  const { clock } = poll;
  let listed = 0;
  let isBegun = false;
  let heldSince: number | undefined;
  let line = 'waiting for the feed';
  const progress = startProgress(io, async () => line);
  try {
    for (;;) {
      if (signal.aborted) return { listed, finished: false };
      // Later calls go on from the cursor that the first page brought.
      const report: PollReport = await pollFeed(poll, advertsFeed, partnerAccount, {
        deadlineMs: clock.now() + pollMs,
        signal,
        resync: isBegun ? {} : { since },
      });
      listed += report.listed;
      isBegun ||= report.pages > 0;
      line = `${count(listed)} adverts listed`;
      if (report.end === 'up-to-date') return { listed, finished: true };
      if (report.end === 'fault') throw report.fault;
      if (report.end === 'unknown-feed')
        throw new CommandError(`the feed of ${partnerAccount} is not known: connect it again`);
      if (report.end === 'held' || report.end === 'lease-lost') {
        heldSince ??= clock.now();
        if (clock.now() - heldSince > maxHeldMs) {
          throw new CommandError(
            'the bridge itself has been reading the feed for two minutes: try again later',
          );
        }
        await clock.sleep(lookMs, signal);
      } else {
        heldSince = undefined;
        if (report.end === 'backlog') {
          line = `${count(listed)} adverts listed, waiting for the queue to empty`;
          await clock.sleep(backlogLookMs, signal);
        }
      }
    }
  } finally {
    progress.stop();
  }
}
