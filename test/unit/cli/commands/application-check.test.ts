import { expect, it } from 'vitest';
import { startLocal } from '../local-bridge.ts';

it('application --check says whether the service takes the credentials, and keeps no token of them', async () => {
  const { sandbox, run, status } = await startLocal();
  const check = (secret: string) =>
    run(`application --base-url ${sandbox.url} --client-id sandbox-client --client-secret-stdin --check`, {
      stdin: secret,
    });

  expect(await check('sandbox-client-secret')).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('The partner service accepts them.'),
  });
  expect(
    sandbox.control.journal.list().map(({ grantType, status: answered }) => [grantType, answered]),
  ).toEqual([['client_credentials', 200]]);
  const wrong = await check('another-secret');
  expect(wrong.exitCode).toBe(1);
  expect(wrong.stderr).toContain('application');
  expect(wrong.stderr).toContain('The given credentials are stored nevertheless, until you replace them.');
  expect(wrong.stderr).not.toContain('another-secret');
  expect((await status()).partnerAccounts).toEqual([]);
});
