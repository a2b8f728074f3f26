import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach } from 'vitest';

const root = path.join(import.meta.dirname, '../..');

/** Processes that run a piece of TypeScript with the repository as their folder; killed after each test. */
export function childProcesses() {
  const started: ChildProcess[] = [];
  afterEach(() => {
    for (const child of started.splice(0)) child.kill('SIGKILL');
  });

  /** Resolves with the first line that the child prints. */
  async function start(code: string, ...args: string[]) {
    const child = spawn(
      process.execPath,
      ['--no-warnings', '--input-type=module-typescript', '--eval', code, ...args],
      { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    started.push(child);
    const ended = once(child, 'exit');
    const [line] = await Promise.race([
      once(createInterface({ input: child.stdout }), 'line'),
      ended.then(([exitCode]) => [`exit ${exitCode}`]),
    ]);
    return {
      line: String(line),
      pid: child.pid,
      ended,
      async kill(): Promise<void> {
        child.kill('SIGKILL');
        await ended;
      },
    };
  }
  return start;
}
