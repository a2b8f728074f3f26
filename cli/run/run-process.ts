import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Io, print, say } from '../shared/io.ts';
import { thisProgram } from '../shared/program.ts';

export type RunProcess = ReturnType<typeof createRunProcess>;

/** `run` in a process of its own, which can be killed and started again. What it prints, `io` prints. */
export function createRunProcess(
  { stdout, stderr, env }: Pick<Io, 'stdout' | 'stderr' | 'env'>,
  options: readonly string[],
) {
  const [file, ...args] = thisProgram();
  let child: ChildProcess | undefined;

  return {
    /** Undefined while there is none. */
    pid: (): number | undefined => child?.pid,
    start(): void {
      if (child) return;
      const started = spawn(file, [...args, 'run', ...options], {
        // As npm sets it: it ends when this process is gone.
        env: { ...env, npm_lifecycle_event: 'start' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child = started;
      createInterface({ input: started.stdout }).on('line', (line) => print(stdout, `${line}\n`));
      createInterface({ input: started.stderr }).on('line', (line) => say({ stderr }, line));
      started.on('error', ({ message }) => say({ stderr }, message));
      started.on('close', () => {
        child = undefined;
      });
    },
    /** @returns once it has ended */
    async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
      if (!child) return;
      const closed = once(child, 'close');
      child.kill(signal);
      await closed;
    },
  };
}
