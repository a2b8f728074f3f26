import { type Command, Option } from 'commander';
import type * as v from 'valibot';
import { stackName } from '../../shared/contract/names.ts';
import { exposureOf } from '../../shared/sqlite/file/private-folder.ts';
import { type ExitCode, give, type Io, say, show } from './io.ts';
import { addOptions, type Checked, checkedOptions, flag, type OptionSpecs, schemasOf } from './options.ts';
import { type LocalTarget, localTarget, type Target, targetOf } from './target.ts';

/** Adds a command to the program; `end` receives the exit code when the command has ended. */
export type AddCommand = (program: Command, io: Io, end: (exitCode: ExitCode) => void) => Command;

/** Which bridge a command is for: with --local or --stack, with --local (for a reason that is given), or none. */
type Where = 'any' | 'none' | { readonly localOnly: string };
type TargetFor<W extends Where> = W extends 'any' ? Target : W extends 'none' ? undefined : LocalTarget;

export const helpGroups = { 'set up': 'Set up:', watch: 'Watch:', act: 'Act:', try: 'Try:' } as const;

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
  const { args = {} as A, options = {} as O, where = 'any' } = spec;
  const names = Object.fromEntries(
    Object.entries(args).map(([name, { syntax }]) => [name, syntax.replace(/[^A-Z]/g, '')]),
  );
  return (program, io, end) => {
    const command = program
      .command(spec.name)
      .summary(spec.summary)
      .description(spec.description)
      .addHelpText('after', `\n${spec.more}`);
    if (spec.group) command.helpGroup(helpGroups[spec.group]);
    for (const { syntax, help } of Object.values(args)) command.argument(syntax, help);
    addOptions(command, options);
    addTargetOptions(command, where);
    if (!spec.isWithoutJson)
      addOptions(command, { json: flag(spec.jsonHelp ?? 'the result as JSON on standard output') });
    return command.action(async (...given: unknown[]) => {
      const words = Object.fromEntries(Object.keys(args).map((name, index) => [name, given[index]]));
      const values: Readonly<Record<string, unknown>> = { ...command.opts(), ...words };
      const checked = checkedOptions({ ...schemasOf(options), ...schemasOf(args) }, values, names);
      const json = values.json === true;
      const target = targetFor(where, values);
      if (target?.kind === 'local') warnOfExposure(io, target.dir, values.jsonLogs === true);
      const exitCode = await run({
        io,
        json,
        target: target as TargetFor<W>,
        args: checked as Checked<A>,
        options: checked as Checked<O>,
        report(data, ...lines) {
          if (json) give(io, data);
          else for (const line of lines) say(io, line);
        },
        answer(data, ...lines) {
          if (json) give(io, data);
          else for (const line of lines) show(io, line);
        },
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

function targetFor(where: Where, { local, stack }: Readonly<Record<string, unknown>>): Target | undefined {
  if (where === 'none') return undefined;
  return where === 'any' ? targetOf({ local, stack }) : localTarget(local, where.localOnly);
}

function addTargetOptions(command: Command, where: Where): void {
  if (where === 'none') return;
  if (where !== 'any') {
    command.option('--local <DIR>', 'the folder of the embedded bridge (required)');
    return;
  }
  command
    .option('--local <DIR>', 'for the embedded bridge in the folder DIR')
    .addOption(
      new Option(
        '--stack <NAME>',
        `for the deployed stack; STACK/BRIDGE of several (default: ${stackName})`,
      ).conflicts('local'),
    );
}
