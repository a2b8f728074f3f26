import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../helpers/until.ts';
import { ask, type Scene } from './scene.ts';

/** In this order: an outage, a blocked address, and refusals of any other kind. */
const turns = [503, 403, 400, 451];
const turnMs = 4_000;
/** Twelve in the first minute of a block, and what was under way: one request of each connection. */
const mostIntoBlock = 24;

/**
 * The service refuses every feed and advert, each few seconds in another way; then it answers well again, except for two
 * adverts of one account that it has archived, and a person says so.
 */
export async function answersInTurn(scene: Scene): Promise<void> {
  const { deployment, weather, names } = scene;
  const { control } = deployment.sandbox;
  weather.clear();
  const from = control.journal.nextIndex;
  for (const status of turns) {
    for (const endpoint of ['feed', 'advert'] as const)
      control.faults.add({ kind: 'status', status, endpoint });
    for (const until = Date.now() + turnMs; Date.now() < until; await sleep(500)) {
      weather.change();
      await ask(scene, 'drain');
    }
    weather.clear();
  }
  const blocked = control.journal.list(from).filter(({ status }) => status === 403);
  assert.ok(blocked.length <= mostIntoBlock, `${blocked.length} requests into the block`);
  const isThere = ({ id, status }: { readonly id: string; readonly status: string | null }) =>
    status !== null && weather.touched.has(id);
  for (const { id } of control.truth(names[0]).filter(isThere).slice(0, 2)) {
    control.faults.add({
      kind: 'status',
      status: 403,
      endpoint: 'advert',
      advertId: id,
      body: { message: 'archived' },
      // The fifth would give it up.
      count: 4,
    });
    control.setStatus(id, 'active');
  }
  // Otherwise the block lasts for a quarter of an hour, and a feed may wait for five minutes.
  await deployment.advertBridge.run(['resume', '--early']);
  // A refresh that was killed keeps its account for two minutes.
  for (const name of names) {
    const isPolled = async () =>
      (await deployment.advertBridge.run(['poll', name], '', { expected: [0, 1] })).code === 0;
    await until(`a poll of ${name}`, isPolled, { withinMs: 150_000, everyMs: 2_000 });
  }
}
