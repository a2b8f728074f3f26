import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

export interface Finished {
  readonly seconds: number;
  /** Highest resident memory seen, MB; from /proc, so on Linux only (else 0). */
  readonly peakMb: number;
  readonly cpuSeconds: number;
  readonly stdout: string;
}

/**
 * Runs a script of this repository to its end and measures it from outside, start-up included.
 *
 * @throws when it exits with anything but 0
 */
export async function measure(script: string, args: readonly string[], input = ''): Promise<Finished> {
  const startedAt = performance.now();
  // As package.json runs it.
  const flags = script.startsWith('cli/') ? ['--max-semi-space-size=8', '--heap-growing-percent=100'] : [];
  const child = spawn(process.execPath, [...flags, script, ...args], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk;
  });
  child.stdin?.end(input);
  let stdout = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    // Events are counted by the books, not kept.
    if (stdout.length < 100_000) stdout += chunk;
  });
  let usage = { peakMb: 0, cpuSeconds: 0 };
  const watching = setInterval(() => {
    usage = usageOf(child, usage);
  }, 25);
  const [code] = await once(child, 'close');
  clearInterval(watching);
  if (code !== 0) throw new Error(`${script} ${args.join(' ')} exited with ${code}: ${stderr}`);
  return { ...usage, seconds: (performance.now() - startedAt) / 1000, stdout };
}

function usageOf(child: ChildProcess, before: { peakMb: number; cpuSeconds: number }) {
  try {
    const peakKb = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    return { peakMb: Number(peakKb ?? 0) / 1024 || before.peakMb, cpuSeconds: ticks / 100 };
  } catch {
    return before;
  }
}

export interface Service {
  readonly url: string;
  /** Posts to a control endpoint of the sandbox. */
  control(path: string, body: unknown): Promise<void>;
  stop(): Promise<void>;
}

/** The sandbox in a process of its own, so that it does not share the event loop that is measured. */
export async function startService(latencyMs: number, journalLimit = 1_000): Promise<Service> {
  const child = spawn(process.execPath, ['bench/service.ts', String(latencyMs), String(journalLimit)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  const url = line.toString().trim();
  return {
    url,
    async control(path, body) {
      const answer = await fetch(`${url}/_sandbox${path}`, { method: 'POST', body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      await answer.body?.cancel();
    },
    async stop() {
      child.kill();
      await once(child, 'close');
    },
  };
}
