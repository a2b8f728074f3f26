import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../sandbox/state/random.ts';
import { createRateLimiter } from '../../../sandbox/state/world.ts';
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

  it('is played until it is removed', async () => {
    const { faults, statuses } = await startAsking();
    const id = faults.add({ endpoint: 'advert', kind: 'status', status: 503 });

    expect([await statuses(1), faults.remove(id), await statuses(1)]).toEqual([[503], true, [200]]);
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

  it('is played at random, but the same for the same seed', async () => {
    const run = async () => {
      const { sandbox, get } = await start({ random: seededRandom(3) });
      sandbox.control.faults.add({ kind: 'status', status: 500, probability: 0.5 });
      const statuses: number[] = [];
      for (let call = 0; call < 20; call += 1) statuses.push((await get(advert, {})).status);
      return statuses;
    };
    const statuses = await run();

    expect(new Set(statuses)).toEqual(new Set([401, 500]));
    expect(await run()).toEqual(statuses);
  });

  it.each(['reset', 'lost-answer', 'cut-off'] as const)('can break the connection: %s', async (kind) => {
    const { faults, get, headers } = await startAsking();
    faults.add({ endpoint: 'advert', kind, count: 1 });

    await expect(get(advert, headers)).rejects.toThrow();
    expect((await get(advert, headers)).status).toBe(200);
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

  it('hangs until the client gives up, and does not keep the sandbox from closing', async () => {
    const { sandbox, bearer } = await start();
    const headers = await bearer();
    sandbox.control.faults.add({ endpoint: 'threads', kind: 'hang' });
    const given = new AbortController();
    const request = fetch(`${sandbox.url}/api/partner/threads`, { headers, signal: given.signal });
    const hanging = fetch(`${sandbox.url}/api/partner/threads`, { headers });
    const results = Promise.allSettled([request, hanging]);
    await expect.poll(() => sandbox.control.journal.nextIndex, { interval: 1 }).toBe(3);

    given.abort();
    await sandbox.close();

    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('delays one answer and no other', async () => {
    const { faults, get, headers } = await startAsking();
    faults.add({ endpoint: 'advert', kind: 'delay', delayMs: 40 });
    const order: string[] = [];

    await Promise.all([
      get(advert, headers).then(() => order.push('late')),
      get('/api/partner/threads', headers).then(() => order.push('prompt')),
    ]);

    expect(order).toEqual(['prompt', 'late']);
  });

  it('that cannot be sent answers 500 and is reported', async () => {
    const reported: unknown[] = [];
    const { sandbox, get } = await start({ onFault: (error) => reported.push(error) });
    sandbox.control.faults.add({ kind: 'status', status: 200, headers: { 'x-broken': 'line\nbreak' } });

    expect((await get(advert, {})).status).toBe(500);
    expect(reported).toHaveLength(1);
  });

  it.each([
    [{ kind: 'explode' }, /kind/],
    [{ kind: 'status' }, /status/],
    [{ kind: 'delay' }, /delayMs/],
    [{ kind: 'hang', endpoint: 'moon' }, /endpoint/],
    [{ kind: 'hang', cuont: 3 }, /cuont/],
  ])('is rejected when it is impossible: %j', async (fault, reason) => {
    const { sandbox } = await start();

    expect(() => sandbox.control.faults.add(fault as never)).toThrow(reason);
  });
});

it('delays every answer by the latency', async () => {
  const { sandbox, get, headers } = await startAsking();
  sandbox.control.change({ latencyMs: 30 });
  const startedMs = performance.now();

  await get(advert, headers);

  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(29);
});

describe('a rate limit', () => {
  it.each([
    [
      'blocks for a while once exceeded',
      5000,
      [0, 500, 600, 3000, 5599, 5600],
      [undefined, undefined, 5000, 2600, 1, undefined],
    ],
    [
      'counts over a sliding window',
      5000,
      [0, 900, 1000, 1899, 1900],
      [undefined, undefined, undefined, 5000, 4999],
    ],
    ['counts anew after a block', 100, [0, 500, 600, 701], [undefined, undefined, 100, undefined]],
  ])('%s', (_, blockMs, times, expected) => {
    let nowMs = 0;
    const limiter = createRateLimiter({ now: () => nowMs });

    const waits = times.map((atMs) => {
      nowMs = atMs;
      return limiter.waitMs({ requests: 2, perMs: 1000, blockMs, status: 429 });
    });

    expect(waits).toEqual([...expected]);
  });

  it.each([
    [429, '1800', /Too many/],
    [403, null, /^<html>/],
  ] as const)('answers %i', async (status, retryAfter, text) => {
    const rateLimit = { requests: 0, perMs: 1000, blockMs: 1_800_000, status };
    const { get } = await start({ assumptions: { rateLimit } });

    const answer = await get(advert, {});

    expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, retryAfter]);
    expect(answer.text).toMatch(text);
  });
});
