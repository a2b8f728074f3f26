import { expect, it } from 'vitest';
import { createJournal, withoutSecrets } from '../../../sandbox/state/journal.ts';
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

it.each([
  ['refresh_token=abc', 'refresh_token=hidden'],
  ['a=1&CODE=abc&b=2', 'a=1&CODE=hidden&b=2'],
  ['client_secret=a%26b', 'client_secret=hidden'],
  ['since=x&cursor=abc', 'since=x&cursor=abc'],
])('records the query %s as %s', (query, expected) => {
  expect(withoutSecrets(query)).toBe(expected);
});

it.each([
  [3, ['/b', '/c', '/d'], ['/c']],
  [0, [], []],
])('keeps at most %i entries', (limit, kept, part) => {
  const journal = createJournal(limit);
  for (const path of ['/a', '/b', '/c', '/d']) journal.add({ path } as never);
  const paths = (...range: number[]) => journal.list(...range).map(({ path }) => path);

  expect(paths()).toEqual(kept);
  expect(paths(2, 1)).toEqual(part);
  journal.clear();
  expect(journal.nextIndex).toBe(4);
  expect(paths()).toEqual([]);
});
