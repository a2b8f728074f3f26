import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { onTestFinished } from 'vitest';

const program = path.join(import.meta.dirname, '..', '..', '..', 'cli', 'main.ts');

/** The command line in a process of its own, killed at the end of the test. */
export function start(args: string) {
  const child = spawn(process.execPath, [program, ...args.split(' ')], { env: { PATH: process.env.PATH } });
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
