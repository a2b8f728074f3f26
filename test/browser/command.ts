import { join } from 'node:path';
import { repository } from '../deploy/emulator/cloud.ts';
import type { Processes } from '../deploy/emulator/processes.ts';

const timeoutMs = 60_000;
/** The steps look at the exit code themselves; -1: ended by a signal. */
const expected = [-1, 0, 1, 2, 3, 130, 143];
const startedMs = 15 * 60_000;

/** `advert-bridge` in a process of its own. */
export type BridgeCommand = ReturnType<typeof bridgeCommand>;

/** @param place the options that name the bridge, after each command */
export function bridgeCommand(place: readonly string[], processes: Processes) {
  const command = (args: readonly string[]) => ({
    file: process.execPath,
    args: [join(repository, 'cli', 'main.ts'), ...args, ...place],
    env: { PATH: process.env.PATH ?? '' },
    cwd: repository,
  });

  /** Starts a command, and waits until its output matches: `printed` is the first group, or everything. */
  async function start(args: readonly string[], output: RegExp) {
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
    return { printed: first, ended, kill: (signal: NodeJS.Signals) => process.kill(group, signal) };
  }

  return {
    run: (args: readonly string[], input?: string) =>
      processes.run(command(args), { timeoutMs, expected, ...(input !== undefined && { input }) }),
    start,
    /** Starts `connect`, whose `printed` is the address that it waits for. */
    connect: (name: string) => start(['connect', name, '--port', '0'], /^ {2}(http\S+)\n[\s\S]*Waiting/m),
  };
}
