/** Shares work among processes: each runs this program with arguments of its own. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** Whether another process has started this one, and prints the result of all. */
export const isJob = process.send !== undefined;

/** Tells the process that started this one. */
export const report = (what: unknown): void => void process.send?.(what);

/**
 * @param most how many run at once
 * @param onReport called with what a process reports; without it, a process that fails does not end the others
 * @returns the exit code of one that failed, or 0
 */
export async function inJobs<T>(
  argumentLists: readonly (readonly string[])[],
  most: number,
  onReport?: (what: T) => void,
): Promise<number> {
  const [, program = ''] = process.argv;
  const running = new Set<ChildProcess>();
  const codes = [0];
  const waiting = argumentLists.values();
  async function work(): Promise<void> {
    for (const args of waiting) {
      const job = fork(program, args);
      running.add(job);
      job.on('message', (what) => onReport?.(what as T));
      const [code, signal] = await once(job, 'exit');
      running.delete(job);
      codes.push(signal === 'SIGTERM' ? 0 : (code ?? 1));
      if (code !== 0 && onReport) for (const other of running) other.kill();
    }
  }
  await Promise.all(Array.from({ length: most }, work));
  return Math.max(...codes);
}
