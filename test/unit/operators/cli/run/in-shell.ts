/** Runs as a user has them: in a shell, over real pipes and small file systems. */
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { newFolder } from '../run-cli.ts';

const { PATH, NODE_OPTIONS } = process.env;
const main = path.resolve('operators/cli/main.ts');
export const bridge = `"${process.execPath}" "${main}"`;

/** A line of a shell, in a group of its own, which is killed at the end of the test. */
export function shell(line: string) {
  const child = spawn('sh', ['-c', line], { env: { PATH, NODE_OPTIONS }, detached: true });
  let stderr = '';
  const listeners = new Set<() => void>();
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    for (const listener of listeners) listener();
  });
  const kill = (signal: NodeJS.Signals) => process.kill(-(child.pid ?? 0), signal);
  const ended = once(child, 'exit').then(([code]) => ({ code, stderr }));
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) kill('SIGKILL');
  });
  /** @returns what its standard error has of this form, once it has */
  const said = (form: RegExp) =>
    new Promise<string>((resolve) => {
      const look = () => {
        const [found] = form.exec(stderr) ?? [];
        if (found !== undefined) resolve(found);
      };
      listeners.add(look);
      look();
    });
  return { ended, kill, said };
}

/** A file system of its own. @param kib its size */
export function smallDisk(kib: number): string {
  const folder = newFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'none', folder]);
  onTestFinished(() => void execFileSync('umount', ['-l', folder]));
  return folder;
}

export function fill(folder: string, leftKib: number): string {
  const ballast = path.join(folder, `ballast-${randomUUID()}`);
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - leftKib * 1024));
  return ballast;
}

export const canMount = (() => {
  try {
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' });
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
})();

export const linesIn = (...files: readonly string[]) =>
  files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== ''),
  );
export const advertsIn = (lines: readonly string[]) =>
  new Set(lines.map((line) => JSON.parse(line).detail.data.advertId));
