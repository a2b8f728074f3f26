import * as v from 'valibot';
import { CommandError, UsageError } from '../../../operations/errors.ts';
import type { LetterChoice, LetterOutcome } from '../../../shared/ports/dead-letters.ts';
import { withBridge } from '../../bridge/open.ts';
import { type AddCommand, defineCommand, helpGroups } from '../../shared/command.ts';
import { confirm, requireTerminal } from '../../shared/confirm.ts';
import { exitCodes } from '../../shared/io.ts';
import { flag, optionalName } from '../../shared/options.ts';
import { chooseLetters, idsOf } from './choice.ts';
import { lettersText, letterText, more, redrivenLines, unknownLettersText, wereText } from './text.ts';

export const addDeadLetters: AddCommand = (program, io, end) => {
  const letters = program
    .command('dead-letters')
    .helpGroup(helpGroups.act)
    .summary('handle the messages that were given up')
    .description('Dead letters stand for changed adverts that the bridge gave up on, each with the reason.')
    .helpCommand(false)
    .addHelpText('after', `\n${more.all}`);
  for (const add of [addList, addShow, addRedrive, addDrop]) add(letters, io, end);
  return letters;
};

const addList = defineCommand(
  {
    name: 'list',
    summary: 'show them, oldest first',
    description:
      'Lists the dead letters with advert, partner account, fault, reason and time. Changes nothing.',
    more: more.list,
    args: { name: optionalName('only those of this partner account') },
  },
  async ({ target, args: { name }, answer }) => {
    const found = await withBridge(target, async (bridge) =>
      bridge.deadLetters.list(name === undefined ? {} : await chooseLetters(bridge, { name }, target)),
    );
    const { letters, unseen } = found;
    answer(
      { deadLetters: letters.map(({ id, letter }) => ({ id, ...letter })), unseen },
      lettersText(found, target),
    );
    return letters.length + unseen > 0 ? exitCodes.needsPerson : exitCodes.done;
  },
);

const addShow = defineCommand(
  {
    name: 'show',
    summary: 'show one in full',
    description: 'Shows everything in a dead letter, including its message. Changes nothing.',
    more: more.show,
    args: { word: { syntax: '<ID>', help: 'as `list` shows it', schema: v.string() } },
  },
  async ({ target, args: { word }, answer }) => {
    const ids = idsOf([word], target);
    const { letters, unseen } = await withBridge(target, (bridge) => bridge.deadLetters.list({ ids }));
    const [found] = letters;
    if (!found) throw new CommandError(unknownLettersText(ids, target, unseen));
    answer({ id: found.id, ...found.letter }, letterText(found, target));
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
    more: more.redrive,
    args: {
      words: {
        syntax: '[ID...]',
        help: 'as `list` shows them; or one NAME: all of that partner account',
        schema: v.array(v.string()),
      },
    },
    options: { all: flag('all dead letters') },
  },
  async ({ target, args: { words }, options: { all }, report }) => {
    if (words.length > 0 === all) {
      throw new UsageError(
        'say which dead letters: one or more IDs, one NAME of a partner account, or --all',
      );
    }
    const [choice, outcome] = await withBridge(target, async (bridge) => {
      const chosen = all ? {} : await chooseLetters(bridge, { words }, target);
      return [chosen, await bridge.deadLetters.redrive(chosen)] as const;
    });
    const { done: redriven, nothingToSend, refused } = outcome;
    const unknown = missing(choice, outcome);
    report({ redriven, nothingToSend, refused, unknown }, ...redrivenLines(outcome, choice, unknown));
    refuseRest(refused, 'put back');
    if (unknown.length > 0) throw new CommandError(unknownLettersText(unknown, target, outcome.unseen));
    return nothingToSend.length > 0 ? exitCodes.needsPerson : exitCodes.done;
  },
);

const addDrop = defineCommand(
  {
    name: 'drop',
    summary: 'delete them',
    description:
      'Removes dead letters for good, after asking. Their adverts get no event until they change again.',
    more: more.drop,
    args: { words: { syntax: '<ID...>', help: 'as `list` shows them', schema: v.array(v.string()) } },
    options: { yes: flag('do not ask') },
  },
  async ({ io, target, args: { words }, options: { yes }, report }) => {
    const ids = idsOf(words, target);
    if (!yes) requireTerminal(io, 'drop');
    const outcome = await withBridge(target, async ({ deadLetters: letters }) => {
      const known = yes ? [] : (await letters.list({ ids })).letters;
      if (known.length > 0) {
        const which = known.map(({ id }) => id).join(', ');
        await confirm(io, `Drop ${which}? Their content is removed permanently and will not be published.`);
      }
      return letters.drop({ ids });
    });
    const { done: dropped, refused, unseen } = outcome;
    const unknown = missing({ ids }, outcome);
    report({ dropped, refused, unknown }, ...(dropped.length > 0 ? [`${wereText(dropped)} dropped.`] : []));
    refuseRest(refused, 'dropped');
    if (unknown.length > 0) throw new CommandError(unknownLettersText(unknown, target, unseen));
    return exitCodes.done;
  },
);

function missing({ ids = [] }: LetterChoice, { done, nothingToSend, refused }: LetterOutcome): string[] {
  const met = new Set([...done, ...nothingToSend, ...refused]);
  return ids.filter((id) => !met.has(id));
}

function refuseRest(refused: readonly string[], what: string): void {
  if (refused.length === 0) return;
  throw new CommandError(
    `the queue refused the operation, so these were not ${what}: ${refused.join(', ')}. They are still dead letters; run the command again`,
  );
}
