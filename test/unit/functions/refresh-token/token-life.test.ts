import { describe, expect, it } from 'vitest';
import { createConnect } from '../../../../functions/connect/connect.ts';
import { createRefreshToken } from '../../../../functions/refresh-token/refresh-token.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { holdOf } from '../../../helpers/holds.ts';
import { createTokenWorld } from '../../../helpers/token-world.ts';

const dayMs = 86_400_000;

describe('a crash between the answer and its storing', () => {
  it('loses no refresh token: the old one brings the latest again on the same day', async () => {
    const world = await createTokenWorld();
    const { clock, deps, state, sandbox } = world;
    clock.advance(dayMs);
    const before = (await world.stored())?.refreshToken.reveal();
    const crash = () => Promise.reject(new Error('killed'));
    const dying = createRefreshToken({ ...deps, vault: { ...state.vault, write: crash } });

    await world.refresh('expired', undefined, dying);
    expect((await world.stored())?.refreshToken.reveal()).toBe(before);
    clock.advance(deps.settings.lockMs);
    expect(await world.refresh('expired')).toEqual({ kind: 'renewed' });

    const after = (await world.stored())?.refreshToken.reveal();
    expect(after).not.toBe(before);
    // It is the service's newest: the day after, with the old one long dead, it still works.
    clock.advance(dayMs);
    expect(await world.refresh('expired')).toEqual({ kind: 'renewed' });
    expect(sandbox.control.journal.list().filter(({ status }) => status !== 200)).toEqual([]);
  });
});

/** A vault whose next writes fail. */
function failingVault<V extends { write(...args: never[]): Promise<string> }>(vault: V, failures: number): V {
  let left = failures;
  const write: V['write'] = (...args) => {
    left -= 1;
    return left >= 0 ? Promise.reject(new Error('throttled')) : vault.write(...args);
  };
  return { ...vault, write };
}

describe('a pair that cannot be stored at first', () => {
  it('is stored soon after, for the service may not give it again', async () => {
    const world = await createTokenWorld();
    const { clock, deps, state, sandbox } = world;
    clock.advance(dayMs);
    const stage = createRefreshToken({ ...deps, vault: failingVault(state.vault, 3) });

    expect(await world.refresh('expired', undefined, stage)).toEqual({ kind: 'renewed' });
    expect(sandbox.control.journal.list().filter(({ endpoint }) => endpoint === 'token')).toHaveLength(2);
  });

  it('is stored soon after when a partner account is connected by a code, which works once', async () => {
    const { deps, state, sandbox, options } = await createTokenWorld();
    const connect = createConnect({ ...deps, vault: failingVault(state.vault, 3) });
    const code = new Secret(sandbox.control.issueCode());

    expect(await connect.connect({ partnerAccount: 'shop', code }, options())).toMatchObject({ isNew: true });
  });

  it.each([
    ['after 15 seconds, so that others have time', 60_000, 15_000],
    ["at the function's deadline", 6_000, 6_000],
  ])('is given up %s', async (_when, deadlineMs, withinMs) => {
    const world = await createTokenWorld();
    const { clock, deps, state } = world;
    clock.advance(dayMs);
    const stage = createRefreshToken({ ...deps, vault: failingVault(state.vault, 1_000) });
    const begun = clock.now();

    const outcome = await world.refresh('expired', deadlineMs, stage);

    expect(outcome).toMatchObject({ kind: 'failed', fault: 'transient' });
    expect(clock.now() - begun).toBeLessThanOrEqual(withinMs);
  });
});

it('a refresh token is used within a week, however long its access token lives', async () => {
  const world = await createTokenWorld({ accessTokenLifetimeSeconds: 60 * 86_400 });

  for (let day = 0; day < 90; day += 1) {
    world.clock.advance(dayMs);
    await world.stage.sweep(world.options());
  }

  expect(await world.refresh('expired')).toEqual({ kind: 'renewed' });
  expect(world.observer.counted(metrics.needsAttention)).toBe(0);
  const grants = world.sandbox.control.journal.list().filter(({ endpoint }) => endpoint === 'token');
  expect(grants).toHaveLength(1 + 13 + 1);
});

describe("the application's own secret", () => {
  const write = (world: Awaited<ReturnType<typeof createTokenWorld>>, text: string) =>
    world.state.applicationSecret.write({
      clientId: new Secret('sandbox-client'),
      clientSecret: new Secret(text),
    });

  it('is read once for many refreshes', async () => {
    const world = await createTokenWorld();
    let reads = 0;
    const applicationSecret = {
      read: () => {
        reads += 1;
        return world.state.applicationSecret.read();
      },
    };
    const stage = createRefreshToken({ ...world.deps, applicationSecret });
    for (let times = 0; times < 5; times += 1)
      expect(await world.refresh('expired', undefined, stage)).toEqual({ kind: 'renewed' });
    expect(reads).toBe(1);
  });

  it('is read again when the service rejects it, so that a new one is used without a restart', async () => {
    const world = await createTokenWorld();
    await world.refresh('expired');
    world.sandbox.control.replaceClientSecret('the new one');
    await write(world, 'the new one');

    expect(await world.refresh('expired')).toEqual({ kind: 'renewed' });
    expect(await world.connect()).toMatchObject({ isNew: false });
    expect(world.observer.counted(metrics.needsAttention)).toBe(0);
  });

  it('calls for attention when rejected, until the right one is stored; no account is stopped', async () => {
    const world = await createTokenWorld();
    world.sandbox.control.replaceClientSecret('the new one');

    expect(await world.refresh('expired')).toMatchObject({ kind: 'failed', fault: 'client-rejected' });
    expect(world.sandbox.control.journal.list().filter(({ status }) => status !== 200)).toHaveLength(1);
    expect(holdOf(await world.account(), 'authorization')).toBeUndefined();
    expect(world.observer.counted(metrics.needsAttention)).toBe(1);
    await write(world, 'the new one');
    expect(await world.refresh('expired')).toEqual({ kind: 'renewed' });
  });

  it('is read again after five minutes although the service still takes the old one', async () => {
    const world = await createTokenWorld();
    await world.refresh('expired');
    await write(world, 'not yet right');

    expect(await world.refresh('expired')).toEqual({ kind: 'renewed' });
    world.clock.advance(300_000);
    expect(await world.refresh('expired')).toMatchObject({ kind: 'failed', fault: 'client-rejected' });
  });
});
