import { type Command, Option } from 'commander';
import { UsageError } from '../../operations/errors.ts';
import { stackName } from '../../shared/contract/names.ts';

/** Which bridge is meant. */
export type Target =
  | { readonly kind: 'local'; readonly dir: string }
  | { readonly kind: 'stack'; readonly stack: string };

export interface TargetOptions {
  readonly local?: string;
  readonly stack?: string;
}

/** The options that say which bridge a command is for. */
export function withTarget(command: Command): Command {
  return command
    .addOption(new Option('--local <DIR>', 'the embedded bridge whose state is in the folder DIR'))
    .addOption(
      new Option(
        '--stack <NAME>',
        `the deployed bridge: its CloudFormation stack (default: ${stackName}, where --local is not given)`,
      ).conflicts('local'),
    );
}

/** The option that every command but `run` has. */
export const withJson = (command: Command): Command =>
  command.option('--json', 'the result as JSON on standard output');

/** @throws {UsageError} for an empty name */
export function targetOf({ local, stack = stackName }: TargetOptions): Target {
  if (local === '') throw new UsageError('--local: expected the folder of an embedded bridge');
  if (!/^[A-Za-z][A-Za-z0-9-]{0,127}$/.test(stack)) {
    throw new UsageError('--stack: expected the name of a CloudFormation stack, such as AdvertBridge');
  }
  return local === undefined ? { kind: 'stack', stack } : { kind: 'local', dir: local };
}

/** A command line that a person can copy, for the same bridge. */
export function commandFor(target: Target, command: string): string {
  if (target.kind === 'local') return `advert-bridge ${command} --local ${quoted(target.dir)}`;
  return `advert-bridge ${command}${target.stack === stackName ? '' : ` --stack ${target.stack}`}`;
}

const quoted = (text: string): string =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
