import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { bridgeFlags } from '../../scripts/bridge-flags.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** One process of the bridge, from its start to its end. */
export interface Life {
  readonly child: ChildProcess;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Resolves when the process is gone and all that it wrote has been read. */
  readonly ended: Promise<Ended>;
  /** What it has written to standard error up to now. */
  stderr(): string;
}

export interface Ended {
  /** Null: by a signal. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

export interface LifeOptions {
  readonly input?: string;
  /** No file of the process may grow beyond so many KiB (`ulimit -f`). */
  readonly maxFileKib?: number;
}

/** Starts the command line from its source, with the heap that package.json gives it. */
export function startLife(args: readonly string[], { input = '', maxFileKib }: LifeOptions = {}): Life {
  const command = [process.execPath, ...bridgeFlags, 'cli/main.ts', ...args];
  // The shell is replaced by the bridge, so that its pid is the bridge's.
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
  // A process that dies early does not read what it was given.
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

/** Its end, or undefined when it is still alive after `withinMs`. */
export async function endWithin({ ended }: Life, withinMs: number): Promise<Ended | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), withinMs);
  });
  const end = await Promise.race([ended, late]);
  clearTimeout(timer);
  return end;
}

/** Lets it finish what it has in hand (SIGTERM); kills it when that takes too long. */
export async function stopLife(life: Life, withinMs = 30_000): Promise<Ended> {
  life.child.kill('SIGTERM');
  const end = await endWithin(life, withinMs);
  if (end) return end;
  life.child.kill('SIGKILL');
  const killed = await life.ended;
  throw new Error(`the bridge did not end ${withinMs / 1000} s after SIGTERM: ${killed.stderr}`);
}
