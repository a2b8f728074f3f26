import * as v from 'valibot';
import { CommandError, UsageError } from '../../../operations/errors.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { checkedOptions, momentOption } from '../../shared/check-options.ts';
import type { AddCommand } from '../../shared/command.ts';
import { explained } from '../../shared/explain.ts';
import { type ExitCode, exitCodes, give, type Io, say } from '../../shared/io.ts';
import { startProgress } from '../../shared/progress.ts';
import {
  commandFor,
  type Target,
  type TargetOptions,
  targetOf,
  withJson,
  withTarget,
} from '../../shared/target.ts';

const help = `
The bus's archive keeps what was published for 90 days. A replay sends it again, with the eventId that it had, to the targets of
one rule: give the subscriber's with --rule, by its name or, for a rule of another AWS account, by its ARN. EventBridge keeps no
order, and takes some minutes to archive an event. TO lies before now.

Ctrl-C stops watching, and the replay goes on; --cancel ends it.

Examples:
  advert-bridge replay --from 2026-11-19T00:00:00Z --to 2026-11-20T00:00:00Z --rule OnAdvertChange
  advert-bridge replay --from 2026-11-19T00:00:00Z --to 2026-11-20T00:00:00Z --every-rule
  advert-bridge replay --cancel advert-bridge-20261121081500000-a1b2c3`;

export const addReplay: AddCommand = (program, io, end) =>
  withJson(withTarget(program.command('replay')))
    .summary('send archived events again to one subscriber')
    .description(
      "Sends what was published between two times again, from the bus's archive, to the subscriber of one rule. Of a " +
        'deployed stack: an embedded bridge has no archive.',
    )
    .option('--from <TIME>', 'where it begins, with its time zone (required)')
    .option('--to <TIME>', 'where it ends (required)')
    .option('--rule <NAME>', "the subscriber's rule on the bus, by its name or ARN")
    .option('--every-rule', 'instead: to all subscribers')
    .option('--archive <NAME>', 'which archive, where the bus has several')
    .option('--no-wait', 'do not wait for its end')
    .option('--cancel <REPLAY>', 'end a replay that was started before')
    .addHelpText('after', help)
    .action(async (options: ReplayOptions) => end(await replay(io, options)));

interface ReplayOptions extends TargetOptions {
  readonly from?: string;
  readonly to?: string;
  readonly rule?: string;
  readonly everyRule?: boolean;
  readonly archive?: string;
  readonly wait: boolean;
  readonly cancel?: string;
  readonly json?: boolean;
}

const lookMs = 2_000;
const text = v.pipe(v.string(), v.regex(/^[\w.:/@-]{1,512}$/, 'expected a name or an ARN'));
const entries = { from: momentOption, to: momentOption, rule: v.optional(text), archive: v.optional(text) };

type Replays = Awaited<ReturnType<typeof import('../../../operations/replay.ts').openReplays>>;

async function replay(io: Io, options: ReplayOptions): Promise<ExitCode> {
  const target = targetOf(options);
  if (target.kind === 'local') {
    throw new UsageError(
      "an embedded bridge has no archive. Every advert's latest event: `" +
        commandFor(target, 'snapshot') +
        '`',
    );
  }
  if (options.cancel !== undefined) return withReplays(target, (replays) => cancel(io, replays, options));
  const { from, to, rule, archive } = checkedOptions(entries, { ...options });
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  if (fromMs >= toMs) throw new UsageError('--to has to lie after --from');
  if (toMs > Date.now()) throw new UsageError(`--to: ${to} lies in the future by this machine's clock`);
  if ((rule === undefined) === !options.everyRule) {
    throw new UsageError(
      'either --rule NAME, the rule of the one subscriber that is to get the events, or --every-rule: all of them',
    );
  }
  return withReplays(target, async (replays) => {
    const { name, warning } = await replays.start({
      stack: target.stack,
      fromMs,
      toMs,
      rule: rule ?? { every: true },
      archive,
    });
    if (warning !== undefined) say(io, `Warning: ${warning}.`);
    if (options.wait) return watch(io, target, replays, name, options);
    if (options.json) give(io, { replay: name, state: 'STARTING' });
    else say(io, `Started replay ${name}.`);
    return exitCodes.done;
  });
}

async function withReplays(
  target: Extract<Target, { kind: 'stack' }>,
  work: (replays: Replays) => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    const { openReplays } = await import('../../../operations/replay.ts');
    const replays = await openReplays(target.stack);
    try {
      return await work(replays);
    } finally {
      replays.close();
    }
  } catch (error) {
    throw explained(error, { target });
  }
}

async function cancel(
  io: Io,
  replays: Replays,
  { cancel: name = '', json }: ReplayOptions,
): Promise<ExitCode> {
  const { State } = await replays.describe(name);
  if (State === 'STARTING' || State === 'RUNNING') await replays.cancel(name);
  if (json)
    give(io, { replay: name, state: State === 'STARTING' || State === 'RUNNING' ? 'CANCELLING' : State });
  else if (State === 'STARTING' || State === 'RUNNING') say(io, `Replay ${name} is being cancelled.`);
  else say(io, `Replay ${name} has ended already (${State}).`);
  return exitCodes.done;
}

async function watch(
  io: Io,
  target: Target,
  replays: Replays,
  name: string,
  { json = false }: ReplayOptions,
): Promise<ExitCode> {
  const signal = io.untilStopped();
  let line = `replay ${name}: starting`;
  const progress = startProgress(io, async () => line);
  try {
    for (;;) {
      const { State, StateReason, EventStartTime, EventEndTime, EventLastReplayedTime } =
        await replays.describe(name);
      const [first, last, at] = [EventStartTime, EventEndTime, EventLastReplayedTime].map((time) =>
        time?.getTime(),
      );
      const share =
        first !== undefined && last !== undefined && at !== undefined
          ? ` (${Math.min(100, Math.max(0, Math.floor((100 * (at - first)) / (last - first))))} %)`
          : '';
      line = `replay ${name}: ${State?.toLowerCase()}${EventLastReplayedTime ? `, at ${EventLastReplayedTime.toISOString()}` : ''}${share}`;
      if (State === 'COMPLETED') {
        progress.stop();
        if (json) give(io, { replay: name, state: State, lastReplayed: EventLastReplayedTime ?? null });
        else
          say(
            io,
            EventLastReplayedTime
              ? `Replayed, up to the event of ${EventLastReplayedTime.toISOString()} (${name}).`
              : `Replayed: the archive has no event of that time (${name}).`,
          );
        return exitCodes.done;
      }
      if (State === 'FAILED' || State === 'CANCELLED' || State === 'CANCELLING') {
        const reason = StateReason ? `: ${StateReason}` : '';
        throw new CommandError(`replay ${name} ended before its time (${State.toLowerCase()}${reason})`);
      }
      if (signal.aborted) {
        progress.stop();
        say(io, `The replay goes on. To end it: \`${commandFor(target, `replay --cancel ${name}`)}\``);
        return exitCodes.needsPerson;
      }
      await systemClock.sleep(lookMs, signal);
    }
  } finally {
    progress.stop();
  }
}
