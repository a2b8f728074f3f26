import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { commandLine, type Finished, type MeasureOptions, measure, type Service } from './processes.ts';

export interface BridgeRun extends Finished {
  readonly events: number;
  /** Number of listed IDs with an outcome, according to the books. */
  readonly settled: number;
  /** Number of connections that the run opened to the service. */
  readonly connections: number;
  /** Number of its requests of any kind. */
  readonly requests: number;
}

export interface RunSettings {
  readonly concurrency: number;
  readonly onLine?: MeasureOptions['onLine'];
}

type Books = Readonly<Record<'events' | 'unchanged' | 'coalesced', number>>;

/** Arguments of `run` with a rate budget so large that it limits nothing. */
export const runArguments = (dir: string, { concurrency }: RunSettings): readonly string[] => [
  'run',
  '--local',
  dir,
  '--concurrency',
  String(concurrency),
  '--max-requests-per-second',
  '100000',
];

/** Calls `work` with a new folder, which is deleted afterwards. */
export async function withFolder<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(path.join(tmpdir(), 'advert-bridge-bench-'));
  try {
    return await work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Creates an embedded bridge in `dir` through its command line; no partner account is connected yet. */
export async function storeApplication({ url }: Service, dir: string): Promise<void> {
  const credentials = ['--client-id', 'sandbox-client', '--client-secret-stdin'];
  await measure(commandLine, ['application', '--local', dir, '--base-url', url, ...credentials], {
    input: 'sandbox-client-secret',
  });
}

/** Creates an embedded bridge with the partner account `main`. */
export async function setUpBridge(service: Service, dir: string, since: string): Promise<void> {
  await storeApplication(service, dir);
  await measure(commandLine, ['connect', 'main', '--local', dir, '--refresh-token-stdin', '--since', since], {
    input: 'sandbox-refresh-token-main',
  });
}

/** Runs the bridge of `dir` until it is idle; measures only `run`. */
export async function runUntilIdle(service: Service, dir: string, settings: RunSettings): Promise<BridgeRun> {
  const requests = await service.requests();
  // Counted after `connect`, which may have opened its own connection.
  const connections = await service.connections();
  const { onLine } = settings;
  const run = await measure(
    commandLine,
    [...runArguments(dir, settings), '--until-idle'],
    onLine ? { onLine } : {},
  );
  return {
    ...run,
    ...(await booksOf(dir)),
    connections: (await service.connections()) - connections,
    requests: (await service.requests()) - requests,
  };
}

/** The books, summed over all partner accounts. */
async function booksOf(dir: string): Promise<Pick<BridgeRun, 'events' | 'settled'>> {
  const { stdout } = await measure(commandLine, ['status', '--local', dir, '--json']);
  const { partnerAccounts } = JSON.parse(stdout) as { partnerAccounts: { books: Books }[] };
  const sum = (name: keyof Books) => partnerAccounts.reduce((total, { books }) => total + books[name], 0);
  const events = sum('events');
  return { events, settled: events + sum('unchanged') + sum('coalesced') };
}

/** Creates an embedded bridge and runs it until it is idle. */
export function runBridge(
  service: Service,
  { since, ...settings }: RunSettings & { readonly since: string },
): Promise<BridgeRun> {
  return withFolder(async (dir) => {
    await setUpBridge(service, dir, since);
    return runUntilIdle(service, dir, settings);
  });
}
