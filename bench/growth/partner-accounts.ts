import * as v from 'valibot';
import { createLocalConnect } from '../../embedded/connect.ts';
import { createTextObserver } from '../../embedded/text-observer.ts';
import { bridgeSettingsSchema } from '../../shared/contract/settings.ts';
import { forEachConcurrent } from '../../shared/domain/for-each-concurrent.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { openEmbeddedState } from '../../shared/sqlite/state.ts';
import { storeApplication, withFolder } from '../runs/bridge-run.ts';
import { type Service, startService } from '../runs/processes.ts';
import { type Sample, sampleOf } from './sample.ts';

/** The same number of changes, spread evenly over several partner accounts. */
export function ofPartnerAccounts(count: number, changes: number): Promise<Sample> {
  return withFolder(async (dir) => {
    const names = Array.from({ length: count }, (_, index) => `partner-${index + 1}`);
    const service = await startService({ users: names.map((name) => ({ name, adverts: 0 })) });
    try {
      await storeApplication(service, dir);
      await connectAll(service, dir, names);
      for (const user of names) {
        await service.control('createAdverts', changes / count, { user, status: 'active' });
      }
      return await sampleOf(service, dir, { size: count, changes });
    } finally {
      await service.stop();
    }
  });
}

/**
 * Does what `connect` does, but in this process: starting a thousand processes would take longer than the
 * measurement.
 */
async function connectAll({ url }: Service, dir: string, names: readonly string[]): Promise<void> {
  const settings = v.parse(bridgeSettingsSchema, { maxRequestsPerSecond: 100_000 });
  const observer = createTextObserver(process.stderr, 'warn');
  const state = openEmbeddedState(dir);
  const local = createLocalConnect({ state, baseUrl: url, settings, observer, concurrency: 10 });
  try {
    await forEachConcurrent(names, 10, async (partnerAccount) => {
      const refreshToken = new Secret(`sandbox-refresh-token-${partnerAccount}`);
      await local.connect({ partnerAccount, refreshToken }, { deadlineMs: Date.now() + 60_000 });
    });
  } finally {
    local.close();
    state.close();
  }
}
