/** Shares work among processes, one for each core: each runs this program with arguments of its own. */
import { type ChildProcess, fork } from 'node:child_process';

/** Whether another process has started this one, and prints the result of all. */
export const isJob = process.send !== undefined;

/** Tells the process that started this one. */
export const report = (what: unknown): void => void process.send?.(what);

/**
 * @param onReport called with what a process reports; without it, a process that fails does not end the others
 * @returns the exit code of one that failed, or 0
 */
export async function inJobs<T>(
  argumentLists: readonly (readonly string[])[],
  onReport?: (what: T) => void,
): Promise<number> {
  const [, program = ''] = process.argv;
  const jobs = argumentLists.map((args) => fork(program, args));
  const end = (job: ChildProcess) =>
    new Promise<number>((resolve) => {
      job.on('message', (what) => onReport?.(what as T));
      job.on('exit', (code, signal) => {
        if (code !== 0 && onReport) for (const other of jobs) other.kill();
        resolve(signal === 'SIGTERM' ? 0 : (code ?? 1));
      });
    });
  return Math.max(...(await Promise.all(jobs.map(end))));
}

/** Splits `count` items into at most `jobs` parts of about the same size. */
export const partsOf = (count: number, jobs: number): { readonly first: number; readonly size: number }[] =>
  Array.from({ length: Math.min(jobs, count) }, (_, job) => {
    const first = Math.floor((count * job) / jobs);
    return { first, size: Math.floor((count * (job + 1)) / jobs) - first };
  });
