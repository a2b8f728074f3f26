import { join } from 'node:path';
import type { Command, Processes } from './processes.ts';

/** Pinned, because the emulator's behaviour changes between versions. hypercorn is its server. */
export const ministack = { program: 'ministack', requirements: ['ministack==1.5.33', 'hypercorn==0.18.0'] };
/** The AWS command line, version 1: version 2 is in no package registry. */
export const awsCommandLine = { program: 'aws', requirements: ['awscli==1.46.3'] };

/** Installation takes seconds from a fast mirror; this allows for a slow connection. */
const timeoutMs = 300_000;

/**
 * A Python virtual environment with the tool, created if it is missing or incomplete.
 *
 * @param folder path of the environment; kept between runs
 * @returns the path of the tool's program
 * @throws {Error} naming what the machine lacks
 */
export async function pythonEnvironment(
  { program, requirements }: typeof ministack,
  folder: string,
  processes: Processes,
  say: (line: string) => void,
): Promise<string> {
  const python = join(folder, 'bin', 'python');
  // The caller's environment may configure pip's mirror and certificates.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('PYTHON'));
  const env = { ...Object.fromEntries(inherited), PIP_DISABLE_PIP_VERSION_CHECK: '1' } as Command['env'];
  const run = (file: string, ...args: string[]) => processes.run({ file, args, env }, { timeoutMs });
  const installed = await run(python, '-m', 'pip', 'freeze').catch(() => ({ stdout: '' }));
  const found = installed.stdout.toLowerCase().split('\n');
  if (!requirements.every((requirement) => found.includes(requirement))) {
    say(`installing ${requirements.join(' and ')} in ${folder}: needs Python 3.10 with venv, and PyPI`);
    await run('python3', '-m', 'venv', '--clear', folder);
    await run(python, '-m', 'pip', 'install', '--quiet', '--no-input', ...requirements);
  }
  return join(folder, 'bin', program);
}
