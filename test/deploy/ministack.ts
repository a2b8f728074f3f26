import { mkdir, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Processes } from './processes.ts';

export interface MiniStack {
  readonly endpoint: string;
  readonly logFile: string;
}

/** Half a second on a quiet machine. */
const startTimeoutMs = 60_000;

/**
 * The emulator, and a watchdog in its process group: when this process ends, however it ends, standard input is at
 * its end, and the whole group goes.
 */
const guarded = 'exec 3<&0; "$1" 3<&- & child=$!; (cat <&3 >/dev/null; kill -KILL 0) & wait "$child"';

/**
 * Starts MiniStack on a free port of loopback and waits until it answers.
 *
 * @param folder for all that it writes
 * @param path PATH of the emulator; the first `node` on it runs the functions
 * @throws {Error} with the end of its log when it ends or does not answer
 */
export async function startMiniStack(
  program: string,
  folder: string,
  path: string,
  processes: Processes,
): Promise<MiniStack> {
  const folders = { HOME: 'home', TMPDIR: 'tmp', STATE_DIR: 'state', S3_DATA_DIR: 's3' };
  const places = Object.entries(folders).map(([key, name]) => [key, join(folder, name)] as const);
  for (const [, place] of places) await mkdir(place, { recursive: true });
  const port = await freePort();
  const logFile = join(folder, 'ministack.log');
  // Functions see the emulator's environment, so it gets one without anything of the machine's.
  const env = {
    PATH: path,
    ...Object.fromEntries(places),
    GATEWAY_PORT: String(port),
    LAMBDA_EXECUTOR: 'local',
    BIND_HOST: '127.0.0.1',
    MINISTACK_HOST: '127.0.0.1',
    IOT_MTLS_ENABLED: '0',
    SFTP_ENABLED: '0',
  };
  const emulator = processes.start({ file: 'sh', args: ['-c', guarded, 'sh', program], env }, logFile);
  const endpoint = `http://127.0.0.1:${port}`;
  const until = Date.now() + startTimeoutMs;
  while (!(await isHealthy(endpoint))) {
    const exit = emulator.exit();
    if (exit === undefined && Date.now() < until) {
      await sleep(100);
      continue;
    }
    const log = await readFile(logFile, 'utf8').catch(() => '');
    throw new Error(`MiniStack did not start: ${exit ?? 'no answer'}\n${log.slice(-2000)}`);
  }
  return { endpoint, logFile };
}

async function isHealthy(endpoint: string): Promise<boolean> {
  try {
    const answer = await fetch(`${endpoint}/_ministack/health`, { signal: AbortSignal.timeout(2000) });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return false;
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
