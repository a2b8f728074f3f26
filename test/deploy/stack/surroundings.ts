import { join } from 'node:path';
import { type SandboxOptions, startSandbox } from '../../../sandbox/server.ts';
import { awsEnvironment, connectTo, repository, searchPath } from '../emulator/cloud.ts';
import { type MiniStack, startMiniStack } from '../emulator/ministack.ts';
import type { Options } from '../emulator/options.ts';
import type { Processes } from '../emulator/processes.ts';
import { ministack, pythonEnvironment } from '../emulator/python.ts';
import type { Steps } from '../emulator/steps.ts';

export interface Surroundings {
  readonly options: Options;
  readonly steps: Steps;
  readonly say: (line: string) => void;
  readonly processes: Processes;
  /** For all files of the test; deleted afterwards. */
  readonly folder: string;
  /** What to stop at the end, in addition to the processes, latest first. */
  readonly closing: (() => Promise<void> | void)[];
  /** Called with the started emulator, which shows where to look when something fails. */
  readonly onEmulator: (emulator: MiniStack) => void;
  /** Prints the last lines of the logs, once, if anything has failed. */
  readonly showLogs: () => Promise<void>;
}

/** Starts the emulator and the partner service, and returns the settings of a stack between them. */
export async function startWorld(
  { steps, say, processes, folder, closing, onEmulator }: Surroundings,
  users?: SandboxOptions['users'],
) {
  const program = await steps.need('a Python environment with MiniStack', () =>
    pythonEnvironment(ministack, join(repository, '.venv', 'ministack'), processes, say),
  );
  const emulator = await steps.need('MiniStack starts', () =>
    startMiniStack(program, folder, searchPath, processes),
  );
  onEmulator(emulator);
  const cloud = connectTo(emulator.endpoint);
  closing.push(cloud.close);
  const env = awsEnvironment(emulator.endpoint, folder);

  const sandbox = await steps.need('the sandbox partner service starts', () =>
    // Changes are in the feed immediately; the simulation covers the visibility delay.
    startSandbox({ visibilityDelayMs: 0, ...(users && { users }) }),
  );
  closing.push(() => sandbox.close());

  const settings = {
    target: 'emulator',
    partnerBaseUrl: sandbox.url,
    maxRequestsPerSecond: '50',
    confirmUnavailableSeconds: '1',
  };
  return { emulator, cloud, env, sandbox, settings };
}
