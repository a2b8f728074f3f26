import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Steps } from '../deploy/emulator/steps.ts';

export const steps = new Steps((line) => console.log(line));

export const step = (name: string, work: () => Promise<unknown>): Promise<void> =>
  steps.check(name, async () => void (await work()));

export interface Ended {
  /** Text, such as ENOENT, when it did not start. */
  readonly code: number | string | null;
  readonly out: string;
  readonly err: string;
}

export function run(cwd: string, env: NodeJS.ProcessEnv, file: string, ...args: string[]): Promise<Ended> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: Number.POSITIVE_INFINITY };
  const running = promisify(execFile)(file, args, options);
  running.child.stdin?.end();
  return running.then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout, stderr }) => ({ code, out: stdout, err: stderr }),
  );
}

/** @returns standard output. @throws when the exit code is not 0 */
export async function succeeds(...call: Parameters<typeof run>): Promise<string> {
  const { code, out, err } = await run(...call);
  if (code !== 0) throw new Error(`${call.slice(2).join(' ')}: exit ${code}\n${out}${err}`);
  return out.trim();
}

/** Compiles TypeScript. @param flags separated by spaces */
export const compiles = (
  cwd: string,
  env: NodeJS.ProcessEnv,
  flags: string,
  ...files: string[]
): Promise<string> => succeeds(cwd, env, 'npx', 'tsc', '--strict', ...flags.split(' '), ...files);

export const installs = (cwd: string, env: NodeJS.ProcessEnv, ...packages: string[]): Promise<string> =>
  succeeds(cwd, env, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', ...packages);

export const expect = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};
