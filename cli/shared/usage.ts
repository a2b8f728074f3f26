/** What is wrong with a command line, told without repeating what may be a secret. */

import type { Command, CommanderError } from 'commander';
import { UsageError } from '../../operations/errors.ts';

/** How a person learns more. */
const helpHint = (command: Command): string => `See \`${pathOf(command)} --help\`.`;

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

const secretsHint =
  'A secret is never taken as an argument, where other users of the machine see it: give it on standard input or in a file';

/** Commander's messages quote the argument, value and all; these do not. */
export function usageErrorOf({ code, message }: CommanderError, command: Command): UsageError {
  return new UsageError([...explain(code, message, command), helpHint(command)].join('\n'));
}

function explain(code: string, message: string, command: Command): string[] {
  if (code === 'commander.unknownOption') return unknownOption(message, command);
  if (code === 'commander.unknownCommand') return unknownCommand(message);
  if (code === 'commander.excessArguments') {
    return [`too many arguments: only options and ${argumentsOf(command)} are taken here`, `${secretsHint}.`];
  }
  if (code === 'commander.missingArgument') {
    return [
      `${argumentsOf(command)} is missing: ${command.registeredArguments.map((each) => each.description).join(', ')}`,
    ];
  }
  // What is left quotes only our own names of options.
  return [message.replace(/^error: /, '')];
}

const argumentsOf = (command: Command): string =>
  command.registeredArguments.map((each) => each.name().toUpperCase()).join(' ') || 'no argument';

function unknownOption(message: string, command: Command): string[] {
  // Only what looks like a name, and not the value behind it.
  const name = /'(--[a-z][a-z-]*(?=[='])|-[a-z])/i.exec(message)?.[1];
  const has = ({ options }: Command) => options.some(({ long, short }) => long === name || short === name);
  if (name === undefined || /secret|token|password|code|key/i.test(name)) {
    const told =
      name === undefined
        ? 'an unknown option'
        : has(command)
          ? `${name} takes no value`
          : `unknown option ${name}`;
    return [told, `${secretsHint}${secretOptionsOf(command)}.`];
  }
  if (has(command)) return [`option ${name} takes no value`];
  if (command.commands.some(has)) {
    return [`option ${name} stands after the command: ${command.name()} COMMAND ${name} …`];
  }
  return [`unknown option ${name}`, ...suggestionIn(message)];
}

function secretOptionsOf(command: Command): string {
  const names = command.options.map(({ flags }) => flags).filter((flags) => /-(stdin|file)\b/.test(flags));
  return names.length > 0 ? ` (${names.join(' or ')})` : '';
}

function unknownCommand(message: string): string[] {
  const name = /'([a-z][a-z-]{0,19})'/.exec(message)?.[1];
  return [name ? `unknown command ${name}` : 'unknown command', ...suggestionIn(message)];
}

const suggestionIn = (message: string): string[] => /Did you mean [^)\n]*\?/.exec(message)?.slice(0, 1) ?? [];
