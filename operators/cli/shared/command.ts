import { type Command, Help } from 'commander';
import { exposureOf } from '../../../embedded/state/file/private-folder.ts';
import { UsageError } from '../../operations/errors.ts';
import { type ExitCode, exitCodes, give, type Io, type Line, lineText, say, show } from './io.ts';
import { addOptions, type Checked, checkedOptions, flag, type OptionSpecs, optionOf } from './options.ts';
import { asCalled } from './program.ts';
import { type BothTargets, type LocalTarget, type Target, targetOptions, type Where } from './target.ts';

/** Gives a command its texts, its options and what it does; `end` receives the exit code when it has ended. */
export type AddCommand = (command: Command, io: Io, end: (exitCode: ExitCode) => void) => void;

interface CommandSpec<O extends OptionSpecs, W extends Where> {
  /** The first line is its summary; explanations and examples follow, below the options. */
  readonly help: string;
  readonly where?: W;
  /** Arguments stand in the order of the command line. */
  readonly options?: O;
}

/** Prints a result: with --json `data` as JSON on standard output, otherwise `lines`, in which no text begins another line. */
type Print = (data: unknown, ...lines: readonly Line[]) => typeof exitCodes.done;

type TargetFor<W extends Where> = W extends 'any'
  ? Target
  : W extends 'local'
    ? LocalTarget
    : W extends 'both'
      ? BothTargets
      : undefined;

export interface Call<T, O> {
  readonly io: Io;
  readonly target: T;
  readonly options: O;
  readonly json: boolean;
  /** Reports what was done, on standard error. */
  readonly report: Print;
  /** Prints the requested data, on standard output. */
  readonly answer: Print;
  /** The command line of `words` for the same bridge, in backticks. */
  command(words: string): string;
}

/** A command whose command line is checked as a whole before `run` is called. */
export function defineCommand<const O extends OptionSpecs, const W extends Where = 'any'>(
  spec: CommandSpec<O, W>,
  run: (call: Call<TargetFor<W>, Checked<O>>) => Promise<ExitCode>,
): AddCommand {
  const specs: OptionSpecs = {
    ...spec.options,
    ...targetOptions[spec.where ?? 'any'],
    json: flag('JSON on standard output'),
  };
  const [summary = '', ...more] = spec.help.split('\n');
  const argumentKeys = Object.keys(specs).filter((key) => specs[key]?.argument);
  return (command, io, end) => {
    command.description(summary).addHelpText('after', wrapped(more.join('\n')));
    addOptions(command, specs);
    command.action(async () => {
      const words = argumentKeys.map((key, index) => [key, command.processedArgs[index]]);
      const given = { ...command.opts(), ...Object.fromEntries(words) };
      const { local, stack, json, ...options } = checkedOptions(specs, given);
      // A stack has a default.
      const target = (local ?? stack) as Target | undefined;
      const both = spec.where === 'both' && { local, stack };
      const foreign = Object.keys(given).find((key) => specs[key]?.localOnly && given[key] !== undefined);
      if (foreign !== undefined && target?.kind === 'stack')
        throw new UsageError(
          `${optionOf(foreign)} goes with --local DIR alone: a stack has settings of its own`,
        );
      if (target?.kind === 'local') warnOfExposure(io, target.dir, options.jsonLogs === true);
      const printer =
        (print: (lines: readonly Line[]) => void): Print =>
        (data, ...lines) => {
          if (json) give(io, data);
          else if (lines.length > 0) print(lines);
          return exitCodes.done;
        };
      const call = {
        io,
        target: both || target,
        options,
        json: json === true,
        report: printer((lines) => say(io, lines.map(lineText).join('\n'))),
        answer: printer((lines) => show(io, lines)),
        command: (words: string) => `\`${target?.command(words) ?? words}\``,
      };
      end(await run(call as unknown as Call<TargetFor<W>, Checked<O>>));
    });
  };
}

/** Text below the options: its paragraphs fit a terminal of 80 columns; examples stay as they are, to be copied. */
export const wrapped = (text: string): string =>
  asCalled(text)
    .split('\n\n')
    .map((part) => (part.includes('\n  ') ? part : new Help().boxWrap(part.replaceAll('\n', ' '), 80)))
    .map((part) => `\n${part}`)
    .join('\n');

/** Looked at before the state is opened, because that makes its file private. */
function warnOfExposure(io: Io, dir: string, asLog: boolean): void {
  const exposure = exposureOf(dir);
  if (!exposure) return;
  const message = `Warning: ${exposure.says}. ${exposure.mend}`;
  say(io, asLog ? JSON.stringify({ level: 'warn', message }) : message);
}
