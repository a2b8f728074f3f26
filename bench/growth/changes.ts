import { setUpBridge, withFolder } from '../runs/bridge-run.ts';
import { startService } from '../runs/processes.ts';
import { type Sample, sampleOf } from './sample.ts';

/** Changes of one partner account, each of a different advert without history. */
export function ofChanges(changes: number): Promise<Sample> {
  return withFolder(async (dir) => {
    const service = await startService({});
    try {
      const since = new Date(Date.now() - 60_000).toISOString();
      await service.control('createAdverts', changes, { status: 'active' });
      await setUpBridge(service, dir, since);
      return await sampleOf(service, dir, { size: changes, changes });
    } finally {
      await service.stop();
    }
  });
}
