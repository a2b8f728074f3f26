import type { Io } from './io.ts';

/** Exit code of a process that a second signal ends immediately: 128 + SIGINT, as in shells. */
const interrupted = 130;

const parentLookMs = 250;

export function processIo(): Io {
  // A reader that has ended is no reason for a stack trace; `run` detects it itself.
  process.stdout.on('error', () => undefined);
  process.stderr.on('error', () => undefined);
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    untilStopped() {
      const stopping = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        process.on(signal, () => {
          if (stopping.signal.aborted && signal === 'SIGINT') process.exit(interrupted);
          stopping.abort();
        });
      }
      if (process.env.npm_lifecycle_event) abortWithoutParent(stopping);
      return stopping.signal;
    },
  };
}

/** A signal to npm is not forwarded to this process, which then gets another parent. */
function abortWithoutParent(stopping: AbortController): void {
  const { ppid } = process;
  const look = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(look);
    stopping.abort();
  }, parentLookMs);
  look.unref();
}
