import { spawn } from 'node:child_process';

let passed = 0;
let failed = 0;

/** Says how a step ended, with what `work` resolves with. */
export async function step(name: string, work: () => Promise<unknown>): Promise<void> {
  const begun = performance.now();
  try {
    const said = await work();
    const seconds = Math.round((performance.now() - begun) / 1000);
    passed += 1;
    console.log(`pass  ${name}${said ? `: ${said}` : ''} (${seconds} s)`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error instanceof Error ? error.message : error}`);
  }
}

/** The line that .ci/run counts, and the exit code. */
export function endSteps(): void {
  console.log(`package: ${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export async function run(
  cwd: string,
  env: NodeJS.ProcessEnv,
  file: string,
  ...args: string[]
): Promise<Ended> {
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return { code, out, err };
}

/** @returns standard output. @throws when the exit code is not 0 */
export async function succeeds(...call: Parameters<typeof run>): Promise<string> {
  const { code, out, err } = await run(...call);
  if (code !== 0) throw new Error(`${call.slice(2).join(' ')}: exit ${code}\n${out}${err}`);
  return out.trim();
}

export const installs = (cwd: string, env: NodeJS.ProcessEnv, ...packages: string[]): Promise<string> =>
  succeeds(cwd, env, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', ...packages);

export const expect = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};
