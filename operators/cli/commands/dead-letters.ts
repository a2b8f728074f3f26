/** Shows and handles dead letters. */
import * as v from 'valibot';
import { didYouMean } from '../../../shared/contract/checks.ts';
import { faultKinds } from '../../../shared/domain/faults.ts';
import type { Bridge } from '../../operations/bridge.ts';
import {
  type DeadLetterFilter,
  type DeadLetterList,
  dropDeadLetters,
  listDeadLetters,
  redriveDeadLetters,
  shownDeadLetter,
} from '../../operations/dead-letters.ts';
import { CommandError, failed, UsageError } from '../../operations/errors.ts';
import { withBridge } from '../bridge/open.ts';
import { type AddCommand, type Call, defineCommand, wrapped } from '../shared/command.ts';
import { type ExitCode, exitCodes, type Line } from '../shared/io.ts';
import { type Checked, flag, momentOption, option, optionalName } from '../shared/options.ts';
import { withProgress } from '../shared/progress.ts';
import { confirm, requireTerminal } from '../shared/secret-input.ts';
import type { Target } from '../shared/target.ts';
import { are, count, duration, factLines, factTable } from '../shared/wording.ts';

export const addDeadLetters: AddCommand = (command, io, end) => {
  command
    .summary('handle the messages that were given up')
    .description('Dead letters stand for changed adverts that the bridge gave up on, each with the reason.')
    .helpCommand(false)
    .addHelpText(
      'after',
      wrapped(`Examples:
  $0 dead-letters list --local .advert-bridge
  $0 dead-letters list main --json   (the deployed stack)
  $0 dead-letters show main/3f0a6c1e9d554f4e --local .advert-bridge
  $0 dead-letters redrive main --fault contract-broken --local .advert-bridge
  $0 dead-letters drop main/3f0a6c1e9d554f4e --yes --local .advert-bridge`),
    );
  const subcommands = { list: addList, show: addShow, redrive: addRedrive, drop: addDrop };
  for (const [name, add] of Object.entries(subcommands)) add(command.command(name), io, end);
};

const expectedId = 'expected the ID of a dead letter, as `dead-letters list` shows it';
const deadLetterId = v.pipe(v.string(), v.regex(/^[\w.-]{1,64}\/[0-9a-f]{16}$/, expectedId));
/** A single word without a slash is a NAME. */
const oneName = v.strictTuple([v.pipe(v.string(), v.excludes('/'))]);
const whichWords = v.union([oneName, v.array(deadLetterId)], expectedId);
const selectionOf = (words: readonly string[]): DeadLetterFilter =>
  words[0]?.includes('/') ? { ids: [...new Set(words)] } : { partnerAccount: words[0] };

const whichHelp = 'as `list` shows them; or one NAME: those of that partner account';
const kinds = [...faultKinds, 'malformed-id', 'malformed-message'];
const faultKind = v.pipe(
  v.string(),
  v.check(
    (kind) => kinds.includes(kind),
    ({ input }) => `expected a fault as \`dead-letters list\` shows it${didYouMean(input, kinds)}`,
  ),
);
const filterOptions = {
  fault: option('KIND', 'only those with this fault', v.optional(faultKind)),
  before: option('TIME', 'only those given up before this time, or 2h ago', v.optional(momentOption)),
};
const choiceOptions = {
  which: { argument: '[ID...]', help: whichHelp, schema: whichWords },
  ...filterOptions,
  all: flag('all dead letters'),
  dryRun: flag('say how many, and change nothing'),
};

const addList = defineCommand(
  {
    help: `show them, oldest first
With advert, partner account, fault, reason and time, and how many have the same fault and reason. Exit code 3
means that there are some: they are left for a person.

Examples:
  $0 dead-letters list main --local .advert-bridge`,
    options: { partnerAccount: optionalName('only those of this partner account'), ...filterOptions },
  },
  async ({ target, options, answer, command }) => {
    const found = await withBridge(target, (bridge) => listDeadLetters(bridge, options));
    const { groups, unreadable } = found;
    const deadLetters = found.deadLetters.map(shownDeadLetter);
    answer({ deadLetters, groups, unreadable }, ...listLines(found, command));
    return deadLetters.length + unreadable.length > 0 ? exitCodes.needsPerson : exitCodes.done;
  },
);

const addShow = defineCommand(
  {
    help: `show one in full
Examples:
  $0 dead-letters show main/3f0a6c1e9d554f4e --json   (the deployed stack)`,
    options: { id: { argument: '<ID>', help: 'as `list` shows it', schema: deadLetterId } },
  },
  async ({ target, options: { id }, answer, command }) => {
    const found = await withBridge(target, (bridge) => listDeadLetters(bridge, { ids: [id] }));
    const [one] = found.deadLetters.map(shownDeadLetter);
    if (!one && found.unreadable[0]) throw new CommandError(found.unreadable[0]);
    if (!one) throw failed('no-dead-letter', { ids: id }, target);
    const { message, ...rest } = one;
    const next = message
      ? `When the cause is fixed: ${command(`dead-letters redrive ${id}`)}`
      : `It has nothing to send again. ${lookAndDrop(command, id)}`;
    return answer(one, ...factLines({ ...message, ...rest }), next);
  },
);

const addRedrive = defineCommand(
  {
    help: `put their messages back into the queue
The drain does it from its next round on, within a minute, at half the rate of requests, and each advert is
fetched again. Do this when the cause is fixed. May be repeated: what is redriven is no dead letter any more.
Exit code 3 means that some dead letters have nothing to send, and stay for a person.

Examples:
  $0 dead-letters redrive main/3f0a6c1e9d554f4e --local .advert-bridge
  $0 dead-letters redrive --fault contract-broken --all --dry-run   (the deployed stack)`,
    options: choiceOptions,
  },
  (call) =>
    withChosen(call, async (bridge, { deadLetters, unknown }, onProgress) => {
      const result = await redriveDeadLetters(bridge, deadLetters, onProgress);
      const left = result.nothingToSend.join(', ');
      const { maxRequestsPerSecond } = await bridge.settings();
      const takes = duration(60 + (2 * result.redriven.length) / maxRequestsPerSecond);
      const begins = result.redriven.length > 0 ? `: the drain puts them back within about ${takes}` : '';
      const done = `${wereText(result.redriven.length)} redriven${begins}.`;
      const says = `Left, because they have nothing to send: ${left}. ${lookAndDrop(call.command)}`;
      call.report({ ...result, unknown }, done, ...(left ? [says] : []));
      return left ? exitCodes.needsPerson : exitCodes.done;
    }),
);

const addDrop = defineCommand(
  {
    help: `delete them
For good, after asking. Their adverts get no event until they change again. The bridge logs who did it.

Examples:
  $0 dead-letters drop main/3f0a6c1e9d554f4e --yes   (the deployed stack)`,
    options: { ...choiceOptions, yes: flag('do not ask') },
  },
  async (call) => {
    const { io, options } = call;
    if (!options.yes && !options.dryRun) requireTerminal(io, 'drop');
    return withChosen(call, async (bridge, { deadLetters, groups, unknown }, onProgress) => {
      const dropped = deadLetters.map(({ id }) => id);
      const which = are(dropped.length, 'dead letter', 'dead letters');
      if (!options.yes && dropped.length > 0)
        await confirm(io, `Drop ${which}? What is dropped is removed permanently and will not be published.`);
      const by = await dropDeadLetters(bridge, deadLetters, onProgress);
      const done = `${wereText(dropped.length)} dropped by ${by} at ${new Date().toISOString()}.`;
      return call.report({ dropped, unknown, by, groups }, ...factTable(groups), done);
    });
  },
);

type Act = (
  bridge: Bridge,
  chosen: DeadLetterList,
  onProgress: (done: number, all: number) => void,
) => Promise<ExitCode>;

/** Calls `act` with the dead letters that arguments and options choose; with --dry-run only counts them. */
async function withChosen(
  { io, target, options, report }: Call<Target, Checked<typeof choiceOptions>>,
  act: Act,
): Promise<ExitCode> {
  const { which, fault, before, all, dryRun } = options;
  if (which.length > 0 === all)
    throw new UsageError('say which dead letters: one or more IDs, one NAME of a partner account, or --all');
  return withBridge(target, async (bridge) => {
    const chosen = await listDeadLetters(bridge, { ...selectionOf(which), fault, before });
    const { groups, unknown } = chosen;
    const matching = chosen.deadLetters.length;
    if (dryRun) {
      const total = `${count(matching)} dead letters match; nothing was changed.`;
      return report({ matching, groups }, ...factTable(groups), total);
    }
    const exitCode = await withProgress(io, (show) =>
      act(bridge, chosen, (done, of) => show(`${count(done)} of ${count(of)} dead letters handled`)),
    );
    if (unknown.length > 0) throw failed('no-dead-letter', { ids: unknown.join(', ') }, target);
    return exitCode;
  });
}

type Commanded = Call<Target, unknown>['command'];

const lookAndDrop = (command: Commanded, id = 'ID'): string =>
  `When you have looked at it: ${command(`dead-letters drop ${id}`)}`;
const wereText = (number: number): string => are(number, 'dead letter was', 'dead letters were');

const maxRows = 50;
const widestAdvert = 24;

function listLines({ deadLetters, groups, unreadable }: DeadLetterList, command: Commanded): Line[] {
  const rows = deadLetters.slice(0, maxRows).map(({ id, at, partnerAccount, advertId, fault, ...one }) => ({
    id,
    when: at,
    account: partnerAccount,
    advert: advertId?.slice(0, widestAdvert),
    fault,
    reason: one.message ? one.reason : `${one.reason} (nothing to send)`,
  }));
  const left = deadLetters.length - rows.length;
  return [
    ...factTable(rows),
    ...(left > 0 ? [`… and ${count(left)} more; --json gives all of them.`, ...factTable(groups)] : []),
    ...unreadable.map((reason) => `Cannot be read: ${reason}`),
    rows.length === 0
      ? 'No dead letters.'
      : `All of one: ${command('dead-letters show ID')}. When the cause is fixed: ${command('dead-letters redrive ID')} ` +
        `or ${command('dead-letters redrive --all')}. To remove one: ${command('dead-letters drop ID')}.`,
  ];
}
