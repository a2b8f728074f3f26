import { expect, it, vi } from 'vitest';
import { createDrain } from '../../../functions/drain/drain.ts';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import type { Feed } from '../../../shared/contract/messages.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { createGates, createPartnerClient } from '../../../shared/partner-api/client.ts';
import { createWorld } from '../../helpers/world.ts';

/** Everything in which a second feed differs from that of adverts. */
const vehicles = vi.hoisted(() => ({
  name: 'vehicles',
  path: '/api/partner/status/vehicles',
  pathOf: (id: string) => `/api/partner/vehicles/${id}`,
  object: 'vehicle',
  detailTypes: { statusChanged: 'VehicleStatusChanged', unavailable: 'VehicleUnavailable' },
  keyPrefix: 'vehicle-',
}));

vi.mock('../../../shared/contract/messages.ts', async (original) => {
  const { feeds, feedNames, ...rest } =
    await original<typeof import('../../../shared/contract/messages.ts')>();
  const all: readonly Feed[] = [...Object.values(feeds), vehicles as unknown as Feed];
  return {
    ...rest,
    feeds: Object.fromEntries(all.map((feed) => [feed.name, feed])),
    feedNames: all.map(({ name }) => name),
    feedNamed: (name: string) => all.find((feed) => feed.name === name),
    messageIn: (body: string) => ({ message: JSON.parse(body) }),
  };
});

/** A connected account, and a service that serves an advert and a vehicle with the same ID. */
async function setUp() {
  const world = await createWorld();
  const answers = new Map<string, unknown>([
    ['/api/partner/status/adverts', { data: ['7'], hasMore: false, nextCursor: 'a' }],
    ['/api/partner/status/vehicles', { data: ['7'], hasMore: false, nextCursor: 'v' }],
    ['/api/partner/adverts/7', { data: { id: 7, status: 'active' } }],
    ['/api/partner/vehicles/7', { data: { id: 7, status: 'parked' } }],
  ]);
  const { clock, observer, state } = world;
  const options = {
    baseUrl: 'https://service.example',
    settings: { maxRequestsPerSecond: 1_000, circuitSeconds: 1_800, maxPauseSeconds: 3_600 },
    ...{ budgetStore: state.budgetStore, clock, observer },
    transport: {
      async send({ path }: { path: string }) {
        const body = answers.get(path.replace(/\?.*/, ''));
        const gone = { error: { status: 404, title: 'not found' } };
        return { status: body ? 200 : 404, head: { headers: {} }, body: JSON.stringify(body ?? gone) };
      },
      close: () => undefined,
    },
  };
  const token = { token: new Secret('access'), version: '1', expiresAt: 0 };
  const nothing = () => undefined;
  const renewals = {
    reject: nothing,
    mayRenew: () => true,
    counts: async () => undefined,
    helped: async () => undefined,
  };
  const tokens = { current: async () => token, ...renewals };
  const readers = createPartnerClient(options, createGates(options), tokens);
  const drain = createDrain({ ...world.drainDeps, reader: readers });
  const fanOut = createFanOut({
    ...world.fanOutDeps,
    adverts: readers,
    settings: { ...world.fanOutDeps.settings, confirmUnavailableSeconds: 0 },
  });
  async function round() {
    const { polls } = await drain.round(world.options());
    const batch = await state.queue.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs: 60_000 });
    await state.queue.settle(await fanOut.handle(batch, world.options()));
    return polls.map(({ feed, end, listed }) => ({ feed, end, listed }));
  }
  return { ...world, answers, round };
}

it('a feed added as a value is published with histories of its own', async () => {
  const { answers, clock, round, published, books } = await setUp();

  const polls = await round();

  expect(polls).toEqual([
    { feed: 'adverts', end: 'up-to-date', listed: 1 },
    { feed: 'vehicles', end: 'up-to-date', listed: 1 },
  ]);
  const [advert, vehicle] = published();
  expect(advert).toMatchObject({
    'detail-type': 'AdvertStatusChanged',
    resources: ['advert-bridge/main/advert/7'],
    detail: { data: { advertId: '7', status: 'active', previousStatus: null } },
  });
  expect(vehicle).toMatchObject({
    'detail-type': 'VehicleStatusChanged',
    resources: ['advert-bridge/main/vehicle/7'],
    detail: {
      metadata: { eventId: expect.stringMatching(/^main\/\d+\/vehicle-7\/1$/), sequence: 1 },
      data: { vehicleId: '7', status: 'parked', previousStatus: null },
    },
  });
  expect(await books()).toMatchObject({ listed: 2, events: 2, inFlight: 0 });

  answers.delete('/api/partner/vehicles/7');
  clock.advance(60_000);
  await round();

  expect(published().slice(2)).toMatchObject([
    {
      'detail-type': 'VehicleUnavailable',
      detail: {
        metadata: { sequence: 2 },
        data: { vehicleId: '7', status: null, previousStatus: 'parked' },
      },
    },
  ]);
});
