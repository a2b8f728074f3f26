import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runs } from './process-table.ts';

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
}

export interface Finished {
  /** Exit code, or `null` if a signal ended the process. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Background {
  readonly pid: number;
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

  /**
   * Starts a long-running command, with its output in a file. Its standard input stays open as long as this process
   * lives.
   */
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
    // Nobody writes to it: the end of this pipe tells the child's watchdog that this process has ended.
    child.stdin?.on('error', () => undefined);
    return { pid: child.pid ?? 0, exit: () => exit };
  }

  /**
   * Runs a command to its end.
   *
   * @throws {Error} if it cannot be started or takes longer than `timeoutMs`; never for its exit code
   */
  run(command: Command, { timeoutMs, input, onOutput }: RunOptions): Promise<Finished> {
    return new Promise((resolve, reject) => {
      const child = this.#spawn(command, ['pipe', 'pipe', 'pipe']);
      const { pid = 0 } = child;
      const texts = { stdout: '', stderr: '' };
      for (const stream of ['stdout', 'stderr'] as const) {
        child[stream]?.setEncoding('utf8').on('data', (text: string) => {
          texts[stream] += text;
          onOutput?.(text);
        });
      }
      child.stdin?.on('error', () => undefined).end(input ?? '');
      const timer = setTimeout(() => {
        void stopGroup(pid);
        const said = `${texts.stdout}${texts.stderr}`.trim();
        reject(new Error(`${shown(command)} took longer than ${timeoutMs / 1000} s\n${said}`));
      }, timeoutMs);
      child.once('error', (error) => {
        clearTimeout(timer);
        reject(new Error(`${shown(command)} cannot be started: ${error.message}`, { cause: error }));
      });
      child.once('close', (code) => {
        clearTimeout(timer);
        resolve({ code, ...texts });
      });
    });
  }

  /** Stops all groups; afterwards nothing can be started. */
  async stopAll(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.groups.map((group) => stopGroup(group)));
  }

  #spawn(command: Command, stdio: ('pipe' | number)[]) {
    if (this.#closed) throw new Error('the run is being stopped');
    const { file, args, env, cwd } = command;
    const child = spawn(file, args, { env, cwd, stdio, detached: true });
    if (child.pid !== undefined) this.groups.push(child.pid);
    return child;
  }
}

const shown = ({ file, args }: Command): string => [file.split('/').at(-1), ...args].join(' ');

/** Sends SIGTERM to every process of the group, and SIGKILL to those left after `graceMs`. */
async function stopGroup(group: number, graceMs = 3000): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!signalGroup(group, signal)) return;
    const until = Date.now() + graceMs;
    while (Date.now() < until) {
      await sleep(50);
      if (!(await runs(group))) return;
    }
  }
}

/** @returns false if the group no longer exists */
function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  if (group <= 1) return false;
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    return false;
  }
}
