import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Finished, measure, type Service } from './processes.ts';

export interface BridgeRun extends Finished {
  readonly events: number;
}

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
    const [account] = (JSON.parse(status.stdout) as { partnerAccounts: { books: { events: number } }[] })
      .partnerAccounts;
    return { ...run, events: account?.books.events ?? 0 };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
