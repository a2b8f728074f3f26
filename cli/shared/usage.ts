/** Explains a wrong command line without repeating values, which may be secrets: commander's messages quote them. */
import type { Command, CommanderError } from 'commander';
import { UsageError } from '../../operations/errors.ts';
import { didYouMean } from '../../shared/contract/checks.ts';

const secretsHint =
  'A secret is never taken as an argument, where other users of the machine see it: give it on standard input or in a file';

export function usageErrorOf({ code, message }: CommanderError, command: Command): UsageError {
  return new UsageError(
    [...explain(code, message, command), `See \`${pathOf(command)} --help\`.`].join('\n'),
  );
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function explain(code: string, message: string, command: Command): string[] {
  const argument = command.registeredArguments[0];
  const argumentName = argument?.name().toUpperCase() ?? 'no argument';
  if (code === 'commander.unknownOption') return unknownOption(message, command);
  if (code === 'commander.unknownCommand') {
    const name = /'([a-z][a-z-]{0,19})'/.exec(message)?.[1];
    return [name ? `unknown command ${name}` : 'unknown command', ...suggestionIn(message)];
  }
  if (code === 'commander.excessArguments') {
    return [`too many arguments: only options and ${argumentName} are taken here`, `${secretsHint}.`];
  }
  if (code === 'commander.missingArgument') return [`${argumentName} is missing: ${argument?.description}`];
  // All other messages quote only names of known options.
  return [message.replace(/^error: /, '')];
}

function unknownOption(message: string, command: Command): string[] {
  // Only the part that looks like a name, without a value after it.
  const name = /'(--[a-z][a-z-]*(?=[='])|-[a-z])/i.exec(message)?.[1];
  const has = ({ options }: Command) => options.some(({ long, short }) => long === name || short === name);
  const says = name === undefined ? 'an unknown option' : `unknown option ${name}`;
  if (name !== undefined && has(command)) {
    const hint = /secret|token/.test(name) ? [`${secretsHint}.`] : [];
    return [`option ${name} takes no value`, ...hint];
  }
  if (name === undefined || /secret|token|password|code|key/i.test(name)) {
    const flags = command.options.map((each) => each.flags).filter((each) => /-(stdin|file)\b/.test(each));
    return [says, `${secretsHint}${flags.length > 0 ? ` (${flags.join(' or ')})` : ''}.`];
  }
  if (command.commands.some(has)) {
    return [`option ${name} stands after the command: ${command.name()} COMMAND ${name} …`];
  }
  // Commander suggests only options that its help shows.
  const known = command.options.flatMap(({ long }) => long ?? []);
  return [`${says}${didYouMean(name, known)}`];
}

const suggestionIn = (message: string): string[] => /Did you mean [^)\n]*\?/.exec(message)?.slice(0, 1) ?? [];
