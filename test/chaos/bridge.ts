import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../kits/typescript/testing/player.ts';
import type { Status } from '../../operators/operations/printed.ts';
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import { bridgeFlags } from '../../tools/release/bridge-flags.ts';

const root = path.join(import.meta.dirname, '../..');

export interface Options {
  readonly kills: number;
  readonly changes: number;
  readonly seed: number;
}

/** One process of the bridge, from start to end. */
export interface Life {
  readonly child: ChildProcess;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Resolves when the process has ended and all its output has been read. */
  readonly ended: Promise<Ended>;
  /** What it has written so far. */
  stdout(): string;
  stderr(): string;
}

export interface Ended {
  /** Null: ended by a signal. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** @param maxFileKib maximum size of each file that the process writes (`ulimit -f`) */
function startLife(args: readonly string[], input = '', maxFileKib?: number): Life {
  const command = [process.execPath, ...bridgeFlags, 'operators/cli/main.ts', ...args];
  // `exec` replaces the shell, so that its pid becomes the bridge's.
  const [file = '', ...rest] =
    maxFileKib === undefined
      ? command
      : ['bash', '-c', `ulimit -f ${maxFileKib} && exec "$@"`, 'bash', ...command];
  const startedAtMs = Date.now();
  const child = spawn(file, rest, { cwd: root, stdio: 'pipe' });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk;
  });
  // A process that dies early does not read its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  child.once('error', reject);
  child.once('close', (exitCode) => resolve({ exitCode, stdout, stderr }));
  return { child, startedAtMs, ended: promise, stdout: () => stdout, stderr: () => stderr };
}

/** The result of the process, or undefined when it is still alive after `withinMs`. */
export const endWithin = ({ ended }: Life, withinMs: number): Promise<Ended | undefined> =>
  Promise.race([ended, sleep(withinMs, undefined, { ref: false })]);

/** Lets the process finish its current work (SIGTERM); kills it if that takes too long. */
export async function stopLife(life: Life): Promise<Ended> {
  life.child.kill('SIGTERM');
  const end = await endWithin(life, 30_000);
  if (end) return end;
  life.child.kill('SIGKILL');
  throw new Error(`the bridge did not end 30 s after SIGTERM: ${(await life.ended).stderr}`);
}

/** An embedded bridge under test, with the output of all its runs, as a subscriber would have received it. */
export type ChaosBridge = Awaited<ReturnType<typeof startBridge>>;

/** The overlap is short, but longer than the visibility delay; a missing advert is confirmed by a second fetch. */
const settings =
  '--max-requests-per-second 100000 --poll-seconds 1 --overlap-seconds 10 --confirm-unavailable-seconds 1';
const clientSecret = 'sandbox-client-secret';

export const newFolder = (): string => mkdtempSync(path.join(tmpdir(), 'advert-bridge-chaos-'));

/** A service, and a bridge set up through its command line, with every user of the service as a partner account. */
export async function startBridge(
  names: readonly string[],
  options: { readonly seed: number; readonly adverts: number; readonly visibilityDelayMs?: number },
  dir = newFolder(),
) {
  const service: Sandbox = await startSandbox({
    users: names.map((name) => ({ name, adverts: options.adverts })),
    visibilityDelayMs: options.visibilityDelayMs ?? 0,
    random: seededRandom(options.seed + 1),
  });
  const lives: Life[] = [];
  const runs: Ended[] = [];
  async function succeed(command: string, input = ''): Promise<Ended> {
    const end = await startLife([...command.split(' '), '--local', dir], input).ended;
    if (end.exitCode === 0 || (command.startsWith('status') && end.exitCode === 3)) return end;
    throw new Error(`${command} exited with ${end.exitCode}: ${end.stderr}`);
  }
  const since = new Date(Date.now() - 60_000).toISOString();
  const { clientId } = service.application;
  const application = `application --base-url ${service.url} --client-id ${clientId} --client-secret-stdin`;
  await succeed(application, clientSecret);
  const connect = (name: string, refreshToken: string, more = '') =>
    succeed(`connect ${name} --refresh-token-stdin${more}`, refreshToken);
  for (const { name, refreshToken } of service.users) await connect(name, refreshToken, ` --since ${since}`);
  return {
    dir,
    service,
    runs,
    /** Known before the run; secrets created during it are recognized by their form (check-bridge.ts). */
    secrets: [clientSecret, ...service.users.map(({ refreshToken }) => refreshToken)],
    run(extra: readonly string[] = [], maxFileKib?: number): Life {
      const life = startLife(['run', '--local', dir, ...settings.split(' '), ...extra], '', maxFileKib);
      void life.ended.then((end) => runs.push(end));
      lives.push(life);
      return life;
    },
    /** With another authorization of its user. */
    connectAgain: (name: string) => connect(name, service.control.issueRefreshToken(name)),
    /** What all runs have written to standard output so far. */
    output: () => lives.map((life) => life.stdout()).join('\n'),
    status: async () => JSON.parse((await succeed('status --json')).stdout) as Status,
    /** Kills what still runs, and removes everything. */
    async remove(): Promise<void> {
      for (const { child, ended } of lives) {
        child.kill('SIGKILL');
        await ended;
      }
      await service.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
