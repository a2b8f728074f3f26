import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';

const { PATH, NODE_OPTIONS } = process.env;
const program = path.join(import.meta.dirname, '../../../../operators/cli/main.ts');

/** The command line in a separate process, which is killed at the end of the test. */
export const start = (args: string) =>
  watched(spawn(process.execPath, [program, ...args.split(' ')], { env: { PATH, NODE_OPTIONS } }));

/** util-linux's `script`, which gives a command a terminal. */
const terminal = '/usr/bin/script';
export const hasTerminal = process.platform === 'linux' && existsSync(terminal);

/** The command line on a terminal of its own. What it writes, and what the terminal echoes, is standard output. */
export function startOnTerminal(args: string) {
  const line = `"${process.execPath}" "${program}" ${args}`;
  return watched(spawn(terminal, ['-qec', line, '/dev/null'], { env: { PATH, NODE_OPTIONS } }));
}

/** The same as `npm run` starts it: the child is a shell, which ends at a signal and does not hand it on. */
export function startByNpm(args: string) {
  const env = { PATH, NODE_OPTIONS, npm_lifecycle_event: 'bridge' };
  // The command behind it keeps the shell from becoming the program itself.
  const line = `"${process.execPath}" "${program}" ${args}; exit $?`;
  const child = spawn('sh', ['-c', line], { env, detached: true });
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // The whole group has ended, as it should.
    }
  });
  return watched(child);
}

function watched(child: ChildProcessWithoutNullStreams) {
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...said }));
  return { child, ended };
}
