import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../helpers/free-port.ts';
import { until } from '../../helpers/until.ts';
import type { Processes } from './processes.ts';

export interface MiniStack {
  readonly endpoint: string;
  readonly logFile: string;
}

/**
 * Starts the emulator, and a watchdog in its process group: when this test process ends, in whatever way, standard
 * input ends too, and the watchdog kills the whole group.
 */
const guarded = 'exec 3<&0; "$1" 3<&- & child=$!; (cat <&3 >/dev/null; kill -KILL 0) & wait "$child"';

/** A free port may be in use by the time the emulator listens on it. */
const maxStarts = 5;

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
  const paths = Object.entries(folders).map(([key, name]) => [key, join(folder, name)] as const);
  for (const [, each] of paths) await mkdir(each, { recursive: true });
  const logFile = join(folder, 'ministack.log');
  for (let starts = 1; ; starts += 1) {
    const port = await freePort();
    // Functions see the emulator's environment, so it contains nothing of this machine's environment.
    const env = {
      ...{ PATH: path, ...Object.fromEntries(paths), GATEWAY_PORT: String(port) },
      ...{ LAMBDA_EXECUTOR: 'local', BIND_HOST: '127.0.0.1', MINISTACK_HOST: '127.0.0.1' },
      ...{ IOT_MTLS_ENABLED: '0', SFTP_ENABLED: '0' },
    };
    await rm(logFile, { force: true });
    const emulator = processes.start({ file: 'sh', args: ['-c', guarded, 'sh', program], env }, logFile);
    const endpoint = `http://127.0.0.1:${port}`;
    await until(
      'MiniStack answers',
      async () => {
        const isHealthy = await fetch(`${endpoint}/_ministack/health`, { signal: AbortSignal.timeout(2000) })
          .then(({ ok }) => ok)
          .catch(() => false);
        return isHealthy || emulator.exit() !== undefined;
      },
      { everyMs: 100 },
    );
    // If the emulator has ended, an answer came from another program.
    if (emulator.exit() === undefined) return { endpoint, logFile };
    const log = await readFile(logFile, 'utf8').catch(() => '');
    if (starts < maxStarts && /address already in use/i.test(log)) continue;
    throw new Error(`MiniStack did not start: ${emulator.exit()}\n${log.slice(-2000)}`);
  }
}
