import { beforeEach, describe, expect, it } from 'vitest';
import { createConnect } from '../../../../functions/connect/connect.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { holdOf } from '../../../helpers/holds.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

/** `main` is connected and has published an event of advert 1; then a user authorizes under its name. */
describe('connect on a known name', () => {
  let world: World;
  const stored = async () => (await world.state.vault.read('main'))?.version;
  const again = (more: { sameUser?: boolean } = {}) =>
    world.connect.connect({ partnerAccount: 'main', code: new Secret('code-1'), ...more }, world.options());
  /** From now on, the feed belongs to a user with these adverts. */
  const listing = (ids: readonly string[], hasMore = false) => {
    world.service.state.pageOfConnect = async () => ({ data: [...ids], hasMore });
  };

  beforeEach(async () => {
    world = await createWorld();
    world.service.change('1', 'active');
    await world.round();
    await world.handleBatch();
  });

  it('connect takes a user any of whose listed adverts the bridge knows', async () => {
    listing([...Array.from({ length: 250 }, (_, index) => `${9_000 + index}`), '1']);

    const connected = await again();

    expect(connected).toMatchObject({ isNew: false, feed: { kind: 'read', listed: 251, hasMore: false } });
    expect(connected.userUnverified).toBeUndefined();
  });

  it('connect asks with the given token for at most ten seconds', async () => {
    const connectOther = {
      partnerAccount: 'a-first',
      code: new Secret('code'),
      since: '2020-01-01T00:00:00Z',
    };
    await world.connect.connect(connectOther, world.options());
    const asked: unknown[] = [];
    world.service.state.pageOfConnect = async ({ since, limit }, { token, partnerAccount, deadlineMs }) => {
      const leftMs = deadlineMs - world.clock.now();
      asked.push([token.reveal(), since, limit, partnerAccount, leftMs]);
      return { data: ['1'], hasMore: false };
    };

    await again();
    const request = { partnerAccount: 'main', code: new Secret('code-1') };
    await world.connect.connect(request, { deadlineMs: world.clock.now() + 3_000 });

    expect(asked).toEqual([
      ['access-3', '2026-11-20T11:55:00.000Z', 1000, 'main', 10_000],
      ['access-3', '2026-11-20T11:55:00.000Z', 1000, 'main', 10_000],
      ['access-4', '2026-11-20T11:55:00.000Z', 1000, 'main', 3_000],
      ['access-4', '2026-11-20T11:55:00.000Z', 1000, 'main', 3_000],
    ]);
  });

  it.each<[string, () => void, RegExp]>([
    ['none of the listed adverts is known', () => listing(['900', '901']), /another user/],
    ['nothing is listed', () => listing([]), /no advert since/],
    [
      'there is more than one page, and the known ones may be behind',
      () => listing(['900'], true),
      /or it cannot be told/,
    ],
    ['only what is no advert ID is listed', () => listing(['../x', '']), /no advert since/],
    [
      'the feed does not answer',
      () => {
        world.service.state.pageOfConnect = async () => {
          throw new BridgeFault('transient', 'no answer');
        };
      },
      /did not answer: no answer/,
    ],
  ])('connect refuses and stores nothing when the user is uncertain: %s', async (_case, prepare, reason) => {
    const before = await stored();
    prepare();

    await expect(again()).rejects.toMatchObject({
      code: 'other-user',
      message: expect.stringMatching(reason),
    });
    expect(await stored()).toBe(before);
    expect(holdOf(await world.account(), 'authorization')).toBeUndefined();
    expect(await again({ sameUser: true })).toMatchObject({ isNew: false });
  });

  describe('whose feed has listed more than a page since it was connected', () => {
    /** The feed's entries, oldest first: each advert once, with the age of its last change in days. */
    let changes: { id: string; daysAgo: number }[];
    const dayMs = 86_400_000;
    const asked: string[] = [];
    /** A user's feed with small pages, by the service's rules. */
    const listingByTime = (most = 3) => {
      world.service.state.pageOfConnect = async ({ since }) => {
        asked.push(since);
        const after = (world.clock.now() - Date.parse(since)) / dayMs;
        const ids = changes.filter(({ daysAgo }) => daysAgo < after).map(({ id }) => id);
        return { data: ids.slice(0, most), hasMore: ids.length > most };
      };
    };

    beforeEach(async () => {
      asked.length = 0;
      // Read to its end every minute for a hundred days, but not for the last two.
      world.clock.advance(98 * dayMs);
      await world.round();
      world.clock.advance(2 * dayMs);
      listingByTime();
    });

    it('the same user is taken when the feed has listed more than a page', async () => {
      changes = [{ id: '1', daysAgo: 5 }, ...['900', '901', '902', '903'].map((id) => ({ id, daysAgo: 1 }))];

      const connected = await again();

      expect(connected).toMatchObject({ isNew: false });
      expect(connected.userUnverified).toBeUndefined();
      const nineDaysAgo = new Date(world.clock.now() - 9 * dayMs).toISOString();
      expect(asked).toEqual([nineDaysAgo, expect.any(String)]);
    });

    it.each([
      ['a few', 1],
      ['more than a page', 20],
    ])('another user is refused, %s of whose adverts changed while it was read', async (_title, count) => {
      const before = await stored();
      changes = [
        ...Array.from({ length: count }, (_, index) => ({ id: `90${index}`, daysAgo: 4 })),
        { id: '800', daysAgo: 1 },
      ];

      await expect(again()).rejects.toMatchObject({ code: 'other-user' });

      expect(await stored()).toBe(before);
    });
  });

  it('connect goes on when no event was published that tells the user', async () => {
    const fresh = await createWorld();
    fresh.service.change('900', 'active');
    await fresh.round();

    const request = { partnerAccount: 'main', code: new Secret('code-1') };
    expect(await fresh.connect.connect(request, fresh.options())).toMatchObject({
      isNew: false,
      userUnverified: expect.stringContaining('no event'),
    });
  });
});

it.each([
  ['one that is the same user’s', { sameUser: true }, true],
  ['none of a user not verified', {}, false],
])('of the pairs that an interrupted `connect` stored, a refresh names %s', async (_which, who, isNamed) => {
  const world = await createWorld();
  const register = () => Promise.reject(new Error('refused'));
  const feedStates = { ...world.state.feedStates, register };
  const { connect } = createConnect({ ...world.connectDeps, feedStates });
  const request = { partnerAccount: 'main', code: new Secret('code-1'), ...who };
  await expect(connect(request, world.options())).rejects.toThrow('refused');
  const stored = await world.state.vault.read('main');

  world.clock.advance(60_000);
  const rejectedVersion = (await world.account())?.token?.version ?? '';
  const rejected = { partnerAccount: 'main', because: 'token-rejected', rejectedVersion } as const;
  expect(await world.refreshToken.refresh(rejected, world.options())).toEqual({ kind: 'renewed' });

  expect((await world.account())?.token?.version === stored?.version).toBe(isNamed);
});

it('a first request that fails is reported, and what was stored stays', async () => {
  const world = await createWorld();
  world.service.state.pageOfConnect = async () => {
    throw new BridgeFault('scope-insufficient', 'insufficient_scope');
  };
  const request = {
    partnerAccount: 'second',
    code: new Secret('code-1'),
    redirectUri: 'http://127.0.0.1/c',
  };

  const connected = await world.connect.connect(request, world.options());

  expect(connected.feed).toEqual({
    kind: 'failed',
    fault: 'scope-insufficient',
    reason: 'insufficient_scope',
  });
  expect(await world.state.vault.read('second')).toBeDefined();
});
