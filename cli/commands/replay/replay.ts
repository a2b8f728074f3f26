import * as v from 'valibot';
import { UsageError } from '../../../operations/errors.ts';
import type { ReplayRequest } from '../../../operations/replay.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes, say } from '../../shared/io.ts';
import { type Checked, checkedOptions, flag, momentOption, option, text } from '../../shared/options.ts';
import { withProgress } from '../../shared/progress.ts';
import { commandFor } from '../../shared/target.ts';
import { withStack } from '../../targets/open.ts';
import { cancelledText, goesOnText, more, progressText, replayedText } from './text.ts';

const nameOrArn = v.optional(v.pipe(v.string(), v.regex(/^[\w.:/@-]{1,512}$/, 'expected a name or an ARN')));

const options = {
  from: option('TIME', 'where it begins, with its time zone (required)', v.optional(momentOption)),
  to: option('TIME', 'where it ends (required)', v.optional(momentOption)),
  rule: option('NAME', "the subscriber's rule on the bus, by its name or ARN", nameOrArn),
  everyRule: flag('instead: to all subscribers'),
  archive: option('NAME', 'which archive, where the bus has several', nameOrArn),
  noWait: flag('do not wait until it ends'),
  cancel: text('REPLAY', 'end a replay that was started before'),
};

export const addReplay = defineCommand(
  {
    name: 'replay',
    summary: 'send archived events again to one subscriber',
    description:
      'Sends archived events from between two times again, to the subscriber of one rule on the bus. Only for ' +
      'a deployed stack: an embedded bridge has no archive.',
    more,
    options,
  },
  async ({ io, target, options, report }) => {
    if (target.kind === 'local') {
      const snapshot = commandFor(target, 'snapshot');
      throw new UsageError(`an embedded bridge has no archive. Every advert's latest event: \`${snapshot}\``);
    }
    const { cancel: cancelled, noWait } = options;
    const request = cancelled === undefined ? requestOf(options) : undefined;
    return withStack(target, async ({ outputs, onClose }) => {
      const { openReplays } = await import('../../../operations/replay.ts');
      const replays = openReplays(outputs);
      onClose(replays.close);
      if (!request) {
        const name = cancelled ?? '';
        const { state, isOver } = await replays.cancel(name);
        report({ replay: name, state: isOver ? state : 'CANCELLING' }, cancelledText(name, isOver, state));
        return exitCodes.done;
      }
      const { name, warning } = await replays.start(request);
      if (warning !== undefined) say(io, `Warning: ${warning}.`);
      if (noWait) {
        report({ replay: name, state: 'STARTING' }, `Started replay ${name}.`);
        return exitCodes.done;
      }
      const ended = await withProgress(io, (show) =>
        replays.untilEnded(name, io.untilStopped(), (progress) => show(progressText(name, progress))),
      );
      if (!ended) {
        say(io, goesOnText(target, name));
        return exitCodes.needsPerson;
      }
      const { state, lastReplayed = null } = ended;
      report({ replay: name, state, lastReplayed }, replayedText(name, lastReplayed));
      return exitCodes.done;
    });
  },
);

/** @throws {UsageError} if the times or the receiver of the events are missing or invalid */
function requestOf({ rule, everyRule, archive, ...times }: Checked<typeof options>): ReplayRequest {
  const { from, to } = checkedOptions({ from: momentOption, to: momentOption }, times);
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  if (fromMs >= toMs) throw new UsageError('--to must be later than --from');
  if (toMs > Date.now()) throw new UsageError(`--to: ${to} is in the future by this machine's clock`);
  if ((rule === undefined) !== everyRule) {
    throw new UsageError(
      'give either --rule NAME, the rule of the one subscriber that is to get the events, or --every-rule for all of them',
    );
  }
  return { fromMs, toMs, rule: rule ?? { every: true }, archive };
}
