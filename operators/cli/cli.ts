import { Command, CommanderError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { redactedText } from '../../shared/domain/redaction.ts';
import { printableLine } from '../../shared/domain/text.ts';
import { CommandError, UsageError } from '../operations/errors.ts';
import { type AddCommand, wrapped } from './shared/command.ts';
import { type ExitCode, exitCodes, type Io, print, say, watchOutput } from './shared/io.ts';
import { programName } from './shared/program.ts';
import { usageErrorOf } from './shared/usage.ts';

/** The commands, by their heading in the help. Only the requested command's module is loaded. */
const commands: Readonly<Record<string, Readonly<Record<string, () => Promise<AddCommand>>>>> = {
  'Set up:': {
    application: async () => (await import('./commands/application.ts')).addApplication,
    connect: async () => (await import('./commands/connect.ts')).addConnect,
    run: async () => (await import('./commands/run.ts')).addRun,
    webhook: async () => (await import('./commands/webhook.ts')).addWebhook,
    disconnect: async () => (await import('./commands/disconnect.ts')).addDisconnect,
    move: async () => (await import('./commands/move.ts')).addMove,
  },
  'Act:': {
    backfill: async () => (await import('./commands/backfill.ts')).addBackfill,
    resync: async () => (await import('./commands/resync.ts')).addResync,
    audit: async () => (await import('./commands/audit.ts')).addAudit,
    snapshot: async () => (await import('./commands/snapshot.ts')).addSnapshot,
    'dead-letters': async () => (await import('./commands/dead-letters.ts')).addDeadLetters,
    pause: async () => (await import('./commands/pause.ts')).addPause,
    resume: async () => (await import('./commands/pause.ts')).addResume,
    poll: async () => (await import('./commands/poll.ts')).addPoll,
  },
  'Watch:': {
    status: async () => (await import('./commands/status.ts')).addStatus,
    doctor: async () => (await import('./commands/doctor.ts')).addDoctor,
    history: async () => (await import('./commands/history.ts')).addHistory,
    console: async () => (await import('./commands/console.ts')).addConsole,
    tail: async () => (await import('./commands/tail.ts')).addTail,
  },
  'Try:': {
    sandbox: async () => (await import('./commands/sandbox.ts')).addSandbox,
    demo: async () => (await import('./commands/demo.ts')).addDemo,
  },
};

/** Commands that end well when nobody reads their output any more. */
const goesOn: readonly string[] = ['run', 'demo'];

/** Never rejects: it reports every error in one message on standard error. @param argv without the program's name */
export async function runCli(argv: readonly string[], io: Io): Promise<ExitCode> {
  const faultOfOutput = watchOutput(io);
  const exitCode = await dispatch(argv, io).catch((error: unknown) => reported(error, argv, io));
  const fault = await faultOfOutput();
  if (fault === undefined) return exitCode;
  if (fault.isReaderGone) {
    // Without a word, as other programs before `| head -1`. A run keeps its events for the next one.
    const isKept = goesOn.includes(argv[0] ?? '');
    return exitCode === exitCodes.done && !isKept ? exitCodes.fault : exitCode;
  }
  say(io, `advert-bridge: standard output cannot be written (${fault.code}), so what it got is incomplete`);
  return exitCodes.fault;
}

function reported(error: unknown, argv: readonly string[], io: Io): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  say(io, `advert-bridge: ${errorText(error)}`);
  // The console starts commands with a channel to it.
  if (error instanceof CommandError) process.send?.({ code: error.code });
  if (argv.includes('--stack-trace') && error instanceof Error) say(io, redactedText(traceOf(error)));
  return error instanceof UsageError ? exitCodes.usage : exitCodes.fault;
}

async function dispatch(argv: readonly string[], io: Io): Promise<ExitCode> {
  let ended: ExitCode = exitCodes.done;
  const program = new Command('advert-bridge')
    .description(
      "Publishes an event for each change of an advert's status that a partner service's feed shows.",
    )
    .version(packageJson.version, '-v, --version')
    .addHelpText('after', wrapped(programHelp));
  const all = Object.entries(commands).flatMap(([heading, loaders]) =>
    Object.entries(loaders).map(([name, load]) => ({ heading, name, load })),
  );
  const asked = all.filter(({ name }) => name === argv[0]);
  // For the help and for suggestions all commands are needed.
  for (const { heading, name, load } of asked.length > 0 ? asked : all) {
    const add = await load();
    add(program.command(name).helpGroup(heading), io, (exitCode) => {
      ended = exitCode;
    });
  }
  for (const command of [program, ...program.commands.flatMap((each) => [each, ...each.commands])]) {
    command
      .option('--stack-trace', 'with an error, show where it arose')
      .configureOutput({
        writeOut: (text) => print(io.stdout, text),
        writeErr: (text) => print(io.stderr, text),
        // Commander's messages quote the given values, which may be secrets.
        outputError: () => undefined,
      })
      .exitOverride((error) => {
        throw error.exitCode === 0 || error.code === 'commander.help' ? error : usageErrorOf(error, command);
      });
  }
  const [command] = program.commands;
  if (command && asked.length > 0) refuseKeptByNpm(command, io);
  await program.parseAsync(wordsOf(argv, all), { from: 'user' });
  return ended;
}

function wordsOf(argv: readonly string[], all: readonly { readonly name: string }[]): readonly string[] {
  const [first = '', second, ...others] = argv;
  // As other tools are asked for it; -V was the only short form until 0.3.0.
  if (argv.length === 1 && ['version', '-V'].includes(first)) return ['--version'];
  // Commander would answer with the help of the program.
  const isUnknown = first === 'help' && second !== undefined && !all.some(({ name }) => name === second);
  return isUnknown ? [second, ...others] : argv;
}

/**
 * npm keeps options for itself that do not stand behind `--`, and tells its scripts of them in the environment: a
 * command would act in earnest, or on another stack, although `--dry-run` or `--stack` was given.
 */
function refuseKeptByNpm(command: Command, { env }: Io): void {
  const script = env.npm_lifecycle_event;
  if (script === undefined || script === 'npx') return;
  const options = [command, ...command.commands].flatMap((each) => each.options);
  // npx sets its own --yes for all that it starts; without it, a command asks.
  const kept = options.find(
    (option) => option.name() !== 'yes' && env[`npm_config_${option.name().replaceAll('-', '_')}`],
  );
  if (kept)
    throw new UsageError(
      `npm took ${kept.long} for itself. Put -- before what is not for npm: \`${programName()} ${command.name()} ${kept.long} …\``,
    );
}

const programHelp = `Standard output carries what was asked for: events, a status, with --json every result; all else for people goes to
standard error. Secrets are read from standard input or from a file, never taken as an argument.

Exit codes: 0 done, 1 fault, 2 wrong usage or setting, 3 done with something left for a person.

Examples:
  $0 demo
  $0 sandbox     (a service to try an embedded bridge with: it prints how)
  $0 status      (of the deployed stack)`;

function errorText(error: unknown): string {
  if (error instanceof UsageError) return error.message;
  // Texts of the service and of other people stand in it.
  if (error instanceof CommandError) return printableLine(error.message);
  const { name, message, syscall } = (
    error instanceof Error ? error : new Error(String(error))
  ) as NodeJS.ErrnoException;
  // Such as "listen EADDRINUSE: address already in use 127.0.0.1:8765".
  if (syscall === 'listen')
    return `${message}. Choose another port (connect: one whose Callback URL is registered)`;
  return `unexpected ${name}: ${message.split('\n')[0]}. Run the command again with --stack-trace, and report it`;
}

function traceOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${traceOf(error.cause)}` : '';
  return `${error.stack ?? error.message}${cause}`;
}
