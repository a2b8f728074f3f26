import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Finished, Processes } from './processes.ts';

/** A program installed by pip, with exact versions. */
export interface PythonTool {
  readonly program: string;
  readonly requirements: readonly string[];
}

/** Pinned, because the emulator's behaviour changes between versions. hypercorn is its server. */
export const ministack: PythonTool = {
  program: 'ministack',
  requirements: ['ministack==1.5.33', 'hypercorn==0.18.0'],
};
/** The AWS command line, version 1: version 2 is in no package registry. */
export const awsCommandLine: PythonTool = { program: 'aws', requirements: ['awscli==1.46.3'] };

/** Installation takes seconds from a fast mirror; this allows for a slow connection. */
const installTimeoutMs = 300_000;

/**
 * A Python virtual environment with the tool. It is created if it is missing or incomplete.
 *
 * @param folder path of the environment; kept between runs
 * @param say called with the current activity, because the installation takes a while
 * @returns the path of the tool's program
 * @throws {Error} naming what the machine lacks
 */
export async function pythonEnvironment(
  tool: PythonTool,
  folder: string,
  processes: Processes,
  say: (line: string) => void,
): Promise<string> {
  const { requirements } = tool;
  const program = join(folder, 'bin', tool.program);
  const python = join(folder, 'bin', 'python');
  const env = pythonEnv();

  const attempt = (file: string, args: string[], timeoutMs = 60_000): Promise<Finished> =>
    processes.run({ file, args, env }, { timeoutMs });

  if ((await exists(program)) && (await isComplete(python, requirements, attempt))) return program;

  const version = await attempt('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])']).catch(
    () => undefined,
  );
  const [major = 0, minor = 0] = (version?.stdout ?? '').trim().split('.').map(Number);
  if (version?.code !== 0 || major < 3 || (major === 3 && minor < 10)) {
    const found = version?.code === 0 ? `python3 is ${version.stdout.trim()}` : 'there is no python3';
    throw new Error(`${tool.program} needs Python 3.10 or later: ${found}`);
  }

  say(`making a Python virtual environment in ${folder}`);
  const made = await attempt('python3', ['-m', 'venv', '--clear', folder]);
  if (made.code !== 0) {
    throw new Error(
      `python3 -m venv failed; on Debian and Ubuntu: apt-get install python3-venv\n${made.stdout}${made.stderr}`,
    );
  }
  say(`installing ${requirements.join(' and ')}`);
  const installed = await attempt(
    python,
    ['-m', 'pip', 'install', '--quiet', '--no-input', ...requirements],
    installTimeoutMs,
  );
  if (installed.code !== 0) {
    throw new Error(
      `pip could not install ${requirements.join(' ')}; is PyPI reached?\n${installed.stdout}${installed.stderr}`,
    );
  }
  return program;
}

async function isComplete(
  python: string,
  requirements: readonly string[],
  attempt: (file: string, args: string[]) => Promise<Finished>,
): Promise<boolean> {
  const show = 'from importlib.metadata import version as v; print(*("%s==%s" % (n, v(n)) for n in N))';
  const names = JSON.stringify(requirements.map((requirement) => requirement.split('==')[0]));
  const shown = await attempt(python, ['-c', `N = ${names}\n${show}`]).catch(() => undefined);
  return shown?.code === 0 && shown.stdout.trim() === requirements.join(' ');
}

/** Inherits the caller's environment, which may configure pip's mirror and certificates. */
function pythonEnv(): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith('PYTHON'),
  );
  return { ...Object.fromEntries(inherited), PIP_DISABLE_PIP_VERSION_CHECK: '1' };
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
