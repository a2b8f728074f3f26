import { expect, it } from 'vitest';
import { startLocal } from '../local-bridge.ts';

it('application again while run is going: the new client secret is used without a restart, and nothing is missed', async () => {
  const { sandbox, application, connect, run, status } = await startLocal({
    clientSecret: 'the old one',
    adverts: 3,
  });
  await application('the old one');
  await connect();
  const [first = '', second = ''] = sandbox.control.truth().map(({ id }) => id);
  const stopping = new AbortController();
  let output = '';
  const ended = run('run --poll-seconds 1 --max-requests-per-second 10000 --confirm-unavailable-seconds 0', {
    signal: stopping.signal,
    onOutput: (text) => {
      output += text;
    },
  });
  sandbox.control.setStatus(first, 'before-rotation');
  await expect.poll(() => output, { timeout: 15_000 }).toContain('before-rotation');
  // The running bridge has used the old one, and still has it.
  sandbox.control.expireAccessTokens();
  sandbox.control.setStatus(first, 'refreshed-by-the-old-one');
  await expect.poll(() => output, { timeout: 15_000 }).toContain('refreshed-by-the-old-one');

  sandbox.control.replaceClientSecret('the new one');
  expect((await application('the new one')).exitCode).toBe(0);
  sandbox.control.expireAccessTokens();
  sandbox.control.setStatus(second, 'after-rotation');
  await expect.poll(() => output, { timeout: 15_000 }).toContain('after-rotation');
  expect((await status()).partnerAccounts[0]).toMatchObject({ state: 'polling', needsPerson: false });

  stopping.abort();
  expect(await ended).toMatchObject({ exitCode: 0 });
  expect(output).not.toContain('PartnerAuthorizationRequired');
  expect(output).not.toContain('client-rejected');
}, 60_000);
