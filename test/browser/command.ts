import { join } from 'node:path';
import { repository } from '../deploy/emulator/cloud.ts';
import type { Finished, Processes } from '../deploy/emulator/processes.ts';

/** A command that runs until it is killed. */
export interface Started {
  /** What the pattern found in its output: the first group, or everything. */
  readonly printed: string;
  readonly ended: Promise<Finished>;
  kill(signal: NodeJS.Signals): void;
}

/** `advert-bridge` in a process of its own. */
export interface BridgeCommand {
  run(args: readonly string[], input?: string): Promise<Finished>;
  /** Starts a command, and waits until its output matches. */
  start(args: readonly string[], output: RegExp): Promise<Started>;
  /** Starts `connect`, and gives the address that it prints when it waits for the browser. */
  connect(args: readonly string[]): Promise<{ readonly url: string; readonly ended: Promise<Finished> }>;
}

const timeoutMs = 60_000;
/** The steps look at the exit code themselves; -1: ended by a signal. */
const expected = [-1, 0, 1, 2, 3, 130, 143];
const startedMs = 15 * 60_000;

/** @param place the options that name the bridge, after each command */
export function bridgeCommand(place: readonly string[], processes: Processes): BridgeCommand {
  const program = join(repository, 'cli', 'main.ts');
  const env = { PATH: process.env.PATH ?? '' };
  const command = (args: readonly string[]) => ({
    file: process.execPath,
    args: [program, ...args, ...place],
    env,
    cwd: repository,
  });

  async function start(args: readonly string[], output: RegExp): Promise<Started> {
    const printed = Promise.withResolvers<string>();
    let said = '';
    const onOutput = (text: string): void => {
      said += text;
      const found = output.exec(said);
      if (found) printed.resolve(found[1] ?? found[0]);
    };
    const ended = processes.run(command(args), { timeoutMs: startedMs, onOutput, expected });
    const group = processes.groups.at(-1) ?? 0;
    const first = await Promise.race([printed.promise, ended]);
    if (typeof first !== 'string') throw new Error(`${args[0]} ended at once: ${first.stderr}`);
    return { printed: first, ended, kill: (signal) => process.kill(group, signal) };
  }

  return {
    run: (args, input) =>
      processes.run(command(args), { timeoutMs, expected, ...(input !== undefined && { input }) }),
    start,
    async connect(args) {
      const { printed: url, ended } = await start(
        ['connect', ...args, '--port', '0'],
        /^ {2}(http\S+)\n[\s\S]*Waiting/m,
      );
      return { url, ended };
    },
  };
}
