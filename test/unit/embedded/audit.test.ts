import { expect, it, onTestFinished } from 'vitest';
import { openEmbeddedState } from '../../../embedded/state/state.ts';
import { createDrain } from '../../../functions/drain/drain.ts';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import { auditSource } from '../../../operators/operations/advert-sources.ts';
import { audit } from '../../../operators/operations/audit.ts';
import type { Bridge } from '../../../operators/operations/bridge.ts';
import { BridgeFault } from '../../../shared/domain/faults.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';
import { createWorld } from '../../helpers/world.ts';

const folder = scratchFolders();

it('an audit waits for an advert that is aside for half a minute', async () => {
  const world = await createWorld();
  const { clock, service } = world;
  const state = openEmbeddedState(folder(), { clock });
  onTestFinished(state.close);
  // The adverts' rows are those of the world; the queue and what is aside are those of a folder.
  const { queue, aside, bookKeeper } = state;
  const key = { partnerAccount: 'main', generation: (await world.account())?.generation ?? 0 };
  service.change('1', 'active');
  await world.round();
  await world.handleBatch();
  let failures = 2;
  service.state.beforeAdvert = () => {
    if (failures-- > 0) throw new BridgeFault('transient', 'no answer', { status: 500 });
  };
  const fanOut = createFanOut(world.fanOutDeps);
  const drain = createDrain({ ...world.drainDeps, queue, aside });
  async function work() {
    await drain.release(clock.now());
    const batch = await queue.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs: 60_000 });
    await queue.settle(await fanOut.handle(batch, world.options()));
  }
  const bridge = {
    ...world.state,
    ...{ queue, bookKeeper, depthLagMs: 0, newId: () => 'id' },
    host: { kind: 'local', isRunning: () => true },
    settings: async () => ({ maxRequestsPerSecond: 10 }),
    clock: {
      ...clock,
      async sleep(ms: number) {
        await clock.sleep(ms);
        await work();
      },
    },
  } as unknown as Bridge;
  const source = await auditSource(bridge, key, { ids: ['1'] });

  const { progress } = await audit(bridge, { key, source, signal: new AbortController().signal });

  expect(progress).toMatchObject({ equal: 1, unsettled: [] });
});
