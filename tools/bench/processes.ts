import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { SandboxOptions } from '../../sandbox/server.ts';
import { bridgeFlags } from '../release/bridge-flags.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Finished {
  readonly seconds: number;
  /** Highest resident memory observed, MB; from /proc, so only on Linux (otherwise 0). */
  readonly peakMb: number;
  /** CPU time of all its threads, in the system's steps of 10 ms; also from /proc. */
  readonly cpuSeconds: number;
  readonly stdout: string;
}

/**
 * Runs a script of this repository to its end and measures it from outside, including start-up. No other child
 * process may end in the meantime, because the CPU time of ended children is attributed to the script.
 *
 * @param input written to its standard input
 * @param expected its exit code, default 0; any other throws
 */
export async function measure(
  script: string,
  args: readonly string[],
  { input = '', expected = 0 } = {},
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
  child.stdout.on('data', (chunk: Buffer) => {
    // The books count events, so their lines need not be stored.
    if (stdout.length < 1_000_000) stdout += chunk;
  });
  let peakMb = 0;
  const watching = setInterval(() => {
    peakMb = peakOf(child) || peakMb;
  }, 25);
  const [code] = await once(child, 'close');
  clearInterval(watching);
  const seconds = (performance.now() - startedAt) / 1000;
  if (code !== expected) throw new Error(`${script} ${args.join(' ')} exited with ${code}: ${stderr}`);
  return { peakMb, cpuSeconds: cpuOfEnded() - cpuBefore, seconds, stdout };
}

/** The command line in the form that `npm run bridge` starts. */
export const commandLine = 'operators/cli/advert-bridge.cjs';
/** The compile cache that operators/cli/advert-bridge.cjs also uses. */
const keptCode = { NODE_COMPILE_CACHE: `${root}node_modules/.cache/advert-bridge` };

/**
 * Starts a script of this repository. The command line gets the Node options of `npm run bridge`; a comparison
 * program gets the same compile cache, because the times of both include start-up.
 */
function start(script: string, args: readonly string[]): ChildProcessWithoutNullStreams {
  const flags = script.endsWith(commandLine) ? bridgeFlags : [];
  const env = script.startsWith('tools/bench/') ? { ...process.env, ...keptCode } : process.env;
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
  /** Calls a method of the sandbox's control. @returns what it returns */
  control(method: string, ...args: unknown[]): Promise<unknown>;
  /** Number of connections accepted since the start. */
  connections(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts the sandbox in a separate process, so that it does not share the measured event loop. */
export async function startService(options: SandboxOptions): Promise<Service> {
  const child = spawn(process.execPath, ['tools/bench/service.ts', JSON.stringify(options)], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  async function control(method: string, ...args: unknown[]): Promise<unknown> {
    const body = JSON.stringify({ method, args });
    const answer = await fetch(`${url}/_sandbox/`, { method: 'POST', body });
    if (!answer.ok) throw new Error(`${method}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
  return {
    url,
    control,
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
