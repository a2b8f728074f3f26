import { runCli } from './cli.ts';
import { prepareNode20 } from './node-20.ts';
import { flushed, type Io } from './shared/io.ts';
import { nameProgramAsStarted } from './shared/program.ts';
import { wholeOutput } from './shared/whole-output.ts';

/** Exit code of a process that a second signal ends immediately: 128 + SIGINT, as in shells. */
const interrupted = 130;
const parentLookMs = 250;

function untilStopped(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted && signal === 'SIGINT') process.exit(interrupted);
      stopping.abort();
    });
  }
  // The end of a terminal. Node forgets that `nohup` has ignored it, which leaves no terminal as standard input; log rotation
  // sends it to services.
  process.on('SIGHUP', () => stdin.isTTY && stopping.abort());
  // npm does not forward a signal to this process, which then gets another parent.
  const { ppid } = process;
  const look = () => process.ppid !== ppid && stopping.abort();
  if (process.env.npm_lifecycle_event) setInterval(look, parentLookMs).unref();
  return stopping.signal;
}

// A reader that has ended is no reason for a stack trace; `run` detects it itself.
for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
prepareNode20();
nameProgramAsStarted();
const { stdin, stderr, env } = process;
const io: Io = { stdin, stdout: wholeOutput(process.stdout), stderr, env, untilStopped };
void runCli(process.argv.slice(2), io).then((exitCode) => {
  // The process ends when standard output has received everything, even if connections are still open.
  void flushed(io).then(() => process.exit(exitCode));
});
