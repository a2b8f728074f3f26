import { join } from 'node:path';
import type { Status } from '../../../operations/status.ts';
import { repository } from '../emulator/cloud.ts';
import type { Processes, RunOptions } from '../emulator/processes.ts';
import type { Values } from './cdk.ts';

const timeoutMs = 90_000;

export type AdvertBridge = ReturnType<typeof advertBridgeOn>;

/** The command line, run as a person would: in a separate process, on the deployed stack. */
export function advertBridgeOn(env: Values, processes: Processes) {
  const command = (args: readonly string[]) => ({
    file: process.execPath,
    args: [join(repository, 'cli', 'main.ts'), ...args],
    env,
    cwd: repository,
  });
  const run = (args: readonly string[], input = '', options: Partial<RunOptions> = {}) =>
    processes.run(command(args), { timeoutMs, input, ...options });
  return {
    run,
    start: (args: readonly string[], logFile: string) => processes.start(command(args), logFile),
    /** What the command prints with `--json`; 3 is accepted: done, but a person has to act. */
    async json(...args: readonly string[]) {
      return JSON.parse((await run([...args, '--json'], '', { expected: [0, 3] })).stdout);
    },
    async status(): Promise<Status & { readonly exitCode: number | null }> {
      const { code, stdout } = await run(['status', '--json'], '', { expected: [0, 3] });
      return { ...JSON.parse(stdout), exitCode: code };
    },
  };
}
