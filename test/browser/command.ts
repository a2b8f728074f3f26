import { join } from 'node:path';
import { repository } from '../deploy/emulator/cloud.ts';
import type { Finished, Processes } from '../deploy/emulator/processes.ts';

/** `advert-bridge` in a process of its own, on an embedded bridge in a folder. */
export interface BridgeCommand {
  run(args: readonly string[], input?: string): Promise<Finished>;
  /** Starts `connect`, and gives the address that it prints when it waits for the browser. */
  connect(args: readonly string[]): Promise<{ readonly url: string; readonly ended: Promise<Finished> }>;
}

const timeoutMs = 60_000;

export function bridgeCommand(dir: string, processes: Processes): BridgeCommand {
  const program = join(repository, 'cli', 'main.ts');
  const env = { PATH: process.env.PATH ?? '' };
  const command = (args: readonly string[]) => ({
    file: process.execPath,
    args: [program, ...args, '--local', dir],
    env,
    cwd: repository,
  });

  return {
    run: (args, input) =>
      processes.run(command(args), { timeoutMs, ...(input === undefined ? {} : { input }) }),
    async connect(args) {
      const printed = Promise.withResolvers<string>();
      let said = '';
      const onOutput = (text: string): void => {
        said += text;
        const url = /^ {2}(http\S+)\n[\s\S]*Waiting/m.exec(said)?.[1];
        if (url !== undefined) printed.resolve(url);
      };
      const ended = processes.run(command(['connect', ...args, '--port', '0']), { timeoutMs, onOutput });
      const url = await Promise.race([printed.promise, ended]);
      if (typeof url !== 'string') throw new Error(`connect ended at once: ${url.stderr}`);
      return { url, ended };
    },
  };
}
