import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { runs } from './process-table.ts';

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment: nothing of this process's own is added. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface RunOptions {
  readonly timeoutMs: number;
  /** Written to standard input, which is then closed. */
  readonly input?: string;
  /** Sees each piece of output as it comes. */
  readonly onOutput?: (text: string) => void;
}

export interface Finished {
  /** Exit code, or `null` when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Background {
  readonly pid: number;
  /** Undefined while it runs. */
  readonly exit: () => string | undefined;
}

/**
 * What this run has started. Every child leads a process group of its own, so that its children go with it, and
 * Ctrl-C reaches only this process, which then stops them in order.
 */
export class Processes {
  readonly groups: number[] = [];
  #closed = false;

  /** Starts a command that is meant to stay; its output goes to a file. Its stdin stays open as long as we live. */
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
    // Nobody writes to it: the pipe's end is what tells the child's watchdog that we are gone.
    child.stdin?.on('error', () => undefined);
    return { pid: child.pid ?? 0, exit: () => exit };
  }

  /**
   * Runs a command to its end.
   *
   * @throws {Error} when it cannot be started or takes longer than `timeoutMs`; not for its exit code
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

  /** Stops all groups; nothing can be started afterwards. */
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

/** SIGTERM to every process of the group, and SIGKILL to what is left of it after `graceMs`. */
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

/** @returns false when there is no such group any more */
function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  if (group <= 1) return false;
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    return false;
  }
}
