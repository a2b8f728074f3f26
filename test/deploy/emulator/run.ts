import { mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Processes } from './processes.ts';
import { RunEndedError, Steps } from './steps.ts';

/** What the steps of a check have. */
export interface Run {
  readonly steps: Steps;
  readonly say: (line: string) => void;
  readonly processes: Processes;
  /** For all files; deleted at the end. */
  readonly folder: string;
  /** What to stop at the end, in addition to the processes, latest first. */
  readonly closing: (() => Promise<void> | void)[];
}

/** Runs a check in steps, prints the counts that .ci/run reads, and stops what it started: also on a signal. */
export async function runSteps(name: string, body: (run: Run) => Promise<void>): Promise<void> {
  const begun = Date.now();
  let print = (line: string): void => console.log(line);
  const steps = new Steps((line) => print(line));
  const processes = new Processes();
  const folder = await mkdtemp(join(tmpdir(), `advert-bridge-${name}-`));
  const closing: (() => Promise<void> | void)[] = [];

  let stopping: Promise<void> | undefined;
  /** Stops everything once, whoever calls first. */
  function stop(): Promise<void> {
    stopping ??= (async () => {
      for (const close of closing.reverse()) await Promise.resolve(close()).catch(() => undefined);
      await processes.stopAll();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    })();
    return stopping;
  }

  function interrupt(reason: string, exitCode: number): void {
    print(`${reason}: stopping what was started`);
    // Failures while everything is being stopped are not findings.
    print = () => undefined;
    void stop().finally(() => process.exit(exitCode));
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupt(signal, 128 + constants.signals[signal]));
  }
  // A signal to npm ends npm and its shell, but is not passed on to this process.
  if (process.env.npm_lifecycle_event) {
    const parent = process.ppid;
    const looking = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(looking);
      interrupt('npm has gone', 128 + constants.signals.SIGTERM);
    }, 250).unref();
  }

  const say = (line: string): void => print(line.replaceAll(/^/gm, '             '));
  try {
    await body({ steps, say, processes, folder, closing });
  } catch (error) {
    // Any other error is a fault of the check itself.
    if (!(error instanceof RunEndedError)) steps.failed += 1;
    print(error instanceof RunEndedError ? error.message : String((error as Error)?.stack ?? error));
  }
  await steps.check('nothing is left running', async () => {
    await stop();
    const left = await processes.left(folder);
    if (left.length > 0) throw new Error(`still running:\n${left.join('\n')}`);
  });
  print(`in ${((Date.now() - begun) / 1000).toFixed(0)} s`);
  steps.end(name);
}
