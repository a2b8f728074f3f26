import { expect, it } from 'vitest';
import { jumpAhead, shortenWaits } from '../../../helpers/short-waits.ts';
import { startLocal } from '../local-bridge.ts';

/** How long a row of the partner account may be believed. */
const graceMs = 5_000;

it('a name given to another user while run is going: nothing of the user before is used from then on', async () => {
  shortenWaits(10);
  const { sandbox, application, connect, run, status } = await startLocal({
    users: [{ name: 'first' }, { name: 'second' }],
  });
  const { control } = sandbox;
  await application();
  const asFirst = (more = '') => connect('shop', 'sandbox-refresh-token-first', more);
  const asSecond = (more = '') => connect('shop', control.issueRefreshToken('second'), more);
  await asFirst();
  const generationBefore = (await status()).partnerAccounts[0].generation;
  const stopping = new AbortController();
  let output = '';
  const ended = run('run --poll-seconds 1 --max-requests-per-second 10000 --confirm-unavailable-seconds 0', {
    signal: stopping.signal,
    onOutput: (text) => {
      output += text;
    },
  });
  const eventsOf = (advertId: string | undefined) =>
    output
      .split('\n')
      .filter((line) => line.includes(`"advertId":"${advertId}"`))
      .map((line) => JSON.parse(line).detail);
  const [known] = control.createAdverts(1, { user: 'first' });
  await expect.poll(() => eventsOf(known), { timeout: 15_000 }).toHaveLength(1);

  // Not without saying so, however it is tried.
  const [mine] = control.createAdverts(1, { user: 'second' });
  for (const attempt of [asSecond, async () => run('disconnect shop').then(() => asSecond())]) {
    const refused = await attempt();
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toMatch(/another user authorized.+--new-user/);
  }
  expect(await asSecond(' --new-user --same-user')).toMatchObject({ exitCode: 2 });
  expect((await status()).partnerAccounts).toMatchObject([{ state: 'stopped', reason: 'disconnected' }]);

  expect(await asSecond(' --new-user')).toMatchObject({ exitCode: 0 });
  const [later] = control.createAdverts(1, { user: 'second' });
  control.setStatus(known ?? '', 'nobody-is-to-hear-of-it');
  await expect.poll(() => [...eventsOf(mine), ...eventsOf(later)], { timeout: 15_000 }).toHaveLength(2);
  const bridge = (user: string) =>
    control.journal
      .list()
      .filter((entry) => entry.user === user && entry.endpoint !== 'token')
      .map(({ atMs }) => atMs);
  jumpAhead(graceMs + 1);
  // Work in progress at that moment ends within the first of these.
  const overAtMs = Date.now() + 100;
  const pollsSince = () => bridge('second').filter((atMs) => atMs > overAtMs).length;
  await expect.poll(pollsSince, { timeout: 15_000 }).toBeGreaterThan(5);
  stopping.abort();
  await ended;

  const [{ generation, books }] = (await status()).partnerAccounts;
  expect(generation).toBeGreaterThan(generationBefore);
  expect([...eventsOf(mine), ...eventsOf(later)].map(({ metadata }) => metadata.generation)).toEqual([
    generation,
    generation,
  ]);
  expect(books).toMatchObject({ listed: 2, events: 2, unavailable: 0, inFlight: 0 });
  expect(bridge('first').filter((atMs) => atMs > overAtMs)).toEqual([]);
  expect(output).not.toContain('nobody-is-to-hear-of-it');
}, 60_000);
