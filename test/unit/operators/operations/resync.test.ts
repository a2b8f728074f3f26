import { beforeEach, expect, it } from 'vitest';
import type { Bridge } from '../../../../operators/operations/bridge.ts';
import { resync } from '../../../../operators/operations/resync.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

let world: World;
let stop: AbortController;
beforeEach(async () => {
  world = await createWorld();
  stop = new AbortController();
  for (const advertId of ['1', '2', '3']) world.service.change(advertId, 'active');
  await world.round();
  world.service.state.pageSize = 1;
});
const requested = '2026-11-20T11:00:00.000Z';
function run(onProgress: () => unknown = () => undefined) {
  const { clock, state, service } = world;
  const settings = async () => ({ overlapSeconds: 300, maxRequestsPerSecond: 10 });
  const bridge = { ...state, clock, newId: () => 'id', settings, service: async () => service };
  return resync(bridge as unknown as Bridge, 'main', requested, {
    signal: stop.signal,
    onProgress: () => void onProgress(),
  });
}
const causes = async () => {
  const received = await world.state.queue.receive({ maxGroups: 9, maxPerGroup: 9, visibilityMs: 1_000 });
  return received.map(({ message }) => `${message?.advertId} ${message?.cause}`);
};

it('a resync changes nothing when the service refuses its time', async () => {
  const before = await world.feed();
  world.service.state.beforePage = () => {
    throw new BridgeFault('invalid-request', 'since is too early', { status: 400 });
  };

  await expect(run()).rejects.toMatchObject({ code: 'invalid-request' });

  expect(await world.feed()).toEqual(before);
});

it('a resync that is interrupted is continued by the drain, with its cause', async () => {
  stop.abort();

  expect(await run()).toEqual({ since: requested, listed: 0, finished: false });
  await world.round();

  expect(await causes()).toEqual(
    expect.arrayContaining(['1 feed', '1 resync', '2 feed', '2 resync', '3 feed', '3 resync']),
  );
  expect(await world.feed()).not.toHaveProperty('resyncing');
});

it('a resync reports what the drain has read of it meanwhile', async () => {
  const key = { partnerAccount: 'main', feed: 'adverts' };
  const lease = { holder: 'drain', nowMs: world.clock.now(), leaseMs: 90_000 };
  const { readAgain } = world.state.feedStates;
  world.state.feedStates.readAgain = async (...args) => {
    const begun = await readAgain(...args);
    await world.state.feedStates.acquire(key, lease);
    return begun;
  };
  const ended = run(async () => {
    world.clock.advance(90_000);
    await world.round();
  });

  expect(await ended).toEqual({ since: requested, listed: 3, finished: true });
});
