import { expect, it } from 'vitest';
import { openEmbeddedState } from '../../../../../embedded/state/state.ts';
import type { Envelope } from '../../../../../shared/contract/events.ts';
import { eventsIn, startConnected } from '../local-bridge.ts';

async function startTwo() {
  const local = await startConnected({ users: [{ name: 'main', adverts: 3 }, { name: 'other' }] });
  const publish = async (): Promise<Envelope[]> => eventsIn((await local.runUntilIdle()).stdout);
  return { ...local, publish };
}

const positions = (events: readonly Envelope[]) =>
  events.map(({ detail: { metadata } }) => ({
    generation: metadata.generation,
    sequence: 'sequence' in metadata ? metadata.sequence : undefined,
  }));

it('a new history keeps the token and publishes every advert anew', async () => {
  const { sandbox, run, publish } = await startTwo();
  await run('backfill main');
  const [before] = positions(await publish());
  const [{ id } = { id: '' }] = sandbox.control.truth();
  const since = new Date().toISOString();
  sandbox.control.setStatus(id, 'sold');

  const ended = await run(`connect main --new-history --since ${since} --json`);
  const first = positions(await publish());
  await run('backfill main');
  const others = positions(await publish());

  const { partnerAccounts, stopped } = JSON.parse(ended.stdout);
  const [{ generation }] = partnerAccounts;
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  expect(stopped).toEqual([]);
  expect(generation).toBeGreaterThan(before?.generation ?? Number.NaN);
  expect(first).toEqual([{ generation, sequence: 1 }]);
  expect(others).toEqual([
    { generation, sequence: 1 },
    { generation, sequence: 1 },
  ]);
});

it('a new history reads what was unread and refreshes tokens', async () => {
  const { sandbox, run, publish } = await startTwo();
  await publish();
  sandbox.control.createAdverts(1);
  const ended = await run(`connect main --new-history --since ${new Date().toISOString()}`);
  sandbox.control.expireAccessTokens('main');

  expect(ended.exitCode).toBe(0);
  expect(await publish()).toHaveLength(1);
});

it('--all gives every account a new history, except a stopped one', async () => {
  const { connect, run, status } = await startTwo();
  await connect('other');
  await run('disconnect other');
  const generationsOf = async (): Promise<number[]> =>
    (await status()).partnerAccounts.map(({ generation }: { generation: number }) => generation);
  const before = await generationsOf();

  const ended = await run('connect --all --new-history --json');

  expect(ended.exitCode).toBe(3);
  expect(JSON.parse(ended.stdout)).toMatchObject({
    partnerAccounts: [{ partnerAccount: 'main' }],
    stopped: ['other'],
  });
  const after = await generationsOf();
  expect(after[0]).toBeGreaterThan(before[0] ?? Number.NaN);
  expect(after[1]).toBe(before[1]);
});

it('a new history shows its generation as an identifier', async () => {
  const { run, status } = await startTwo();

  const { stderr } = await run('connect main --new-history');

  const { generation } = (await status()).partnerAccounts[0];
  expect(stderr).toMatch(new RegExp(`^main +${generation}\\b`, 'm'));
});

it('a new history is refused while the token is being refreshed', async () => {
  const { dir, run, status } = await startTwo();
  const before = await status();
  const state = openEmbeddedState(dir);
  const refreshing = { holder: 'a refresh', startedAt: Date.now(), until: Date.now() + 60_000 };
  await state.partnerAccounts.change('main', (account) => ({ ...account, refreshing }));
  state.close();

  expect((await run('connect main --new-history')).exitCode).toBe(1);
  expect((await status()).partnerAccounts[0].generation).toBe(before.partnerAccounts[0].generation);
});

it('a new history with options that exclude each other is refused', async () => {
  const { run } = await startTwo();

  for (const args of [
    ...['--new-history', 'main --all --new-history', '--all', 'main --new-history --new-user'],
    ...['main --new-history --port 1', 'mian --new-history'],
  ])
    expect([args, (await run(`connect ${args}`)).exitCode]).toEqual([args, 2]);
});
