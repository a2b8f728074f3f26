import { expect, it } from 'vitest';
import { createAdvertHistories } from '../../../../../shared/state/advert-histories.ts';
import { eventsIn, startConnected } from '../local-bridge.ts';
import { beforeEachStack, connectedAccount, type PlayedStack } from '../played-stack.ts';
import { cli, type Ended } from '../run-cli.ts';
import { resultsIn } from './results.ts';

let stack: PlayedStack;
beforeEachStack((begun) => {
  stack = begun;
});

const usersIn = (ended: Ended) => resultsIn(ended).find(({ name }) => name === 'users');

/** Two users, of whom one connects under a second name after the first events. */
async function startConnectedAgain(user: string) {
  const local = await startConnected({ users: [{ name: 'main' }, { name: 'other' }] });
  const { control } = local.sandbox;
  const adverts = control.createAdverts(20, { status: 'active', user: 'main' });
  await local.runUntilIdle();
  await local.connect('again', control.issueRefreshToken(user), ` --since ${new Date().toISOString()}`);
  return { ...local, control, adverts };
}

it('doctor warns of one user under two names, with what ends it', async () => {
  const { control, adverts, runUntilIdle, run } = await startConnectedAgain('main');
  for (const id of adverts.slice(10, 13)) control.setStatus(id, 'sold');
  expect(eventsIn((await runUntilIdle()).stdout)).toHaveLength(6);

  expect(usersIn(await run('doctor --json'))).toMatchObject({
    result: 'warning',
    says: expect.stringMatching(/^again and main have the same adverts/),
    mend: expect.stringMatching(/`advert-bridge disconnect again --local .*`/),
  });
});

it('doctor finds nothing when an advert went from one user to another', async () => {
  const { control, adverts, runUntilIdle, run, inState } = await startConnectedAgain('other');
  control.createAdverts(2, { user: 'other' });
  await runUntilIdle();
  await inState(async ({ partnerAccounts, advertHistories }) => {
    const [{ generation = 0 } = {}] = (await partnerAccounts.list(expect.fail)).filter(
      ({ name }) => name === 'again',
    );
    const key = { partnerAccount: 'again', generation, feed: 'adverts', advertId: adverts[0] ?? '' } as const;
    await advertHistories.write(key, published);
  });

  expect(usersIn(await run('doctor --json'))).toMatchObject({ result: 'ok' });
});

it('doctor finds nothing when one of the two names is disconnected', async () => {
  const { control, adverts, runUntilIdle, run } = await startConnectedAgain('main');
  for (const id of adverts) control.setStatus(id, 'sold');
  await runUntilIdle();
  await run('disconnect again');

  expect(usersIn(await run('doctor --json'))).toMatchObject({ result: 'ok' });
});

const published = {
  ...{ sequence: 1, status: 'active', envelope: '{}', pending: false, etag: 'absent' },
} as const;

it('doctor of a stack warns of the newest of many accounts, with few reads', async () => {
  const histories = createAdvertHistories(stack.store);
  const main = connectedAccount();
  const others = Array.from({ length: 21 }, (_, index) => ({
    ...{ ...main, name: `account-${index}`, generation: main.generation + 1 + index },
  }));
  for (const account of others) await stack.partnerAccounts.add(account);
  // Each has an advert of its own; the newest has that of `main`.
  for (const { name, generation } of [main, ...others]) {
    const advertId = `${name === 'account-20' ? main.generation : generation}`;
    await histories.write({ partnerAccount: name, generation, feed: 'adverts', advertId }, published);
  }
  stack.forgetCalls();

  expect(usersIn(await cli('doctor --json'))).toMatchObject({
    result: 'warning',
    mend: 'If it is one user: `advert-bridge disconnect account-20`',
  });
  const reads = stack.inputsOf<{ TableName: string }>('GetItem');
  const ofAdverts = reads.filter(({ TableName }) => TableName === stack.tables.advertStatus);
  // Not of all 231 pairs, in both directions.
  expect(ofAdverts.length).toBeLessThanOrEqual(400);
});
