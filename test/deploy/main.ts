/**
 * The deploy test: MiniStack replaces AWS and the sandbox replaces the partner service. Everything else is real: the
 * CDK command line, the stack, the bundled functions and the bridge's own command line.
 *
 * Needs Python 3.10 or later in addition to Node; leaves only .venv/ministack behind, which the next run uses.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { optionsOrExit } from '../helpers/options.ts';
import { logTails } from './emulator/logs.ts';
import type { MiniStack } from './emulator/ministack.ts';
import { optionsOf, usage } from './emulator/options.ts';
import { Processes } from './emulator/processes.ts';
import { RunEndedError, Steps } from './emulator/steps.ts';
import { journey } from './journey.ts';

const options = optionsOrExit(optionsOf, usage);
const print = (line: string): void => console.log(line);
const begun = Date.now();
const steps = new Steps(print);
const processes = new Processes();
const folder = await mkdtemp(join(tmpdir(), 'advert-bridge-deploy-'));
for (const name of ['home', 'tmp']) await mkdir(join(folder, name));
const closing: (() => Promise<void> | void)[] = [];

let interrupted = false;
let logsShown = false;
async function showLogs({ endpoint, logFile }: MiniStack): Promise<void> {
  if (logsShown || interrupted || steps.failed === 0) return;
  logsShown = true;
  print(await logTails(endpoint, logFile));
}

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
  if (interrupted) return;
  interrupted = true;
  steps.mute();
  print(`${reason}: stopping what was started`);
  void stop().finally(() => process.exit(exitCode));
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => interrupt(signal, 128 + constants.signals[signal]));
}
// A signal to npm ends npm and its shell, but is not passed on to this process.
if (process.env.npm_lifecycle_event) {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) interrupt('npm has gone', 128 + constants.signals.SIGTERM);
  }, 250).unref();
}

const say = (line: string): void => print(line.replaceAll(/^/gm, '             '));
try {
  await journey({ options, steps, say, processes, folder, closing, showLogs });
} catch (error) {
  // Any other error is a fault of this test itself.
  if (!interrupted) {
    if (!(error instanceof RunEndedError)) steps.failed += 1;
    print(error instanceof RunEndedError ? error.message : String((error as Error)?.stack ?? error));
  }
}

if (!interrupted) {
  await steps.check('nothing is left running', async () => {
    await stop();
    const left = await processes.left(folder);
    if (left.length > 0) throw new Error(`still running:\n${left.join('\n')}`);
  });
  print(`in ${((Date.now() - begun) / 1000).toFixed(0)} s`);
  print(`deploy: ${steps.passed} passed, ${steps.failed} failed`);
  process.exitCode = steps.failed > 0 ? 1 : 0;
}
