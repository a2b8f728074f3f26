import type { Command } from 'commander';
import type * as v from 'valibot';
import { exposureOf } from '../../shared/sqlite/file/private-folder.ts';
import { type ExitCode, give, type Io, say, show } from './io.ts';
import { addOptions, type Checked, checkedOptions, flag, type OptionSpecs } from './options.ts';
import { type LocalTarget, type Target, targetOf, targetOptions, type Where } from './target.ts';

/** Adds a command to the program; `end` receives the exit code when the command has ended. */
export type AddCommand = (program: Command, io: Io, end: (exitCode: ExitCode) => void) => Command;

type TargetFor<W extends Where> = W extends 'any' ? Target : W extends 'none' ? undefined : LocalTarget;

const helpGroups = { 'set up': 'Set up:', watch: 'Watch:', act: 'Act:', try: 'Try:' } as const;

interface ArgumentSpec {
  /** `<NAME>` if it is required, `[NAME]` if it is optional, `<NAME...>` for several. */
  readonly syntax: string;
  readonly help: string;
  readonly schema: v.GenericSchema;
}
type ArgumentSpecs = Readonly<Record<string, ArgumentSpec>>;

export interface CommandSpec<O extends OptionSpecs, W extends Where, A extends ArgumentSpecs> {
  readonly name: string;
  /** Default: that of the command that it is part of. */
  readonly group?: keyof typeof helpGroups;
  readonly summary: string;
  readonly description: string;
  /** Shown below the options: more explanations, and examples. */
  readonly more: string;
  readonly where?: W;
  readonly args?: A;
  readonly options?: O;
  readonly isWithoutJson?: boolean;
  /** What --json does. Default: the result as JSON. */
  readonly jsonHelp?: string;
}

export interface Call<T, O, A> {
  readonly io: Io;
  readonly target: T;
  readonly args: A;
  readonly options: O;
  readonly json: boolean;
  /** Reports what was done: with --json `data` as JSON on standard output, otherwise `lines` on standard error. */
  report(data: unknown, ...lines: readonly string[]): void;
  /** Prints the requested data on standard output: with --json `data` as JSON, otherwise `lines`. */
  answer(data: unknown, ...lines: readonly string[]): void;
}

/** A command whose command line is checked as a whole before `run` is called. */
export function defineCommand<
  const O extends OptionSpecs,
  const W extends Where = 'any',
  const A extends ArgumentSpecs = ArgumentSpecs,
>(
  spec: CommandSpec<O, W, A>,
  run: (call: Call<TargetFor<W>, Checked<O>, Checked<A>>) => Promise<ExitCode>,
): AddCommand {
  const { name, group, args = {} as A, where = 'any' } = spec;
  const { jsonHelp = 'the result as JSON on standard output' } = spec;
  const options: OptionSpecs = {
    ...spec.options,
    ...targetOptions(where),
    ...(!spec.isWithoutJson && { json: flag(jsonHelp) }),
  };
  const names = Object.fromEntries(
    Object.entries(args).map(([key, { syntax }]) => [key, syntax.replace(/[^A-Z]/g, '')]),
  );
  return (program, io, end) => {
    const command = program
      .command(name)
      .summary(spec.summary)
      .description(spec.description)
      .addHelpText('after', `\n${spec.more}`);
    if (group) command.helpGroup(helpGroups[group]);
    for (const { syntax, help } of Object.values(args)) command.argument(syntax, help);
    addOptions(command, options);
    return command.action(async (...given: unknown[]) => {
      const words = Object.fromEntries(Object.keys(args).map((key, index) => [key, given[index]]));
      const all = checkedOptions({ ...options, ...args }, { ...command.opts(), ...words }, names);
      const { local, stack, json: asJson, ...checked } = all;
      const json = asJson === true;
      const target = targetOf({ local, stack });
      if (target?.kind === 'local') warnOfExposure(io, target.dir, checked.jsonLogs === true);
      const printer =
        (print: typeof say | typeof show) =>
        (data: unknown, ...lines: readonly string[]): void => {
          if (json) give(io, data);
          else for (const line of lines) print(io, line);
        };
      const exitCode = await run({
        ...{ io, json, report: printer(say), answer: printer(show) },
        target: target as TargetFor<W>,
        args: checked as unknown as Checked<A>,
        options: checked as unknown as Checked<O>,
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
