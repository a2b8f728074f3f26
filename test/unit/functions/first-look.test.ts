import { beforeEach, describe, expect, it } from 'vitest';
import { PartnerFault } from '../../../shared/domain/faults.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { createWorld, type World } from '../../helpers/world.ts';

/** `main` is connected and has published an event of advert 1; then somebody authorizes under its name. */
describe('connect on a known name', () => {
  let world: World;
  const stored = async () => (await world.state.vault.read('main'))?.version;
  const again = (more: { sameUser?: boolean } = {}) =>
    world.connect.connect({ partnerAccount: 'main', code: new Secret('code-1'), ...more }, world.options());
  /** From now on the feed is that of somebody with these adverts. */
  const listing = (ids: readonly string[], hasMore = false) => {
    world.service.feedPage = async () => ({ page: { data: [...ids], hasMore } });
  };

  beforeEach(async () => {
    world = await createWorld();
    world.service.change('1', 'active');
    await world.round();
    await world.handleBatch();
  });

  it('takes the user whose adverts it knows, among new ones', async () => {
    listing(['900', '901', '1']);

    expect(await again()).toMatchObject({ isNew: false, feed: { kind: 'read', listed: 3, hasMore: false } });
  });

  it('refuses a user none of whose adverts it knows, and keeps the pair that there was', async () => {
    const before = await stored();
    listing(['900', '901']);

    await expect(again()).rejects.toMatchObject({ code: 'other-user' });

    expect(await stored()).toBe(before);
    expect((await world.account())?.stop).toBeUndefined();
  });

  it('takes a word for it that the user is the same', async () => {
    listing(['900']);

    expect(await again({ sameUser: true })).toMatchObject({ isNew: false });
  });

  it.each([
    ['nothing is listed', () => listing([])],
    ['there is more than one page, and the known ones may be behind', () => listing(['900'], true)],
    ['only what is no advert ID is listed', () => listing(['../x', ''])],
    [
      'the feed does not answer',
      () => {
        world.service.feedPage = async () => {
          throw new PartnerFault('passing', 'no answer');
        };
      },
    ],
  ])('goes on when it cannot be told: %s', async (_case, prepare) => {
    const before = await stored();
    prepare();

    expect(await again()).toMatchObject({ isNew: false });
    expect(await stored()).not.toBe(before);
  });

  it('goes on when no event was published yet, so that there is no history to tell by', async () => {
    const fresh = await createWorld();
    fresh.service.change('900', 'active');
    await fresh.round();

    const request = { partnerAccount: 'main', code: new Secret('code-1') };
    expect(await fresh.connect.connect(request, fresh.options())).toMatchObject({ isNew: false });
  });
});

describe('the first request for the feed', () => {
  it('that fails is told, and costs nothing that was stored', async () => {
    const world = await createWorld();
    world.service.feedPage = async () => {
      throw new PartnerFault('scope-insufficient', 'insufficient_scope');
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
});
