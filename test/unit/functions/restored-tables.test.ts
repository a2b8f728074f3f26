/** Tests the guarantees of docs/operate/backup.md for an older feed-state table and a lost advert-status table. */
import { describe, expect, it } from 'vitest';
import { createDrain } from '../../../functions/drain/drain.ts';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import type { AdvertEvent } from '../../../shared/contract/events.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { CachedAccounts } from '../../../shared/partner-api/cached-rows.ts';
import { createInMemoryState } from '../../fakes/state.ts';
import { createWorld, type World } from '../../helpers/world.ts';

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

const positions = (events: readonly AdvertEvent[]) =>
  events.map(({ detail: { data, metadata } }) => [data.advertId, metadata.sequence, data.status]);

type State = ReturnType<typeof createInMemoryState>;

interface Kept {
  readonly feedState: State;
  readonly advertStatus: State;
  /** Default: the queue of before. */
  readonly queue?: State['queue'];
}

/** The functions over other tables: what a deployment with feedStateTable or advertStatusTable makes of them. */
function over(world: World, { feedState, advertStatus, queue = world.state.queue }: Kept) {
  const accounts = feedState.partnerAccounts;
  const { feedStates, aside } = feedState;
  const drain = createDrain({
    ...world.drainDeps,
    accounts,
    feedStates,
    queue,
    deadLetters: world.state.deadLetters,
    aside,
  });
  const fanOut = createFanOut({
    ...world.fanOutDeps,
    accounts: new CachedAccounts(accounts, world.clock),
    histories: advertStatus.advertHistories,
  });
  return async () => {
    await drain.round(world.options());
    const batch = await queue.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs: 60_000 });
    await queue.settle(await fanOut.handle(batch, world.options()));
  };
}

/** The feed's and the account's rows as they are now, in tables of their own. */
async function copyOf(world: World): Promise<State> {
  const copy = createInMemoryState({ clock: world.clock });
  for (const state of await world.state.feedStates.list()) await copy.feedStates.register(state);
  for (const account of await world.accounts.list()) await copy.partnerAccounts.add(account);
  return copy;
}

async function publish(world: World, changes: Record<string, string>): Promise<void> {
  for (const [id, status] of Object.entries(changes)) world.service.change(id, status);
  world.clock.advance(60_000);
  await world.round();
  await world.handleBatch();
}

describe('a feed-state table from before the latest events', () => {
  it('has what was published since listed again, publishes none of it twice, and goes on with the next number', async () => {
    const world = await createWorld();
    await publish(world, { 1: 'active', 2: 'active' });
    const older = await copyOf(world);
    await publish(world, { 1: 'limited', 3: 'active' });
    const before = world.advertEvents();
    const run = over(world, { feedState: older, advertStatus: world.state });

    world.clock.advance(60_000);
    await run();
    const again = world.advertEvents();
    world.service.change('1', 'unpaid');
    world.clock.advance(60_000);
    await run();

    expect(again).toEqual(before);
    expect(positions(world.advertEvents().slice(before.length))).toEqual([['1', 3, 'unpaid']]);
    const generations = world.advertEvents().map(({ detail }) => detail.metadata.generation);
    expect(new Set(generations).size).toBe(1);
  });
});

describe('both tables of a destroyed stack', () => {
  it('serve a new one in the same generation', async () => {
    const world = await createWorld();
    await publish(world, { 1: 'active' });
    await publish(world, { 1: 'limited' });
    const before = world.advertEvents();
    world.service.change('1', 'unpaid');
    world.clock.advance(60_000);
    const { queue } = createInMemoryState(world);

    await over(world, { feedState: world.state, advertStatus: world.state, queue })();

    expect(positions(world.advertEvents().slice(before.length))).toEqual([['1', 3, 'unpaid']]);
    expect(await queue.figures()).toMatchObject({ waiting: 0 });
  });
});

describe('an advert-status table from before the latest events', () => {
  it('would have a number come again with another status, which subscribers discard', async () => {
    const world = await createWorld();
    await publish(world, { 1: 'active' });
    world.service.change('1', 'limited');
    world.clock.advance(60_000);

    await over(world, { feedState: world.state, advertStatus: createInMemoryState(world) })();

    expect(positions(world.advertEvents())).toEqual([
      ['1', 1, 'active'],
      ['1', 1, 'limited'],
    ]);
    expect(heldAfter(world.advertEvents())).toEqual({ 1: 'active' });
  });

  it('does no harm in a new generation, which is greater for every subscriber', async () => {
    const world = await createWorld();
    await publish(world, { 1: 'active', 2: 'active' });
    await publish(world, { 1: 'limited' });
    world.service.change('1', 'unpaid');
    world.clock.advance(60_000);
    const since = new Date(world.clock.now() - 600_000).toISOString();
    const refreshToken = new Secret('refresh-anew');

    await world.connect.connect(
      { partnerAccount: 'main', refreshToken, newUser: true, since },
      world.options(),
    );
    world.clock.advance(60_000);
    await over(world, { feedState: world.state, advertStatus: createInMemoryState(world) })();

    expect(heldAfter(world.advertEvents())).toEqual({ 1: 'unpaid', 2: 'active' });
  });
});
