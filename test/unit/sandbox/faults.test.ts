import { describe, expect, it } from 'vitest';
import { dayMs, longAgo, start } from './start.ts';

const advert = '/api/partner/adverts/1001';

/** A sandbox, and the statuses of `count` requests for an advert. */
async function startAsking() {
  const started = await start();
  const headers = await started.bearer();
  const statuses = async (count: number) => {
    const seen: number[] = [];
    for (let call = 0; call < count; call += 1) {
      await started.get('/api/partner/threads', headers);
      seen.push((await started.get(advert, headers)).status);
    }
    return seen;
  };
  return { ...started, headers, statuses, faults: started.sandbox.control.faults };
}

describe('a fault', () => {
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
    const { faults, get, headers } = await startAsking();
    faults.add({ endpoint: 'advert', ...fault });

    const answer = await get(advert, headers);

    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(text);
    expect(answer.headers.get('retry-after')).toBe(status === 429 ? '2' : null);
  });

  it.each([
    [{ nth: 2, count: 2 }, [200, 500, 500, 200]],
    [{ nth: 2 }, [200, 500, 200, 200]],
    [{ count: 1 }, [500, 200, 200, 200]],
    [{}, [500, 500, 500, 500]],
    [{ probability: 0 }, [200, 200, 200, 200]],
  ])('with %j is played for these of four requests: %j', async (when, expected) => {
    const { faults, statuses } = await startAsking();
    faults.add({ endpoint: 'advert', kind: 'status', status: 500, ...when });

    expect(await statuses(4)).toEqual(expected);
  });

  it('applies to one advert, one user, or feed requests with a cursor', async () => {
    const { sandbox, get, feed, bearer, refresh } = await start({
      users: [{ name: 'main' }, { name: 'other' }],
    });
    const [headers, others] = [await bearer('main'), await bearer('other')];
    sandbox.control.faults.add({ advertId: '1001', kind: 'status', status: 501 });
    sandbox.control.faults.add({ user: 'other', kind: 'status', status: 502 });
    sandbox.control.faults.add({ endpoint: 'feed', hasCursor: true, kind: 'status', status: 503 });

    expect((await get('/api/partner/adverts/1001', headers)).status).toBe(501);
    expect((await get('/api/partner/adverts/1002', headers)).status).toBe(200);
    expect((await get('/api/partner/adverts/1021', others)).status).toBe(502);
    expect((await refresh('sandbox-refresh-token-other')).status).toBe(502);
    expect((await feed({ since: longAgo })).status).toBe(200);
    expect((await feed({ since: longAgo, cursor: 'any' })).status).toBe(503);
  });

  it.each([
    ['lost-answer', 'new', null],
    ['reset', 'sandbox-refresh-token-main', null],
    ['cut-off', 'new', 200],
  ] as const)('%s: the refresh token is %s afterwards', async (kind, expected, status) => {
    const { sandbox, refresh } = await start();
    sandbox.control.clock.advance(dayMs);
    sandbox.control.faults.add({ endpoint: 'token', kind, count: 1 });
    await expect(refresh()).rejects.toThrow();
    const current = sandbox.control.issuedTokens().length > 1 ? 'new' : 'sandbox-refresh-token-main';

    expect(current).toBe(expected);
    expect(sandbox.control.journal.list()).toMatchObject([{ fault: kind, status }]);
  });
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
