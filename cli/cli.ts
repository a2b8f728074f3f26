import { Command, CommanderError } from 'commander';
import { CommandError, UsageError } from '../operations/errors.ts';
import packageJson from '../package.json' with { type: 'json' };
import { redactedText } from '../shared/domain/redaction.ts';
import type { AddCommand } from './shared/command.ts';
import { type ExitCode, exitCodes, help, type Io, say } from './shared/io.ts';
import { usageErrorOf } from './shared/usage.ts';

/** In the order of the help. Each is a module of its own, loaded alone when it is the one that is asked for. */
const commands: ReadonlyMap<string, () => Promise<AddCommand>> = new Map([
  ['application', async () => (await import('./commands/application/application.ts')).addApplication],
  ['connect', async () => (await import('./commands/connect/connect.ts')).addConnect],
  ['run', async () => (await import('./commands/run/run.ts')).addRun],
  ['webhook', async () => (await import('./commands/webhook/webhook.ts')).addWebhook],
  ['backfill', async () => (await import('./commands/backfill/backfill.ts')).addBackfill],
  ['resync', async () => (await import('./commands/resync/resync.ts')).addResync],
  ['snapshot', async () => (await import('./commands/snapshot/snapshot.ts')).addSnapshot],
  ['replay', async () => (await import('./commands/replay/replay.ts')).addReplay],
  ['status', async () => (await import('./commands/status/status.ts')).addStatus],
  ['dead-letters', async () => (await import('./commands/dead-letters/dead-letters.ts')).addDeadLetters],
  ['disconnect', async () => (await import('./commands/disconnect/disconnect.ts')).addDisconnect],
  ['sandbox', async () => (await import('./commands/sandbox/sandbox.ts')).addSandbox],
]);

/** The command asked for; all of them where that is none, for the help and for the guess at what was meant. */
function asked([name = '']: readonly string[]): Promise<AddCommand[]> {
  const command = commands.get(name);
  const isVersion = name === '-V' || name === '--version';
  const needed = command ? [command] : isVersion ? [] : [...commands.values()];
  return Promise.all(needed.map((load) => load()));
}

/**
 * The command line. Never rejects: whatever goes wrong is said on standard error, in one message.
 *
 * @param argv without the program's own name
 * @returns the exit code (design §11)
 */
export async function runCli(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await dispatch(argv, io);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    say(io, `advert-bridge: ${messageOf(error)}`);
    if (wantsStackTrace(argv, io.env) && error instanceof Error) say(io, redactedText(traceOf(error)));
    return error instanceof UsageError ? exitCodes.usage : exitCodes.fault;
  }
}

async function dispatch(argv: readonly string[], io: Io): Promise<ExitCode> {
  let ended: ExitCode = exitCodes.done;
  const program = new Command('advert-bridge')
    .description(
      "Turns a partner service's change feed into events: one event for each change of an advert's status.",
    )
    .version(packageJson.version, '-V, --version', 'the version of Advert Bridge')
    .helpOption('-h, --help', 'this text; after a command, that of the command')
    .helpCommand('help [command]', 'the same: help on a command')
    .addHelpText('after', programHelp);
  for (const add of await asked(argv)) {
    add(program, io, (exitCode) => {
      ended = exitCode;
    });
  }
  for (const command of withSubcommands(program)) {
    command
      .option('--stack-trace', 'with an error, show where in the program it arose')
      .configureOutput({
        writeOut: (text) => help(io.stdout, text),
        writeErr: (text) => help(io.stderr, text),
        // Its messages quote what was given, which may be a secret.
        outputError: () => undefined,
      })
      .exitOverride((error) => {
        throw error.exitCode === 0 || error.code === 'commander.help' ? error : usageErrorOf(error, command);
      });
  }
  await program.parseAsync(argv, { from: 'user' });
  return ended;
}

/** The command and all below it. */
const withSubcommands = (command: Command): readonly Command[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
];

const programHelp = `
Standard output carries data only; what is for people goes to standard error. Secrets are taken on standard input or
from a file, never as an argument.

Exit codes: 0 done, 1 fault, 2 wrong usage or setting, 3 done with something left for a person.

Examples, with the embedded bridge and the sandbox service:
  advert-bridge sandbox --port 4400
  printf %s sandbox-client-secret | advert-bridge application --local .advert-bridge \\
    --base-url http://127.0.0.1:4400 --client-id sandbox-client --client-secret-stdin
  printf %s sandbox-refresh-token-main | advert-bridge connect main --local .advert-bridge --refresh-token-stdin
  advert-bridge run --local .advert-bridge --until-idle
  advert-bridge status --local .advert-bridge`;

function messageOf(error: unknown): string {
  if (error instanceof UsageError || error instanceof CommandError) return error.message;
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return `unexpected ${name}: ${message.split('\n')[0]}. Run the same again with --stack-trace, and report it`;
}

function wantsStackTrace(argv: readonly string[], { DEBUG = '' }: Io['env']): boolean {
  const named = DEBUG.split(/[\s,]+/).some((part) => ['*', '1', 'true', 'advert-bridge'].includes(part));
  return named || argv.includes('--stack-trace');
}

/** The stack of the error and of what caused it. */
function traceOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${traceOf(error.cause)}` : '';
  return `${error.stack ?? error.message}${cause}`;
}
