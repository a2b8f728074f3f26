/** Shows and handles dead letters. Text from the feed is made printable first. */
import * as v from 'valibot';
import type { Bridge } from '../../operations/bridge.ts';
import {
  type DeadLetterFilter,
  type DeadLetterGroup,
  type DeadLetterList,
  dropDeadLetters,
  groupsOf,
  listDeadLetters,
  redriveDeadLetters,
} from '../../operations/dead-letters.ts';
import { accountsBeside, CommandError, UsageError, unknownAccount } from '../../operations/errors.ts';
import { partnerAccountName } from '../../shared/contract/checks.ts';
import type { DeadLetter } from '../../shared/contract/messages.ts';
import { printableLine as printable } from '../../shared/domain/text.ts';
import type { StoredDeadLetter } from '../../shared/state/aside.ts';
import { withBridge } from '../bridge/open.ts';
import { type AddCommand, type Call, defineCommand } from '../shared/command.ts';
import { type ExitCode, exitCodes } from '../shared/io.ts';
import {
  type Checked,
  checkedOptions,
  flag,
  momentOption,
  option,
  optionalName,
  text,
} from '../shared/options.ts';
import { withProgress } from '../shared/progress.ts';
import { confirm, requireTerminal } from '../shared/secret-input.ts';
import { commandFor, type Target } from '../shared/target.ts';
import { are, count, tableLines } from '../shared/wording.ts';

export const addDeadLetters: AddCommand = (program, io, end) => {
  const command = program
    .command('dead-letters')
    .summary('handle the messages that were given up')
    .description('Dead letters stand for changed adverts that the bridge gave up on, each with the reason.')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  advert-bridge dead-letters list --local .advert-bridge
  advert-bridge dead-letters list main --json   (the deployed stack)
  advert-bridge dead-letters show main/3f0a6c1e9d554f4e --local .advert-bridge
  advert-bridge dead-letters redrive main --fault contract-broken --local .advert-bridge
  advert-bridge dead-letters drop main/3f0a6c1e9d554f4e --yes --local .advert-bridge`,
    );
  for (const add of [addList, addShow, addRedrive, addDrop]) add(command, io, end);
  return command;
};

const filterOptions = {
  fault: text('KIND', 'only those with this fault'),
  before: option('TIME', 'only those given up before this time', v.optional(momentOption)),
};
const choiceOptions = {
  ...filterOptions,
  all: flag('all dead letters'),
  dryRun: flag('say how many, and change nothing'),
};
const choiceArgs = {
  words: {
    syntax: '[ID...]',
    help: 'as `list` shows them; or one NAME: those of that partner account',
    schema: v.array(v.string()),
  },
};

const addList = defineCommand(
  {
    name: 'list',
    summary: 'show them, oldest first',
    description:
      'Lists the dead letters with advert, partner account, fault, reason and time, and how many have the same fault and ' +
      'reason. Changes nothing.',
    more: `Exit code 3 means that there are some: they are left for a person.

Examples:
  advert-bridge dead-letters list main --local .advert-bridge`,
    args: { name: optionalName('only those of this partner account') },
    options: filterOptions,
  },
  async ({ target, args: { name }, options, answer }) => {
    const found = await withBridge(target, async (bridge) => {
      const of = name === undefined ? {} : { partnerAccount: await knownName(bridge, name) };
      return listDeadLetters(bridge, { ...of, ...filterOf(options) });
    });
    const { letters, unreadable } = found;
    const deadLetters = letters.map(({ id, letter }) => ({ id, ...letter }));
    answer({ deadLetters, groups: groupsOf(letters), unreadable }, listText(found, target));
    return letters.length + unreadable.length > 0 ? exitCodes.needsPerson : exitCodes.done;
  },
);

const addShow = defineCommand(
  {
    name: 'show',
    summary: 'show one in full',
    description: 'Shows everything in a dead letter, including its message. Changes nothing.',
    more: `Examples:
  advert-bridge dead-letters show main/3f0a6c1e9d554f4e --json   (the deployed stack)`,
    args: { word: { syntax: '<ID>', help: 'as `list` shows it', schema: v.string() } },
  },
  async ({ target, args: { word }, answer }) => {
    const ids = idsOf([word], target);
    const { letters, unreadable } = await withBridge(target, (bridge) => listDeadLetters(bridge, { ids }));
    const [found] = letters;
    if (!found) throw new CommandError(unreadable[0] ?? unknownText(ids, target));
    answer({ id: found.id, ...found.letter }, deadLetterText(found, target));
    return exitCodes.done;
  },
);

const addRedrive = defineCommand(
  {
    name: 'redrive',
    summary: 'put their messages back into the queue',
    description:
      'Puts the messages back into the queue, behind those that wait for the same advert, so that each advert is ' +
      'fetched again. Do this when the cause is fixed.',
    more: `May be repeated: a message that is back in the queue is no dead letter any more. Exit code 3 means that some dead
letters have nothing to send, and stay for a person.

Examples:
  advert-bridge dead-letters redrive main/3f0a6c1e9d554f4e --local .advert-bridge
  advert-bridge dead-letters redrive --fault contract-broken --all --dry-run   (the deployed stack)`,
    args: choiceArgs,
    options: choiceOptions,
  },
  (call) =>
    withChosen(call, async ({ bridge, filter, unknown, isAnyThere }) => {
      const result = await withProgress(call.io, (show) =>
        redriveDeadLetters(bridge, filter, (done, all) => show(progressText(done, all, 'put back'))),
      );
      const { redriven, nothingToSend, refused } = result;
      const left = `Left, because they have nothing to send: ${nothingToSend.join(', ')}. \`dead-letters show ID\` says what to do with each.`;
      call.report(
        { ...result, unknown },
        ...(isAnyThere ? [`${wereText(redriven.length)} put back into the queue.`] : []),
        ...(nothingToSend.length > 0 ? [left] : []),
      );
      if (refused.length > 0) {
        throw new CommandError(
          `the queue did not accept ${refused.join(', ')}. They are still dead letters; run the command again`,
        );
      }
      return nothingToSend.length > 0 ? exitCodes.needsPerson : exitCodes.done;
    }),
);

const addDrop = defineCommand(
  {
    name: 'drop',
    summary: 'delete them',
    description:
      'Removes dead letters for good, after asking. Their adverts get no event until they change again.',
    more: `Examples:
  advert-bridge dead-letters drop main/3f0a6c1e9d554f4e --yes   (the deployed stack)`,
    args: choiceArgs,
    options: { ...choiceOptions, yes: flag('do not ask') },
  },
  async (call) => {
    const { io, report, options } = call;
    requireChoice(call);
    if (!options.yes && !options.dryRun) requireTerminal(io, 'drop');
    return withChosen(call, async ({ bridge, filter, letters, unknown, isAnyThere }) => {
      const ids = letters.map(({ id }) => id);
      const which = filter.ids ? ids.join(', ') : `${count(ids.length)} dead letters`;
      if (!options.yes && ids.length > 0)
        await confirm(io, `Drop ${which}? Their content is removed permanently and will not be published.`);
      const by = await bridge.who();
      const dropped = await withProgress(io, (show) =>
        dropDeadLetters(bridge, { ids }, (done, all) => show(progressText(done, all, 'dropped'))),
      );
      // Their content is gone: this is the only record of it.
      const done = `${wereText(dropped.length)} dropped by ${printable(by)} at ${new Date().toISOString()}.`;
      const groups = groupsOf(letters);
      report({ dropped, unknown, by, groups }, ...(isAnyThere ? [...groupLines(groups), done] : []));
      return exitCodes.done;
    });
  },
);

type Choice = Call<Target, Checked<typeof choiceOptions>, Checked<typeof choiceArgs>>;

interface Chosen extends Pick<DeadLetterList, 'letters'> {
  readonly bridge: Bridge;
  readonly filter: DeadLetterFilter;
  readonly unknown: readonly string[];
  readonly isAnyThere: boolean;
}

/** @throws {UsageError} */
function requireChoice({ args: { words }, options: { all } }: Choice): void {
  if (words.length > 0 !== all) return;
  throw new UsageError('say which dead letters: one or more IDs, one NAME of a partner account, or --all');
}

/** Calls `act` with the dead letters that arguments and options choose; with --dry-run only counts them. */
async function withChosen(call: Choice, act: (chosen: Chosen) => Promise<ExitCode>): Promise<ExitCode> {
  const { target, args, options, report } = call;
  requireChoice(call);
  return withBridge(target, async (bridge) => {
    const filter = { ...filterOf(options), ...(!options.all && (await namedBy(bridge, args.words, target))) };
    const { letters } = await listDeadLetters(bridge, filter);
    if (options.dryRun) {
      const groups = groupsOf(letters);
      const total = `${count(letters.length)} dead letters match; nothing was changed.`;
      report({ matching: letters.length, groups }, ...groupLines(groups), total);
      return exitCodes.done;
    }
    const found = new Set(letters.map(({ id }) => id));
    const unknown = (filter.ids ?? []).filter((id) => !found.has(id));
    const isAnyThere = found.size > 0 || unknown.length === 0;
    const exitCode = await act({ bridge, filter, letters, unknown, isAnyThere });
    if (unknown.length > 0) throw new CommandError(unknownText(unknown, target));
    return exitCode;
  });
}

const filterOf = ({ fault, before }: Checked<typeof filterOptions>): DeadLetterFilter => ({
  ...(fault !== undefined && { fault }),
  ...(before !== undefined && { before: Date.parse(before) }),
});

/** @throws {UsageError} */
async function namedBy(bridge: Bridge, words: readonly string[], target: Target): Promise<DeadLetterFilter> {
  const [name = ''] = words;
  if (words.length > 1 || name.includes('/')) return { ids: idsOf(words, target) };
  return { partnerAccount: await knownName(bridge, name) };
}

const idPattern = /^[\w.-]{1,64}\/[0-9a-f]{16}$/;

/** @throws {UsageError} if an argument is not an ID; the message does not repeat it */
function idsOf(words: readonly string[], target: Target): readonly string[] {
  if (words.every((word) => idPattern.test(word))) return [...new Set(words)];
  throw new UsageError(
    `ID: expected the ID of a dead letter, as \`${commandFor(target, 'dead-letters list')}\` shows it`,
  );
}

/** @throws {UsageError} for a name that neither the bridge nor any dead letter has */
async function knownName({ deadLetters, partnerAccounts }: Bridge, given: string): Promise<string> {
  const { name } = checkedOptions({ name: partnerAccountName }, { name: given }, { name: 'NAME' });
  const known = await accountsBeside(partnerAccounts, name);
  if (known.some((account) => account.name === name)) return name;
  // Dead letters remain after an account is forgotten.
  if ((await deadLetters.list(name, () => undefined)).length > 0) return name;
  throw unknownAccount(known);
}

const progressText = (done: number, all: number, verb: string): string =>
  `${count(done)} of ${count(all)} dead letters ${verb}`;

const wereText = (number: number): string => are(number, 'dead letter was', 'dead letters were');

const unknownText = (ids: readonly string[], target: Target): string =>
  `no dead letter ${ids.join(', ')}: perhaps it was put back or dropped already. ` +
  `\`${commandFor(target, 'dead-letters list')}\` shows those that exist`;

const maxRows = 50;
const widestAdvert = 24;

function listText({ letters, unreadable }: DeadLetterList, target: Target): string {
  const hidden = letters.length - maxRows;
  const command = (words: string) => `\`${commandFor(target, `dead-letters ${words}`)}\``;
  const redrive = letters.some(({ letter }) => letter.message)
    ? `When the cause is fixed: ${command('redrive ID')} or ${command('redrive --all')}. `
    : '';
  const next = `All of one dead letter: ${command('show ID')}. ${redrive}To remove one: ${command('drop ID')}.`;
  const rows = letters
    .slice(0, maxRows)
    .map(({ id, letter }) => [
      id,
      letter.at,
      letter.partnerAccount ?? '-',
      shortened(printable(letter.advertId ?? '-')) + othersOf(letter),
      printable(letter.fault),
      printable(letter.reason) + (letter.message ? '' : ' (nothing to send)'),
    ]);
  const header = ['ID', 'WHEN', 'ACCOUNT', 'ADVERT', 'FAULT', 'REASON'];
  return [
    ...(rows.length > 0 ? tableLines([header, ...rows]) : ['No dead letters.']),
    ...(hidden > 0
      ? [`… and ${count(hidden)} more; --json gives all of them.`, ...groupLines(groupsOf(letters))]
      : []),
    ...unreadable.map((reason) => `Cannot be read: ${printable(reason)}`),
    ...(rows.length > 0 ? [next] : []),
  ].join('\n');
}

const groupLines = (groups: readonly DeadLetterGroup[]): string[] =>
  groups.map(
    ({ partnerAccount, fault, reason, count: number }) =>
      `${count(number)} of ${partnerAccount ?? 'no known account'}: ${printable(fault)}, ${printable(reason)}`,
  );

function deadLetterText({ id, letter }: StoredDeadLetter, target: Target): string {
  const { message, ...facts } = letter;
  const next = message
    ? `When the cause is fixed: \`${commandFor(target, `dead-letters redrive ${id}`)}\``
    : `It has nothing to send again. When you have looked at it: \`${commandFor(target, `dead-letters drop ${id}`)}\``;
  const lines = Object.entries({ ...message, ...facts }).map(([name, value]) => [
    `  ${name}:`,
    printable(String(value ?? 'not known')),
  ]);
  return [`dead letter ${id}`, ...tableLines(lines), next].join('\n');
}

/** One dead letter contains all malformed IDs of a page, and names the first of them as its advert. */
const othersOf = ({ count: all = 1 }: DeadLetter): string => (all > 1 ? ` and ${count(all - 1)} more` : '');

const shortened = (id: string): string => (id.length > widestAdvert ? `${id.slice(0, widestAdvert)}…` : id);
