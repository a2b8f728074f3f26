import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SandboxOptions } from '../../sandbox/server.ts';
import type { JournalEntry } from '../../sandbox/state/journal.ts';
import { bridgeFlags } from '../../scripts/bridge-flags.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Finished {
  readonly seconds: number;
  /** Highest resident memory seen, MB; from /proc, so on Linux only (else 0). */
  readonly peakMb: number;
  /** All its threads, by the system's count of 10 ms; from /proc, too. */
  readonly cpuSeconds: number;
  readonly stdout: string;
}

export interface MeasureOptions {
  /** Goes to its standard input. */
  readonly input?: string;
  /** Called with each line of standard output, which is then not kept. */
  readonly onLine?: (line: string) => void;
}

/**
 * Runs a script of this repository to its end and measures it from outside, start-up included. No other child may end
 * meanwhile: the CPU time of ended children is counted as the script's.
 *
 * @throws when it exits with anything but 0
 */
export async function measure(
  script: string,
  args: readonly string[],
  { input = '', onLine }: MeasureOptions = {},
): Promise<Finished> {
  const cpuBefore = cpuOfEnded();
  const startedAt = performance.now();
  const child = start(script, args);
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk;
  });
  child.stdin.end(input);
  let stdout = '';
  if (onLine) createInterface({ input: child.stdout }).on('line', onLine);
  else {
    child.stdout.on('data', (chunk: Buffer) => {
      // Events are counted by the books, not kept; the status of a thousand partner accounts is.
      if (stdout.length < 10_000_000) stdout += chunk;
    });
  }
  let peakMb = 0;
  const watching = setInterval(() => {
    peakMb = peakOf(child) || peakMb;
  }, 25);
  const [code] = await once(child, 'close');
  clearInterval(watching);
  const seconds = (performance.now() - startedAt) / 1000;
  if (code !== 0) throw new Error(`${script} ${args.join(' ')} exited with ${code}: ${stderr}`);
  return { peakMb, cpuSeconds: cpuOfEnded() - cpuBefore, seconds, stdout };
}

/** The command line as `npm run bridge` runs it. */
export const commandLine = 'cli/advert-bridge.cjs';
/** The compile cache that cli/advert-bridge.cjs uses too. */
const keptCode = { NODE_COMPILE_CACHE: `${root}node_modules/.cache/advert-bridge` };

/**
 * Starts a script of this repository: the command with the options in its first line, a comparison program with the same
 * compile cache, because start-up is in the times of both.
 */
export function start(script: string, args: readonly string[]): ChildProcessWithoutNullStreams {
  const flags = script.endsWith(commandLine) ? bridgeFlags : [];
  const env = script.startsWith('bench/') ? { ...process.env, ...keptCode } : process.env;
  return spawn(process.execPath, [...flags, script, ...args], { cwd: root, stdio: 'pipe', env });
}

function peakOf(child: ChildProcess): number {
  try {
    const peakKb = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
    return Number(peakKb ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** CPU seconds of all children that have ended. @see https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function cpuOfEnded(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    const ticksASecond = 100;
    return (Number(fields[13]) + Number(fields[14])) / ticksASecond;
  } catch {
    return 0;
  }
}

export interface Service {
  readonly url: string;
  /** Calls a control endpoint of the sandbox, with POST when there is a body. @returns its answer */
  control(path: string, body?: unknown): Promise<unknown>;
  /** The requests that it keeps, in the order of their arrival. */
  journal(): Promise<readonly JournalEntry[]>;
  /** Requests taken since it started; those to its control endpoints apart. */
  requests(): Promise<number>;
  /** Connections taken since it started. */
  connections(): Promise<number>;
  stop(): Promise<void>;
}

/** The sandbox in a process of its own, so that it does not share the event loop that is measured. */
export async function startService(options: SandboxOptions): Promise<Service> {
  const child = spawn(process.execPath, ['bench/service.ts', JSON.stringify(options)], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  async function control(path: string, body?: unknown): Promise<unknown> {
    const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(`${url}/_sandbox${path}`, request);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
  return {
    url,
    control,
    journal: async () => ((await control('/journal')) as { entries: JournalEntry[] }).entries,
    requests: async () => ((await control('/journal?limit=0')) as { nextIndex: number }).nextIndex,
    async connections() {
      child.send('connections');
      const [answer] = (await once(child, 'message')) as [{ connections: number }];
      return answer.connections;
    },
    async stop() {
      child.kill();
      await once(child, 'close');
    },
  };
}
