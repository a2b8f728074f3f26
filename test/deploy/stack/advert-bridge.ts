import { join } from 'node:path';
import type { Status } from '../../../operators/operations/printed.ts';
import { repository } from '../emulator/cloud.ts';
import type { Processes, RunOptions } from '../emulator/processes.ts';
import type { Values } from './cdk.ts';

const timeoutMs = 90_000;
/** For a command that runs until it is told to end. */
const startedMs = 15 * 60_000;
/** Who starts a command looks at its exit code; -1: ended by a signal. */
const anyCode = [-1, 0, 1, 2, 3, 130, 143];

export type AdvertBridge = ReturnType<typeof advertBridgeOn>;

/**
 * The command line, run as a person would: in a separate process.
 *
 * @param place options that name the bridge, after each command; default: the deployed stack
 */
export function advertBridgeOn(env: Values, processes: Processes, place: readonly string[] = []) {
  const command = (args: readonly string[]) => ({
    file: process.execPath,
    args: [join(repository, 'operators/cli/main.ts'), ...args, ...place],
    env,
    cwd: repository,
  });
  const run = (args: readonly string[], input = '', options: Partial<RunOptions> = {}) =>
    processes.run(command(args), { timeoutMs, input, ...options });

  /** Starts a command, and waits until its output matches: `printed` is the first group, or everything. */
  async function start(args: readonly string[], output: RegExp) {
    const printed = Promise.withResolvers<string>();
    let said = '';
    const onOutput = (text: string): void => {
      said += text;
      const found = output.exec(said);
      if (found) printed.resolve(found[1] ?? found[0]);
    };
    const ended = processes.run(command(args), { timeoutMs: startedMs, onOutput, expected: anyCode });
    const group = processes.groups.at(-1) ?? 0;
    const first = await Promise.race([printed.promise, ended]);
    if (typeof first !== 'string') throw new Error(`${args[0]} ended at once: ${first.stderr}`);
    const kill = (signal: NodeJS.Signals) => process.kill(group, signal);
    return { printed: first, said: () => said, ended, kill };
  }

  return {
    run,
    start,
    /** Starts `connect`, whose `printed` is the address that it waits for. */
    connect: (name: string) => start(['connect', name, '--port', '0'], /^ {2}(http\S+)\n[\s\S]*Waiting/m),
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
