import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../helpers/free-port.ts';
import type { Background, Processes } from './processes.ts';

export interface MiniStack {
  readonly endpoint: string;
  readonly logFile: string;
}

/** Half a second on a quiet machine. */
const startTimeoutMs = 60_000;

/**
 * Starts the emulator, and a watchdog in its process group: when this test process ends, in whatever way, standard
 * input ends too, and the watchdog kills the whole group.
 */
const guarded = 'exec 3<&0; "$1" 3<&- & child=$!; (cat <&3 >/dev/null; kill -KILL 0) & wait "$child"';

/** A free port may be in use by the time the emulator listens on it. */
const maxStarts = 5;
const portIsTaken = /address already in use/i;

/**
 * Starts MiniStack on a free port of loopback and waits until it answers.
 *
 * @param folder for all its files
 * @param path PATH of the emulator; the first `node` on it runs the functions
 * @throws {Error} with the end of its log if it ends or does not answer
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
  // Functions see the emulator's environment, so it contains nothing of this machine's environment.
  const env = {
    PATH: path,
    ...Object.fromEntries(places),
    LAMBDA_EXECUTOR: 'local',
    BIND_HOST: '127.0.0.1',
    MINISTACK_HOST: '127.0.0.1',
    IOT_MTLS_ENABLED: '0',
    SFTP_ENABLED: '0',
  };
  const logFile = join(folder, 'ministack.log');
  for (let starts = 1; ; starts += 1) {
    const port = await freePort();
    const command = {
      file: 'sh',
      args: ['-c', guarded, 'sh', program],
      env: { ...env, GATEWAY_PORT: String(port) },
    };
    await rm(logFile, { force: true });
    const emulator = processes.start(command, logFile);
    const endpoint = `http://127.0.0.1:${port}`;
    const end = await endOrHealth(emulator, endpoint);
    if (end === undefined) return { endpoint, logFile };
    const log = await readFile(logFile, 'utf8').catch(() => '');
    if (starts < maxStarts && portIsTaken.test(log)) continue;
    throw new Error(`MiniStack did not start: ${end}\n${log.slice(-2000)}`);
  }
}

/** @returns undefined once it answers, otherwise the reason */
async function endOrHealth(emulator: Background, endpoint: string): Promise<string | undefined> {
  const until = Date.now() + startTimeoutMs;
  while (Date.now() < until) {
    const isAnswered = await isHealthy(endpoint);
    // If the emulator has ended, the answer came from another program.
    const end = emulator.exit();
    if (end !== undefined) return end;
    if (isAnswered) return undefined;
    await sleep(100);
  }
  return 'no answer';
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
