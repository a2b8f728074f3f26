/** Tests the guarantees of docs/operate/backup.md for an older feed-state table and a lost advert-status table. */
import { beforeEach, expect, it } from 'vitest';
import type { AdvertEvent } from '../../../shared/contract/events.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { createWorld, type World } from '../../helpers/world.ts';

let world: World;
beforeEach(async () => {
  world = await createWorld();
  await publish({ 1: 'active', 2: 'active' });
});

async function publish(changes: Record<string, string>): Promise<void> {
  for (const [id, status] of Object.entries(changes)) world.service.change(id, status);
  world.clock.advance(60_000);
  await world.round();
  await world.handleBatch();
}

/** The state of a subscriber that applies an event only if its (generation, sequence) is greater. */
function heldAfter(events: readonly AdvertEvent[]): Record<string, string | null> {
  const latest = new Map<string, AdvertEvent['detail']>();
  for (const { detail } of events) {
    const { generation, sequence } = detail.metadata;
    const before = latest.get(detail.data.advertId)?.metadata ?? { generation: 0, sequence: 0 };
    const isGreater = generation - before.generation || sequence - before.sequence;
    if (isGreater > 0) latest.set(detail.data.advertId, detail);
  }
  return Object.fromEntries([...latest].map(([id, { data }]) => [id, data.status]));
}

it('a restored feed-state table repeats no event and no number', async () => {
  const { store } = world.state;
  const older = await store.list('feed');
  await publish({ 1: 'limited', 3: 'active' });
  const before = world.advertEvents();
  for (const { name, value } of older) {
    const key = { kind: 'feed', name } as const;
    await store.put(key, value, (await store.get(key))?.etag ?? 'absent');
  }

  await publish({});
  expect(world.advertEvents()).toEqual(before);
  await publish({ 1: 'unpaid' });

  expect(world.advertEvents().slice(before.length)).toMatchObject([
    { detail: { metadata: { sequence: 3 }, data: { advertId: '1', status: 'unpaid' } } },
  ]);
  const generations = world.advertEvents().map(({ detail }) => detail.metadata.generation);
  expect(new Set(generations).size).toBe(1);
});

it('a lost advert-status table does no harm in a new generation', async () => {
  await publish({ 1: 'limited' });
  await world.state.advertHistories.remove('main', (await world.account())?.generation ?? 0);
  const since = new Date(world.clock.now() - 600_000).toISOString();
  const user = { refreshToken: new Secret('refresh-anew'), newUser: true };

  await world.connect.connect({ partnerAccount: 'main', ...user, since }, world.options());
  await publish({ 1: 'unpaid' });

  expect(heldAfter(world.advertEvents())).toEqual({ 1: 'unpaid', 2: 'active' });
});
