import { expect, it } from 'vitest';
import { eventsIn, startConnected } from '../local-bridge.ts';

it('a name goes to another user only with --new-user, and begins anew', async () => {
  const { sandbox, run, connect, runUntilIdle, status } = await startConnected({
    users: [{ name: 'main' }, { name: 'second' }],
  });
  const { control } = sandbox;
  const asSecond = (more = '') => connect('main', control.issueRefreshToken('second'), more);
  const [known = ''] = control.createAdverts(1, { user: 'main' });
  await runUntilIdle();
  const [before] = (await status()).partnerAccounts;

  // Not without saying so, however it is tried.
  const [mine] = control.createAdverts(1, { user: 'second' });
  for (const attempt of [asSecond, async () => run('disconnect main').then(() => asSecond())]) {
    const refused = await attempt();
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toMatch(/another user authorized.+--new-user/);
  }
  expect(await asSecond(' --new-user --same-user')).toMatchObject({ exitCode: 2 });
  expect((await status()).partnerAccounts).toMatchObject([{ state: 'stopped', reason: 'disconnected' }]);

  expect(await asSecond(' --new-user')).toMatchObject({ exitCode: 0 });
  control.setStatus(known, 'for-nobody');
  const events = eventsIn((await runUntilIdle()).stdout).map(({ detail }) => detail);

  const [{ generation, books }] = (await status()).partnerAccounts;
  expect(generation).toBeGreaterThan(before.generation);
  expect(events.filter(({ data }) => 'advertId' in data)).toMatchObject([
    { metadata: { generation }, data: { advertId: mine } },
  ]);
  expect(books).toMatchObject({ listed: 1, events: 1, unavailable: 0, inFlight: 0 });
});
