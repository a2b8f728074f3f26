import { expect, it } from 'vitest';
import { hourMs, longAgo, start } from './start.ts';

const advert = '/api/partner/adverts/1001';

it.each([
  [{ kind: 'status', status: 429, headers: { 'retry-after': '2' }, body: { a: 1 } }, 429, /^\{"a":1\}$/],
  [{ kind: 'status', status: 403 }, 403, /^$/],
  [{ kind: 'status', status: 503, body: 'busy' }, 503, /^busy$/],
  [{ kind: 'html' }, 200, /^<html>/],
  [{ kind: 'html', status: 502 }, 502, /^<html>/],
  [{ kind: 'invalid-json' }, 200, /^\{"data":\[$/],
  [{ kind: 'wrong-shape' }, 200, /unexpected/],
  [{ kind: 'wrong-shape', body: { data: { id: 1001, status: null } } }, 200, /"status":null/],
] as const)('answers %j', async (fault, status, text) => {
  const { control, get } = await start();
  control.faults.add({ endpoint: 'advert', ...fault });

  const answer = await get(advert, {});

  expect(answer.status).toBe(status);
  expect(answer.text).toMatch(text);
  expect(answer.headers.get('retry-after')).toBe(status === 429 ? '2' : null);
});

it.each([
  [{ nth: 2, count: 2 }, [401, 500, 500, 401]],
  [{ nth: 2 }, [401, 500, 401, 401]],
  [{ count: 1 }, [500, 401, 401, 401]],
  [{}, [500, 500, 500, 500]],
  [{ probability: 0 }, [401, 401, 401, 401]],
])('with %j is played for these of four requests: %j', async (when, expected) => {
  const { control, get } = await start();
  control.faults.add({ endpoint: 'advert', kind: 'status', status: 500, ...when });

  const statuses: number[] = [];
  for (const path of expected.flatMap(() => ['/api/partner/threads', advert]))
    statuses.push((await get(path, {})).status);
  expect(statuses.filter((_, index) => index % 2 === 1)).toEqual(expected);
});

it('a fault applies to one advert, one user, or requests with a cursor', async () => {
  const users = [{ name: 'main' }, { name: 'other' }];
  const { control, get, feed, bearer, refresh } = await start({ users });
  const others = await bearer('other');
  control.faults.add({ advertId: '1001', kind: 'status', status: 501 });
  control.faults.add({ user: 'other', kind: 'status', status: 502 });
  control.faults.add({ endpoint: 'feed', hasCursor: true, kind: 'status', status: 503 });

  const answers = [
    await get(advert),
    await get('/api/partner/adverts/1002'),
    await get('/api/partner/adverts/1021', others),
    await refresh('sandbox-refresh-token-other'),
    await feed({ since: longAgo }),
    await feed({ since: longAgo, cursor: 'any' }),
  ];

  expect(answers.map(({ status }) => status)).toEqual([501, 200, 502, 502, 200, 503]);
});

it.each([
  ['lost-answer', 'processed', null],
  ['reset', 'not processed', null],
  ['cut-off', 'processed', 200],
] as const)('%s: the request is %s', async (kind, isProcessed, status) => {
  const { control, refresh } = await start();
  control.clock.advance(24 * hourMs);
  control.faults.add({ endpoint: 'token', kind, count: 1 });

  await expect(refresh()).rejects.toThrow();

  // An access token and a refresh token, beside the first refresh token.
  expect(control.issuedTokens()).toHaveLength(isProcessed === 'processed' ? 3 : 1);
  expect(control.journal.list()).toMatchObject([{ fault: kind, status }]);
});

it.each([
  [429, '1800', /Too many/],
  [403, null, /^<html>/],
] as const)('a request over the rate limit is answered with %i', async (status, retryAfter, text) => {
  const rateLimit = { requests: 0, perMs: 1000, blockMs: 1_800_000, status };
  const { get } = await start({ assumptions: { rateLimit } });

  const answer = await get(advert, {});

  expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, retryAfter]);
  expect(answer.text).toMatch(text);
});
