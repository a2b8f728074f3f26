import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Finished, measure, type Service } from './processes.ts';

export interface BridgeRun extends Finished {
  readonly events: number;
  /** Listed IDs with an outcome, by the books. */
  readonly settled: number;
}

type Books = Readonly<Record<'events' | 'unchanged' | 'coalesced', number>>;

/** A fresh embedded bridge, set up by its command line, run until it is idle; only `run` is measured. */
export async function runBridge(
  service: Service,
  options: { readonly concurrency: number; readonly since: string },
): Promise<BridgeRun> {
  const dir = mkdtempSync(path.join(tmpdir(), 'advert-bridge-bench-'));
  const local = ['--local', dir];
  try {
    await measure(
      'cli/main.ts',
      [
        'application',
        ...local,
        '--base-url',
        service.url,
        '--client-id',
        'sandbox-client',
        '--client-secret-stdin',
      ],
      'sandbox-client-secret',
    );
    await measure(
      'cli/main.ts',
      ['connect', 'main', ...local, '--refresh-token-stdin', '--since', options.since],
      'sandbox-refresh-token-main',
    );
    const run = await measure('cli/main.ts', [
      'run',
      ...local,
      '--until-idle',
      '--concurrency',
      String(options.concurrency),
      '--max-requests-per-second',
      '100000',
    ]);
    const status = await measure('cli/main.ts', ['status', ...local, '--json']);
    const [account] = (JSON.parse(status.stdout) as { partnerAccounts: { books: Books }[] }).partnerAccounts;
    const { events = 0, unchanged = 0, coalesced = 0 } = account?.books ?? {};
    return { ...run, events, settled: events + unchanged + coalesced };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
