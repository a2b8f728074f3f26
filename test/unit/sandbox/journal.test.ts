import { expect, it } from 'vitest';
import { longAgo, noonMs, start } from './start.ts';

it('records each request, its user and its answer', async () => {
  const { sandbox, feed, get } = await start();
  await feed({ since: longAgo });
  await get('/nowhere', {});

  const entries = sandbox.control.journal.list();

  const path = '/api/partner/status/adverts';
  const query = 'since=2026-01-01T00%3A00%3A00Z';
  expect(entries).toMatchObject([
    { index: 0, endpoint: 'token', grantType: 'refresh_token', user: 'main', status: 200 },
    { index: 1, atMs: noonMs, method: 'GET', path, query, endpoint: 'feed', user: 'main', status: 200 },
    { index: 2, endpoint: null, user: null, status: 404 },
  ]);
  expect(entries[0]?.arrivedAtMs).toBeCloseTo(Date.now(), -5);
});

it('never records a token, code or secret', async () => {
  const { sandbox, get, refresh, token } = await start();
  const code = sandbox.control.issueCode();
  const { body } = await refresh();
  await token({ grant_type: 'authorization_code', code });
  await get(`/api/partner/adverts/1001?access_token=${body.access_token}&code=${code}&page=1`, {});

  const text = JSON.stringify(sandbox.control.journal.list());

  for (const secret of [body.access_token, body.refresh_token, code, sandbox.application.clientSecret])
    expect(text).not.toContain(secret);
  expect(text).toContain('access_token=hidden&code=hidden&page=1');
});
