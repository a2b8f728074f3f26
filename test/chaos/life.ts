import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { bridgeFlags } from '../../scripts/bridge-flags.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** One process of the bridge, from start to end. */
export interface Life {
  readonly child: ChildProcess;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Resolves when the process has ended and all its output has been read. */
  readonly ended: Promise<Ended>;
  /** Its standard error output so far. */
  stderr(): string;
}

export interface Ended {
  /** Null: ended by a signal. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

export interface LifeOptions {
  readonly input?: string;
  /** Maximum size of each file that the process writes, in KiB (`ulimit -f`). */
  readonly maxFileKib?: number;
}

/** Starts the command line from source, with the heap limits from package.json. */
export function startLife(args: readonly string[], { input = '', maxFileKib }: LifeOptions = {}): Life {
  const command = [process.execPath, ...bridgeFlags, 'cli/main.ts', ...args];
  // `exec` replaces the shell, so that its pid becomes the bridge's.
  const [file = '', ...rest] =
    maxFileKib === undefined
      ? command
      : ['bash', '-c', `ulimit -f ${maxFileKib} && exec "$@"`, 'bash', ...command];
  const startedAtMs = Date.now();
  const child = spawn(file, rest, { cwd: root, stdio: ['pipe', 'pipe', 'pipe'] });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  // A process that dies early does not read its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) =>
      resolve({
        exitCode,
        stdout: Buffer.concat(out).toString('utf8'),
        stderr: Buffer.concat(err).toString('utf8'),
        seconds: (Date.now() - startedAtMs) / 1000,
      }),
    );
  });
  return { child, startedAtMs, ended, stderr: () => Buffer.concat(err).toString('utf8') };
}

/** The result of the process, or undefined when it is still alive after `withinMs`. */
export async function endWithin({ ended }: Life, withinMs: number): Promise<Ended | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), withinMs);
  });
  const end = await Promise.race([ended, late]);
  clearTimeout(timer);
  return end;
}

/** Lets the process finish its current work (SIGTERM); kills it if that takes too long. */
export async function stopLife(life: Life, withinMs = 30_000): Promise<Ended> {
  life.child.kill('SIGTERM');
  const end = await endWithin(life, withinMs);
  if (end) return end;
  life.child.kill('SIGKILL');
  const killed = await life.ended;
  throw new Error(`the bridge did not end ${withinMs / 1000} s after SIGTERM: ${killed.stderr}`);
}
