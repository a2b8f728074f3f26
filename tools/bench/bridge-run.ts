import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { commandLine, type Finished, measure, type Service } from './processes.ts';

export interface BridgeRun extends Finished {
  /** According to the books. */
  readonly events: number;
  /** Number of connections that the run opened to the service. */
  readonly connections: number;
}

/**
 * Creates an embedded bridge with the partner account `main` through the command line, and runs it until it is idle,
 * with a rate budget so large that it limits nothing; measures only `run`.
 */
export async function runBridge(
  service: Service,
  { concurrency, since }: { readonly concurrency: number; readonly since: string },
): Promise<BridgeRun> {
  const dir = mkdtempSync(path.join(tmpdir(), 'advert-bridge-bench-'));
  const local = ['--local', dir];
  try {
    const application = ['--base-url', service.url, '--client-id', 'sandbox-client', '--client-secret-stdin'];
    await measure(commandLine, ['application', ...local, ...application], { input: 'sandbox-client-secret' });
    const account = ['main', '--refresh-token-stdin', '--since', since];
    await measure(commandLine, ['connect', ...local, ...account], { input: 'sandbox-refresh-token-main' });
    // Counted after `connect`, which may have opened its own connection.
    const connections = await service.connections();
    const settings = ['--concurrency', String(concurrency), '--max-requests-per-second', '100000'];
    const run = await measure(commandLine, ['run', ...local, ...settings, '--until-idle']);
    // Nothing runs the bridge any more, which `status` says with 3.
    const { stdout } = await measure(commandLine, ['status', ...local, '--json'], { expected: 3 });
    const { events } = JSON.parse(stdout).partnerAccounts[0].books;
    return { ...run, events, connections: (await service.connections()) - connections };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
