import { describe, expect, it } from 'vitest';
import { type ConnectDeps, createConnect } from '../../../../functions/connect/connect.ts';
import type { ConnectRequest } from '../../../../functions/connect/connect-account.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { type PartnerAccount, stopOf } from '../../../../shared/domain/partner-account.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { holdOf } from '../../../helpers/holds.ts';
import { createTokenWorld } from '../../../helpers/token-world.ts';
import { createWorld, type World } from '../../../helpers/world.ts';

const code = (text: string) => ({ code: new Secret(text) });

/** Something that a test opens when it wants the others to go on. */
function createDoor() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Whether a row that is polled has a feed of its generation, and the token that the vault has. */
async function expectWhole(world: World, name: string) {
  const account = await world.account(name);
  if (!account || stopOf(account)) return;
  expect((await world.feed(name))?.generation).toBe(account.generation);
  expect((await world.state.vault.read(name))?.version).toBe(account.token?.version);
}

describe('two first connects of one name at the same moment', () => {
  /** Both have exchanged their codes, a few seconds apart, and then the second one continues first. */
  async function race(isLate: (request: ConnectRequest) => boolean) {
    const world = await createWorld();
    const door = createDoor();
    const asking = (deps: ConnectDeps, request: ConnectRequest) =>
      createConnect(deps).connect(request, world.options());
    const held: ConnectDeps = {
      ...world.connectDeps,
      endpoint: {
        async requestTokens(...args) {
          const received = await world.service.requestTokens(...args);
          await door.opened;
          return received;
        },
      },
    };
    const requests = [code('first'), code('second')].map((one) => ({ partnerAccount: 'shop', ...one }));
    const outcomes = requests.map((request) =>
      asking(isLate(request) ? held : world.connectDeps, request).catch((error: unknown) => error),
    );
    await Promise.all(outcomes.filter((_, index) => !isLate(requests[index] as ConnectRequest)));
    world.clock.advance(3_000);
    door.open();
    return { world, outcomes: await Promise.all(outcomes) };
  }

  it.each<[string, (request: ConnectRequest) => boolean]>([
    ['the first of them', (request) => 'code' in request && request.code.reveal() === 'first'],
    ['the second', (request) => 'code' in request && request.code.reveal() === 'second'],
    ['both, side by side', () => true],
  ])('give the name to one, whichever is late: %s', async (_case, isLate) => {
    const { world, outcomes } = await race(isLate);

    const refused = outcomes.filter((outcome) => outcome instanceof BridgeFault);
    expect(refused).toMatchObject([
      {
        code: 'account-busy',
        message: expect.stringContaining('somebody else connected shop at the same time'),
      },
    ]);
    const account = await world.account('shop');
    expect(outcomes).toContainEqual(
      expect.objectContaining({ generation: account?.generation, isNew: true }),
    );
    expect(holdOf(account, 'authorization')).toBeUndefined();
    expect(account?.refreshing).toBeUndefined();
    await expectWhole(world, 'shop');
    world.service.change('1', 'active');
    expect((await world.round()).polls).toContainEqual(
      expect.objectContaining({ partnerAccount: 'shop', end: 'up-to-date', listed: 1 }),
    );
  });
});

describe('connect on a known name that another connect has overtaken', () => {
  it.each([{ sameUser: true }, { newUser: true }])('leaves what the other one wrote: %o', async (whose) => {
    const world = await createWorld();
    const { endpoint, settings } = world.connectDeps;
    const other = () =>
      world.connect.connect({ partnerAccount: 'main', newUser: true, ...code('other') }, world.options());
    const slow = createConnect({
      ...world.connectDeps,
      endpoint: {
        async requestTokens(...args) {
          world.clock.advance(settings.lockMs);
          await other();
          return endpoint.requestTokens(...args);
        },
      },
    });

    await expect(
      slow.connect(
        { partnerAccount: 'main', ...whose, ...code('slow') },
        { deadlineMs: world.clock.now() + 600_000 },
      ),
    ).rejects.toMatchObject({ code: 'account-busy' });

    const account = await world.account();
    expect(stopOf(account as PartnerAccount)).toBeUndefined();
    expect((await world.state.vault.read('main', account?.token?.version))?.pair.generation).toBe(
      account?.generation,
    );
    expect((await world.feed())?.generation).toBe(account?.generation);
  });
});

describe('connect for a new user under a known name', () => {
  /** `main` has published an event; then another user authorizes. */
  async function published() {
    const world = await createWorld();
    world.service.change('1', 'active');
    await world.round();
    await world.handleBatch();
    const before = await world.account();
    if (!before) throw new Error('not connected');
    const connect = (more: Partial<ConnectRequest> = {}) =>
      world.connect.connect(
        { partnerAccount: 'main', ...code('other'), newUser: true, ...more },
        world.options(),
      );
    return { world, before, connect };
  }

  it.each([
    ['while it is polled', false],
    ['after it was disconnected', true],
  ])('begins a new generation, with no cursor and no history: %s', async (_case, leaves) => {
    const { world, before, connect } = await published();
    if (leaves) await world.connect.disconnect('main');

    const connected = await connect({ since: '2026-11-20T09:00:00Z' });

    expect(connected).toMatchObject({ isNew: true });
    expect(connected.generation).toBeGreaterThan(before.generation);
    expect(await world.account()).toMatchObject({ generation: connected.generation });
    expect((await world.account())?.token?.version).not.toBe(before.token?.version);
    await expectWhole(world, 'main');
    const feed = await world.feed();
    expect(feed).toMatchObject({ generation: connected.generation, since: '2026-11-20T09:00:00Z' });
    expect(feed?.cursor).toBeUndefined();
    // The history of before stays, under its generation.
    const key = { partnerAccount: 'main', feed: 'adverts', advertId: '1' } as const;
    const rowOf = (generation: number) => world.state.advertHistories.read({ ...key, generation });
    expect(await rowOf(before.generation)).toMatchObject({ sequence: 1 });
    expect(await rowOf(connected.generation)).toBeUndefined();
    expect((await world.books()).listed).toBe(0);
  });

  it('is a greater generation each time, also within a second', async () => {
    const { before, connect } = await published();

    const [second, third] = [await connect(), await connect()];

    expect(second.generation).toBeGreaterThan(before.generation);
    expect(third.generation).toBeGreaterThan(second.generation);
  });

  it('takes nothing over that the bus was not told about the user before, and answers nothing', async () => {
    const { world, before, connect } = await published();
    world.events.refuse(() => true);
    world.service.state.tokens = () => {
      throw new BridgeFault('grant-rejected', 'invalid_grant');
    };
    await world.refreshToken.refresh(
      { partnerAccount: 'main', rejectedVersion: before.token?.version ?? '', because: 'token-rejected' },
      world.options(),
    );
    expect(holdOf(await world.account(), 'authorization')?.reason).toBe('refresh-token-rejected');
    world.events.refuse(() => false);
    world.service.state.tokens = () => ({
      ...{ access_token: 'access-other', refresh_token: 'refresh-other', expires_in: 86_400 },
      ...{ token_type: 'bearer', scope: 'v2 read write' },
    });

    await connect();

    expect(await world.account()).not.toHaveProperty('holds');
    expect(await world.account()).not.toHaveProperty('owedEvents');
  });

  it('lets go what waits of the user before, and of the next one finds everything', async () => {
    const { world, connect } = await published();
    world.service.change('1', 'sold');
    await world.round();
    await connect();
    world.clock.advance(5_000);

    expect((await world.handleBatch()).map(({ verdict }) => verdict.kind)).toEqual(['forgotten']);
    await world.round();
    await world.handleBatch();

    expect(world.advertEvents().at(-1)?.detail).toMatchObject({
      metadata: { generation: (await world.account())?.generation, sequence: 1 },
      data: { advertId: '1', status: 'sold', previousStatus: null },
    });
  });

  it.each([
    [
      'the row that waits',
      (deps: ConnectDeps, die: () => Promise<never>) => ({ ...deps, vault: { ...deps.vault, write: die } }),
    ],
    [
      'the pair',
      (deps: ConnectDeps, die: () => Promise<never>) => ({
        ...deps,
        feedStates: { ...deps.feedStates, register: die },
      }),
    ],
  ])(
    'that dies after it has written %s leaves nothing that is polled, and can be done again',
    async (_case, dying) => {
      const { world, before, connect } = await published();
      const die = () => Promise.reject(new Error('killed'));
      const stage = createConnect(dying(world.connectDeps, die));
      const request = { partnerAccount: 'main', ...code('other'), newUser: true };

      await expect(stage.connect(request, world.options())).rejects.toThrow('killed');

      expect(await world.account()).toMatchObject({
        holds: [{ kind: 'authorization', reason: 'disconnected' }],
      });
      expect((await world.round()).polls).toEqual([]);
      // Without --new-user: the generation has begun.
      expect(await connect({ newUser: false })).toMatchObject({ isNew: true });
      expect((await world.account())?.generation).toBeGreaterThan(before.generation);
      await expectWhole(world, 'main');
    },
  );
});

describe('a feed that another connect of before has registered with a later generation', () => {
  it('is found by connecting again', async () => {
    const world = await createWorld();
    await world.accounts.change('main', (account) => ({ ...account, generation: account.generation - 2 }));
    expect((await world.round()).polls).toEqual([]);

    await world.connect.connect({ partnerAccount: 'main', ...code('retry') }, world.options());

    await expectWhole(world, 'main');
    expect((await world.round()).polls).toMatchObject([{ end: 'up-to-date' }]);
  });
});

describe('a refresh token that was handed in for nothing', () => {
  const dayMs = 86_400_000;
  const refusedFor = async (token: string, world: Awaited<ReturnType<typeof createTokenWorld>>) => {
    const request = { partnerAccount: 'second', refreshToken: new Secret(token) };
    const error = await world.stage.connect(request, world.options()).catch((fault: unknown) => fault);
    if (!(error instanceof BridgeFault)) throw new Error('it was not refused');
    return error;
  };

  it('was replaced by the service: the refusal says what to get, and shows no secret', async () => {
    const world = await createTokenWorld();
    const token = world.sandbox.control.issueRefreshToken('main', 'v2 read');
    world.clock.advance(dayMs);

    const { code: kind, message } = await refusedFor(token, world);

    expect(kind).toBe('scope-refused');
    expect(message).toMatch(/lacks write \(the service has replaced the refresh token handed in/);
    expect(message).toContain('have the user authorize anew, or get the newest one');
    for (const secret of world.sandbox.control.issuedTokens()) expect(message).not.toContain(secret);
    expect(await world.state.partnerAccounts.read('second')).toBeUndefined();
  });

  it('is the newest one still: it can be handed in again', async () => {
    const world = await createTokenWorld();
    const token = world.sandbox.control.issueRefreshToken('main', 'v2 read');

    expect((await refusedFor(token, world)).message).toMatch(/has been used, and is still the newest one/);
    expect((await refusedFor(token, world)).code).toBe('scope-refused');
  });

  it('of another user says so too', async () => {
    const world = await createWorld();
    world.service.change('1', 'active');
    await world.round();
    await world.handleBatch();
    world.service.feedPage = async () => ({ page: { data: ['900'], hasMore: false } });

    const request = { partnerAccount: 'main', refreshToken: new Secret('handed-in') };
    const refused = world.connect.connect(request, world.options());

    await expect(refused).rejects.toMatchObject({
      code: 'other-user',
      message: expect.stringContaining('the service has replaced the refresh token handed in'),
    });
  });
});
