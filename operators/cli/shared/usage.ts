/** Explains a wrong command line without repeating values, which may be secrets: commander's messages quote them. */
import type { Command, CommanderError } from 'commander';
import { didYouMean } from '../../../shared/contract/checks.ts';
import { UsageError } from '../../operations/errors.ts';
import { programName } from './program.ts';

const secretsHint =
  'A secret is never taken as an argument, where other users of the machine see it: give it on standard input or in a file';

export function usageErrorOf({ code, message }: CommanderError, command: Command): UsageError {
  let says = message.replace(/^error: /, '');
  // Messages with other codes quote only names of known options and arguments.
  if (code === 'commander.unknownOption' || code === 'commander.unknownCommand')
    says = unknownWordText(message, command);
  if (code === 'commander.excessArguments') says = `${excessText(command)}${hintFor(command)}`;
  return new UsageError(`${says}\nSee \`${commandPath(command)} --help\`.`);
}

/** A word too many may be a secret, of a command that reads one. */
const hintFor = ({ options }: Command): string =>
  options.some(({ long }) => long?.endsWith('-stdin')) ? `\n${secretsHint}.` : '';

/** Commander counts arguments, which does not say what to do about two names. */
function excessText(command: Command): string {
  const known = command.registeredArguments;
  const last = known.at(-1);
  const takes = known.map((one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`)).join(' ');
  if (last?.name() !== 'NAME') return `${command.name()} takes ${takes || 'no arguments'}`;
  const all = last.required ? '' : ', or without a name for all of them';
  return `${command.name()} takes one partner account: run it once for each${all}`;
}

function commandPath(command: Command): string {
  return command.parent ? `${commandPath(command.parent)} ${command.name()}` : programName();
}

function unknownWordText(message: string, command: Command): string {
  // Only what looks like a name, without a value after it.
  const [, kind, name] =
    /^error: unknown (\w+) '(?:(--[a-z][a-z-]*|-[a-z]|[a-z][a-z-]{0,19})['=])?/i.exec(message) ?? [];
  const has = ({ options }: Command) => options.some(({ long, short }) => long === name || short === name);
  const isSecret = name === undefined || /secret|token|password|code|key/i.test(name);
  const hint = isSecret && kind === 'option' ? `\n${secretsHint}.` : '';
  // As some other programs take them: `-local`.
  const long = command.options.find((one) => message.includes(`'-${one.name()}'`))?.long;
  if (long) return `unknown option ${long.slice(1)}: did you mean ${long}?`;
  if (name === undefined) return `an unknown ${kind}${hint}`;
  if (has(command)) return `option ${name} takes no value${hint}`;
  if (command.commands.some(has))
    return `option ${name} stands after the command: ${command.name()} COMMAND ${name} …`;
  if (kind === 'command' && name === 'deploy')
    return 'the CDK deploys a stack: `npx cdk deploy` in the folder of your app (docs/operate/deploy.md)';
  if (kind === 'command') return message.replace(/^error: /, '').replaceAll("'", '');
  // Commander suggests only options that its help shows.
  const options = command.options.flatMap(({ long }) => long ?? []);
  return `unknown option ${name}${didYouMean(name, options)}${hint}`;
}
