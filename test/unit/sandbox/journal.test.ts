import { describe, expect, it } from 'vitest';
import { createJournal, withoutSecrets } from '../../../sandbox/state/journal.ts';
import { longAgo, noonMs, start } from './start.ts';

describe('the journal', () => {
  it('tells what arrived, from whom, and how it was answered', async () => {
    const { sandbox, feed, get } = await start();
    await feed({ since: longAgo });
    await get('/nowhere', {});

    const entries = sandbox.control.journal.list();

    expect(entries).toMatchObject([
      { index: 0, endpoint: 'token', grantType: 'refresh_token', user: 'main', status: 200 },
      {
        index: 1,
        atMs: noonMs,
        method: 'GET',
        path: '/api/partner/status/adverts',
        query: 'since=2026-01-01T00%3A00%3A00Z',
        endpoint: 'feed',
        user: 'main',
        status: 200,
      },
      { index: 2, endpoint: null, user: null, status: 404 },
    ]);
    expect(entries[0]?.arrivedAtMs).toBeCloseTo(Date.now(), -5);
  });

  it('never holds a token, code or secret', async () => {
    const { sandbox, get, refresh, token } = await start();
    const code = sandbox.control.issueCode();
    const { body } = await refresh();
    await token({ grant_type: 'authorization_code', code });
    await get(`/api/partner/adverts/1001?access_token=${body.access_token}&code=${code}&page=1`, {});

    const text = JSON.stringify(sandbox.control.journal.list());

    for (const secret of [body.access_token, body.refresh_token, code, sandbox.application.clientSecret]) {
      expect(text).not.toContain(secret);
    }
    expect(text).toContain('access_token=hidden&code=hidden&page=1');
  });

  it('keeps the newest entries up to its limit, and its indexes over a clear', () => {
    const journal = createJournal(3);
    const fields = { method: 'GET', query: '', endpoint: null, user: null, grantType: null };
    const add = (path: string) =>
      journal.add({
        ...fields,
        path,
        atMs: 0,
        arrivedAtMs: 0,
        status: null,
        fault: null,
      });
    for (const path of ['/a', '/b', '/c', '/d']) add(path);
    const kept = journal.list().map(({ path }) => path);
    const part = journal.list(2, 1).map(({ path }) => path);
    journal.clear();
    add('/e');

    expect(kept).toEqual(['/b', '/c', '/d']);
    expect(part).toEqual(['/c']);
    expect(journal.list().map(({ index, path }) => [index, path])).toEqual([[4, '/e']]);
  });

  it('can be switched off', async () => {
    const { sandbox, feed } = await start({ journalLimit: 0 });
    await feed({ since: longAgo });

    expect(sandbox.control.journal.list()).toEqual([]);
    expect(sandbox.control.journal.nextIndex).toBe(2);
  });
});

describe('hiding secrets in a query', () => {
  it.each([
    ['refresh_token=abc', 'refresh_token=hidden'],
    ['a=1&CODE=abc&b=2', 'a=1&CODE=hidden&b=2'],
    ['client_secret=a%26b', 'client_secret=hidden'],
    ['since=x&cursor=abc', 'since=x&cursor=abc'],
  ])('turns %s into %s', (query, expected) => {
    expect(withoutSecrets(query)).toBe(expected);
  });
});
