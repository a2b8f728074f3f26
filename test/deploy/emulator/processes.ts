import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { until } from '../../helpers/until.ts';

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** The complete environment: nothing is inherited from this process. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface RunOptions {
  readonly timeoutMs: number;
  /** Written to standard input, which is then closed. */
  readonly input?: string;
  /** Called with each piece of output as it arrives. */
  readonly onOutput?: (text: string) => void;
  /** Accepted exit codes. Default: only 0. */
  readonly expected?: readonly number[];
}

export interface Finished {
  /** `null` if a signal ended the process. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Background {
  /** How it ended; undefined while it runs. */
  readonly exit: () => string | undefined;
}

/**
 * Starts and tracks the processes of this run. Every child leads its own process group, so that its children end with
 * it, and so that Ctrl-C reaches only this process, which then stops them in order.
 */
export class Processes {
  readonly groups: number[] = [];
  #closed = false;

  /** Starts a command with its output in a file. Its standard input stays open as long as this process lives. */
  start(command: Command, logFile: string): Background {
    const log = openSync(logFile, 'a');
    const child = this.#spawn(command, ['pipe', log, log]);
    closeSync(log);
    let exit: string | undefined;
    child.once('error', (error) => {
      exit = error.message;
    });
    child.once('exit', (code, signal) => {
      exit = `it ended with ${signal ?? `exit code ${code}`}`;
    });
    child.stdin?.on('error', () => undefined);
    return { exit: () => exit };
  }

  /** @throws {Error} with its complete output, if it ends unexpectedly, takes too long or cannot be started */
  async run(command: Command, { timeoutMs, input, onOutput, expected = [0] }: RunOptions): Promise<Finished> {
    const child = this.#spawn(command, ['pipe', 'pipe', 'pipe']);
    const texts = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream]?.setEncoding('utf8').on('data', (text: string) => {
        texts[stream] += text;
        onOutput?.(text);
      });
    }
    child.stdin?.on('error', () => undefined).end(input ?? '');
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      void stopGroup(child.pid ?? 0);
    }, timeoutMs);
    const { promise, resolve, reject } = Promise.withResolvers<number | null>();
    child.once('error', reject).once('close', resolve);
    const code = await promise.finally(() => clearTimeout(timer));
    if (!isLate && expected.includes(code ?? -1)) return { code, ...texts };
    const how = isLate ? `took longer than ${timeoutMs / 1000} s` : `ended with ${code}`;
    const shown = [command.file.split('/').at(-1), ...command.args].join(' ');
    throw new Error(`${shown} ${how}\n${texts.stdout}${texts.stderr}`.trim());
  }

  /** Stops all groups; afterwards nothing can be started. */
  async stopAll(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.groups.map(stopGroup));
  }

  /** The processes that are left: of these groups, or with `folder` in their command line. */
  async left(folder: string): Promise<string[]> {
    const left = (await processTable()).filter(
      ({ pid, group, command }) =>
        pid !== process.pid && (this.groups.includes(group) || command.includes(folder)),
    );
    return left.map(({ pid, command }) => `${pid} ${command}`);
  }

  #spawn(command: Command, stdio: ('pipe' | number)[]) {
    if (this.#closed) throw new Error('the run is being stopped');
    const { file, args, env, cwd } = command;
    const child = spawn(file, args, { env, cwd, stdio, detached: true });
    if (child.pid !== undefined) this.groups.push(child.pid);
    return child;
  }
}

/** The processes of this machine, without zombies, as in a container without an init process. */
export async function processTable() {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,pgid=,stat=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, group, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    if (!pid || !group || !command || state?.startsWith('Z')) return [];
    return [{ pid: Number(pid), group: Number(group), command }];
  });
}

/** Sends SIGTERM to every process of the group, and SIGKILL to those left after three seconds. */
async function stopGroup(group: number): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (group <= 1 || !send(-group, signal)) return;
    const isGone = async () => !(await processTable()).some((entry) => entry.group === group);
    const options = { withinMs: 3000, everyMs: 50 };
    if (await until(`the end of group ${group}`, isGone, options).catch(() => false)) return;
  }
}

/** @returns false if the process, or the group, no longer exists */
export function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}
