import type { Command } from 'commander';
import { CommandError, UsageError } from '../../../operations/errors.ts';
import type { Bridge, LetterChoice, LetterOutcome } from '../../shared/bridge.ts';
import type { AddCommand } from '../../shared/command.ts';
import { confirm } from '../../shared/confirm.ts';
import { type ExitCode, exitCodes, give, type Io, say } from '../../shared/io.ts';
import { type TargetOptions, targetOf, withJson, withTarget } from '../../shared/target.ts';
import { withBridge } from '../../targets/open-bridge.ts';
import { chooseLetters, idsOf, unknownLetters } from './choice.ts';
import { deadLettersHelp } from './help.ts';
import { lettersText, letterText, unseenText } from './text.ts';

interface LetterOptions extends TargetOptions {
  readonly json?: boolean;
  readonly all?: boolean;
  readonly yes?: boolean;
}

export const addDeadLetters: AddCommand = (program, io, end) => {
  const letters = program
    .command('dead-letters')
    .summary('see to the messages that were given up')
    .description(
      'The adverts that were listed as changed and for which the bridge gave up, each with the reason.',
    )
    .helpCommand(false)
    .addHelpText('after', deadLettersHelp.all);
  const add = (name: string, summary: string): Command =>
    withJson(withTarget(letters.command(name))).summary(summary);

  add('list', 'show them, oldest first')
    .description(
      'Lists the dead letters with advert, partner account, fault, reason and when. Changes nothing.',
    )
    .argument('[NAME]', 'only those of this partner account')
    .addHelpText('after', deadLettersHelp.list)
    .action(async (name: string | undefined, options: LetterOptions) => end(await list(io, name, options)));

  add('show', 'show one whole')
    .description('Shows all that a dead letter says, its message included. Changes nothing.')
    .argument('<ID>', 'as `list` shows it')
    .addHelpText('after', deadLettersHelp.show)
    .action(async (id: string, options: LetterOptions) => show(io, id, options));

  add('redrive', 'put their messages back into the queue')
    .description(
      "Puts the messages back under their old keys, at the end of their adverts' lines, so that each advert is looked " +
        'at again. Do it when the cause is mended.',
    )
    .argument('[ID...]', 'as `list` shows them; or one NAME: all of that partner account')
    .option('--all', 'all dead letters')
    .addHelpText('after', deadLettersHelp.redrive)
    .action(async (words: string[], options: LetterOptions) => end(await redrive(io, words, options)));

  return add('drop', 'throw them away')
    .description(
      'Removes dead letters for good, after asking. Their adverts get no event until they change again.',
    )
    .argument('<ID...>', 'as `list` shows them')
    .option('--yes', 'do not ask')
    .addHelpText('after', deadLettersHelp.drop)
    .action(async (words: string[], options: LetterOptions) => drop(io, words, options));
};

async function list(io: Io, name: string | undefined, options: LetterOptions): Promise<ExitCode> {
  const target = targetOf(options);
  const found = await withBridge(target, async (bridge) => {
    const choice = name === undefined ? {} : await chooseLetters(bridge, { name });
    return bridge.deadLetters.list(choice);
  });
  const { letters, unseen } = found;
  if (options.json) give(io, { deadLetters: letters.map(({ id, letter }) => ({ id, ...letter })), unseen });
  else say(io, lettersText(found, target));
  return letters.length + unseen > 0 ? exitCodes.needsPerson : exitCodes.done;
}

async function show(io: Io, word: string, options: LetterOptions): Promise<void> {
  const target = targetOf(options);
  const ids = idsOf([word]);
  const { letters, unseen } = await withBridge(target, (bridge) => bridge.deadLetters.list({ ids }));
  const [found] = letters;
  if (!found) throw unknownLetters(ids, target, unseen);
  if (options.json) give(io, { id: found.id, ...found.letter });
  else say(io, letterText(found, target));
}

async function redrive(io: Io, words: readonly string[], options: LetterOptions): Promise<ExitCode> {
  if (words.length > 0 === (options.all ?? false)) {
    throw new UsageError('say which dead letters: one or more IDs, one NAME of a partner account, or --all');
  }
  const target = targetOf(options);
  const [choice, outcome] = await withBridge(target, async (bridge) => {
    const chosen = options.all ? {} : await chooseLetters(bridge, { words });
    return [chosen, await bridge.deadLetters.redrive(chosen)] as const;
  });
  const { done, nothingToSend } = outcome;
  const unknown = missing(choice, outcome);
  if (options.json) give(io, { redriven: done, nothingToSend, refused: outcome.refused, unknown });
  else {
    if (done.length > 0 || unknown.length === 0) say(io, `${countOf(done)} put back into the queue.`);
    if (nothingToSend.length > 0) {
      say(io, `With nothing to send, so left: ${nothingToSend.join(', ')}. When looked at, drop them.`);
    }
    if (choice.ids === undefined && outcome.unseen > 0) say(io, unseenText(outcome.unseen));
  }
  refuseRest(outcome, 'put back');
  if (unknown.length > 0) throw unknownLetters(unknown, target, outcome.unseen);
  return nothingToSend.length > 0 ? exitCodes.needsPerson : exitCodes.done;
}

async function drop(io: Io, words: readonly string[], options: LetterOptions): Promise<void> {
  const target = targetOf(options);
  const ids = idsOf(words);
  const { yes = false } = options;
  if (!yes && !io.stdin.isTTY) {
    throw new UsageError('drop cannot be undone, and there is no terminal to ask: add --yes if you are sure');
  }
  const outcome = await withBridge(target, async (bridge) => {
    if (!yes) await ask(io, bridge, ids);
    return bridge.deadLetters.drop({ ids });
  });
  const unknown = missing({ ids }, outcome);
  if (options.json) give(io, { dropped: outcome.done, refused: outcome.refused, unknown });
  else if (outcome.done.length > 0) say(io, `${countOf(outcome.done)} dropped.`);
  refuseRest(outcome, 'dropped');
  if (unknown.length > 0) throw unknownLetters(unknown, target, outcome.unseen);
}

/** Where none of them is there, there is nothing to ask about. */
async function ask(io: Io, bridge: Bridge, ids: readonly string[]): Promise<void> {
  const { letters } = await bridge.deadLetters.list({ ids });
  if (letters.length === 0) return;
  const which = letters.map(({ id }) => id).join(', ');
  await confirm(io, `Drop ${which}? What they hold is removed for good, and is not published.`);
}

function missing({ ids = [] }: LetterChoice, { done, nothingToSend, refused }: LetterOutcome): string[] {
  const met = new Set([...done, ...nothingToSend, ...refused]);
  return ids.filter((id) => !met.has(id));
}

function refuseRest({ refused }: LetterOutcome, what: string): void {
  if (refused.length === 0) return;
  throw new CommandError(
    `the queue did not let these be ${what}: ${refused.join(', ')}. They are dead letters still; do the same again`,
  );
}

const countOf = ({ length }: readonly string[]): string =>
  length === 1 ? '1 dead letter was' : `${length} dead letters were`;
