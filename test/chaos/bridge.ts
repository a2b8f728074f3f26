import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Status } from '../../operations/status.ts';
import type { Sandbox } from '../../sandbox/server.ts';
import { type Ended, type Life, type LifeOptions, startLife } from './life.ts';

/** An embedded bridge under test, with the output of all its runs, as a subscriber would have received it. */
export interface ChaosBridge {
  readonly dir: string;
  readonly service: Sandbox;
  readonly runs: Ended[];
  run(extra?: readonly string[], options?: LifeOptions): Life;
  status(): Promise<Status>;
  remove(): void;
}

const clientSecret = 'sandbox-client-secret';

/** Secrets known before the run; secrets created during it are recognized by their form (check-bridge.ts). */
export const secretsOf = ({ users }: Sandbox): string[] => [
  clientSecret,
  ...users.map(({ refreshToken }) => refreshToken),
];

/** Sets up a bridge through its command line, with every user of the service as a partner account. */
export async function setUpBridge(service: Sandbox, dir = newFolder()): Promise<ChaosBridge> {
  const local = ['--local', dir];
  const since = new Date(Date.now() - 60_000).toISOString();
  await succeed(
    [
      'application',
      ...local,
      '--base-url',
      service.url,
      '--client-id',
      'sandbox-client',
      '--client-secret-stdin',
    ],
    clientSecret,
  );
  for (const { name, refreshToken } of service.users) {
    await succeed(['connect', name, ...local, '--refresh-token-stdin', '--since', since], refreshToken);
  }
  const runs: Ended[] = [];
  return {
    dir,
    service,
    runs,
    run(extra = [], options = {}) {
      const life = startLife(['run', ...local, ...settings, ...extra], options);
      void life.ended.then((end) => runs.push(end));
      return life;
    },
    async status() {
      const { stdout } = await succeed(['status', ...local, '--json']);
      return JSON.parse(stdout) as Status;
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** The overlap is short, but longer than the visibility delay; a missing advert is confirmed by a second fetch. */
const settings = [
  '--max-requests-per-second',
  '100000',
  '--poll-seconds',
  '1',
  '--overlap-seconds',
  '10',
  '--confirm-unavailable-seconds',
  '1',
];

export const newFolder = (): string => mkdtempSync(path.join(tmpdir(), 'advert-bridge-chaos-'));

async function succeed(args: readonly string[], input = ''): Promise<Ended> {
  const end = await startLife(args, { input }).ended;
  if (end.exitCode !== 0 && !(args[0] === 'status' && end.exitCode === 3)) {
    throw new Error(`${args.join(' ')} exited with ${end.exitCode}: ${end.stderr}`);
  }
  return end;
}
