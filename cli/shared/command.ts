import type { Command } from 'commander';
import { exposureOf } from '../../shared/sqlite/file/private-folder.ts';
import { type ExitCode, give, type Io, say, show } from './io.ts';
import { addOptions, type Checked, checkedOptions, flag, type OptionSpecs } from './options.ts';
import { type LocalTarget, type Target, targetOf, targetOptions, type Where } from './target.ts';

/** Gives a command its texts, its options and what it does; `end` receives the exit code when it has ended. */
export type AddCommand = (command: Command, io: Io, end: (exitCode: ExitCode) => void) => void;

type TargetFor<W extends Where> = W extends 'any' ? Target : W extends 'none' ? undefined : LocalTarget;

export interface CommandSpec<O extends OptionSpecs, W extends Where> {
  readonly summary: string;
  readonly description: string;
  /** Shown below the options: more explanations, and examples. */
  readonly more: string;
  readonly where?: W;
  /** Arguments stand in the order of the command line. */
  readonly options?: O;
  readonly isWithoutJson?: boolean;
  /** What --json does. Default: the result as JSON. */
  readonly jsonHelp?: string;
}

export interface Call<T, O> {
  readonly io: Io;
  readonly target: T;
  readonly options: O;
  readonly json: boolean;
  /** Reports what was done: with --json `data` as JSON on standard output, otherwise `lines` on standard error. */
  report(data: unknown, ...lines: readonly string[]): void;
  /** Prints the requested data on standard output: with --json `data` as JSON, otherwise `lines`. */
  answer(data: unknown, ...lines: readonly string[]): void;
}

/** A command whose command line is checked as a whole before `run` is called. */
export function defineCommand<const O extends OptionSpecs, const W extends Where = 'any'>(
  spec: CommandSpec<O, W>,
  run: (call: Call<TargetFor<W>, Checked<O>>) => Promise<ExitCode>,
): AddCommand {
  const { where = 'any', jsonHelp = 'the result as JSON on standard output' } = spec;
  const specs: OptionSpecs = {
    ...spec.options,
    ...targetOptions(where),
    ...(!spec.isWithoutJson && { json: flag(jsonHelp) }),
  };
  const argumentKeys = Object.keys(specs).filter((key) => specs[key]?.argument);
  return (command, io, end) => {
    command.summary(spec.summary).description(spec.description).addHelpText('after', `\n${spec.more}`);
    addOptions(command, specs);
    command.action(async () => {
      const words = argumentKeys.map((key, index) => [key, command.processedArgs[index]]);
      const given = { ...command.opts(), ...Object.fromEntries(words) };
      const { local, stack, json, ...options } = checkedOptions(specs, given);
      const target = targetOf({ local, stack });
      if (target?.kind === 'local') warnOfExposure(io, target.dir, options.jsonLogs === true);
      const printer =
        (print: typeof say | typeof show) =>
        (data: unknown, ...lines: readonly string[]): void => {
          if (json) give(io, data);
          else for (const line of lines) print(io, line);
        };
      const exitCode = await run({
        ...{ io, json: json === true, report: printer(say), answer: printer(show) },
        target: target as TargetFor<W>,
        options: options as unknown as Checked<O>,
      });
      end(exitCode);
    });
  };
}

/** Looked at before the state is opened, because that makes its file private. */
function warnOfExposure(io: Io, dir: string, asLog: boolean): void {
  const exposure = exposureOf(dir);
  if (!exposure) return;
  const message = `Warning: ${exposure.says}. ${exposure.mend}`;
  say(io, asLog ? JSON.stringify({ level: 'warn', message }) : message);
}
