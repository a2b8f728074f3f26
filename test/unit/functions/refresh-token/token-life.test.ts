import { expect, it } from 'vitest';
import { createRefreshToken } from '../../../../functions/refresh-token/refresh-token.ts';
import { storeApplication } from '../../../../operators/operations/connect-functions.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { holdOf } from '../../../helpers/holds.ts';
import { createTokenWorld } from '../../../helpers/token-world.ts';

const dayMs = 86_400_000;

/** A vault whose next writes fail. */
function failingVault<V extends { write(...args: never[]): Promise<string> }>(vault: V, failures: number): V {
  let left = failures;
  const write: V['write'] = (...args) => {
    left -= 1;
    return left >= 0 ? Promise.reject(new Error('throttled')) : vault.write(...args);
  };
  return { ...vault, write };
}

it('a pair that could not be stored is stored soon after', async () => {
  const world = await createTokenWorld();
  const { clock, deps, state, sandbox } = world;
  clock.advance(dayMs);
  const stage = createRefreshToken({ ...deps, vault: failingVault(state.vault, 3) });

  expect(await world.refresh('expired', undefined, stage)).toEqual({ kind: 'renewed' });
  expect(sandbox.control.journal.list().filter(({ endpoint }) => endpoint === 'token')).toHaveLength(2);
});

it('a pair is stored when the vault takes it again while the function runs', async () => {
  const world = await createTokenWorld();
  const { clock, deps, state } = world;
  clock.advance(dayMs);
  const untilMs = clock.now() + 40_000;
  const write: typeof state.vault.write = (...args) =>
    clock.now() < untilMs ? Promise.reject(new Error('throttled')) : state.vault.write(...args);
  const stage = createRefreshToken({ ...deps, vault: { ...state.vault, write } });

  expect(await world.refresh('expired', 55_000, stage)).toEqual({ kind: 'renewed' });
});

it('a pair that could not be stored is given up at the deadline', async () => {
  const world = await createTokenWorld();
  const { clock, deps, state } = world;
  clock.advance(dayMs);
  const stage = createRefreshToken({ ...deps, vault: failingVault(state.vault, 1_000) });
  const begun = clock.now();

  const outcome = await world.refresh('expired', 6_000, stage);

  expect(outcome).toMatchObject({ kind: 'failed', fault: 'transient' });
  expect(clock.now() - begun).toBeLessThanOrEqual(6_000);
});

it('a pair is not stored again when the function would end first', async () => {
  const world = await createTokenWorld();
  const { clock, deps, state } = world;
  clock.advance(dayMs);
  // Four attempts of the client, each with its timeout.
  const write = async () => {
    await clock.sleep(17_000);
    throw new Error('no answer');
  };
  const stage = createRefreshToken({ ...deps, vault: { ...state.vault, write } });
  const begun = clock.now();

  expect(await world.refresh('expired', 57_000, stage)).toMatchObject({ kind: 'failed' });
  expect(clock.now() - begun).toBeLessThanOrEqual(57_000);
  expect(holdOf(await world.account(), 'token')).toBeDefined();
});

it('a refresh token is used within a week, however long its access lives', async () => {
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

it('a new secret of the application replaces a rejected one at once', async () => {
  const world = await createTokenWorld();
  const { applicationSecret, budgetStore, partnerAccounts } = world.state;
  world.sandbox.control.replaceClientSecret('the new one');

  expect(await world.refresh('expired')).toMatchObject({ kind: 'failed', fault: 'client-rejected' });
  expect(holdOf(await world.account(), 'authorization')).toBeUndefined();
  expect(world.observer.counted(metrics.needsAttention)).toBe(1);
  const application = { clientId: new Secret('sandbox-client'), clientSecret: new Secret('the new one') };
  await storeApplication(
    { partnerAccounts, budgetStore, storeApplication: applicationSecret.write },
    application,
  );
  expect(await world.refresh('expired')).toEqual({ kind: 'renewed' });
});
