import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../sandbox/state/random.ts';
import { createRateLimiter } from '../../../sandbox/state/world.ts';
import { longAgo, start } from './start.ts';

const advert = '/api/partner/adverts/1001';

describe('a fault', () => {
  it('answers with any status, body and headers', async () => {
    const { sandbox, get } = await start();
    const headers = { 'Retry-After': '2' };
    sandbox.control.faults.add({ kind: 'status', status: 429, headers, body: { message: 'slow down' } });

    const answer = await get(advert, {});

    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(answer.body).toEqual({ message: 'slow down' });
  });

  it('strikes from the nth matching request on, so many times', async () => {
    const { sandbox, get, bearer } = await start();
    const headers = await bearer();
    sandbox.control.faults.add({ endpoint: 'advert', kind: 'status', status: 500, nth: 2, count: 2 });

    const statuses: number[] = [];
    for (let call = 0; call < 5; call += 1) {
      await get('/api/partner/threads', headers);
      statuses.push((await get(advert, headers)).status);
    }

    expect(statuses).toEqual([200, 500, 500, 200, 200]);
  });

  it('strikes once with nth alone, and until removed without', async () => {
    const { sandbox, get, bearer } = await start();
    const headers = await bearer();
    sandbox.control.faults.add({ kind: 'status', status: 500, nth: 1 });
    const once = [(await get(advert, headers)).status, (await get(advert, headers)).status];
    const id = sandbox.control.faults.add({ kind: 'status', status: 503 });
    const standing = [(await get(advert, headers)).status, (await get(advert, headers)).status];

    const removed = sandbox.control.faults.remove(id);

    expect(once).toEqual([500, 200]);
    expect(standing).toEqual([503, 503]);
    expect(removed).toBe(true);
    expect((await get(advert, headers)).status).toBe(200);
  });

  it('keeps to one advert, one user, or feed requests with a cursor', async () => {
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

  it('strikes by chance, the same requests for the same seed', async () => {
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

  it.each([
    [{ kind: 'html' }, 200, /^<html>/],
    [{ kind: 'html', status: 502 }, 502, /^<html>/],
    [{ kind: 'invalid-json' }, 200, /^\{"data":\[$/],
    [{ kind: 'wrong-shape' }, 200, /unexpected/],
    [{ kind: 'wrong-shape', body: { data: { id: 1001, status: null } } }, 200, /"status":null/],
    [{ kind: 'status', status: 403 }, 403, /^$/],
  ] as const)('answers %j', async (fault, status, text) => {
    const { sandbox, get } = await start();
    sandbox.control.faults.add({ endpoint: 'advert', ...fault });

    const answer = await get(advert);

    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(text);
  });

  it.each(['reset', 'lost-answer', 'cut-off'] as const)('breaks the connection off: %s', async (kind) => {
    const { sandbox, get, bearer } = await start();
    const headers = await bearer();
    sandbox.control.faults.add({ endpoint: 'advert', kind, count: 1 });

    await expect(get(advert, headers)).rejects.toThrow();
    expect((await get(advert, headers)).status).toBe(200);
  });

  it('loses the answer to a refresh that was carried out', async () => {
    const { sandbox, refresh } = await start();
    sandbox.control.clock.advance(24 * 3_600_000);
    sandbox.control.faults.add({ endpoint: 'token', kind: 'lost-answer', count: 1 });
    await expect(refresh()).rejects.toThrow();

    const { body } = await refresh();

    expect(body.refresh_token).not.toBe('sandbox-refresh-token-main');
    expect(sandbox.control.journal.list().map(({ fault, status }) => [fault, status])).toEqual([
      ['lost-answer', null],
      [null, 200],
    ]);
  });

  it('hangs until the client gives up, and does not hold the sandbox open', async () => {
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

  it('delays one answer without delaying the others', async () => {
    const { sandbox, get, bearer } = await start();
    const headers = await bearer();
    sandbox.control.faults.add({ endpoint: 'advert', kind: 'delay', delayMs: 40 });
    const order: string[] = [];

    await Promise.all([
      get(advert, headers).then(() => order.push('late')),
      get('/api/partner/threads', headers).then(() => order.push('prompt')),
    ]);

    expect(order).toEqual(['prompt', 'late']);
  });

  it('that cannot be sent answers 500 and tells of it', async () => {
    const told: unknown[] = [];
    const { sandbox, get } = await start({ onFault: (error) => told.push(error) });
    sandbox.control.faults.add({ kind: 'status', status: 200, headers: { 'x-broken': 'line\nbreak' } });

    expect((await get(advert, {})).status).toBe(500);
    expect(told).toHaveLength(1);
  });
});

describe('a fault that cannot be', () => {
  it.each([
    [{ kind: 'explode' }, /kind/],
    [{ kind: 'status' }, /status/],
    [{ kind: 'delay' }, /delayMs/],
    [{ kind: 'hang', endpoint: 'moon' }, /endpoint/],
    [{ kind: 'hang', cuont: 3 }, /cuont/],
  ])('is refused: %j', async (fault, reason) => {
    const { sandbox } = await start();

    expect(() => sandbox.control.faults.add(fault as never)).toThrow(reason);
  });
});

describe('latency', () => {
  it('holds every answer back', async () => {
    const { sandbox, get, bearer } = await start();
    const headers = await bearer();
    sandbox.control.change({ latencyMs: 30 });
    const startedMs = performance.now();

    await get(advert, headers);

    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(29);
  });
});

describe('a rate limit', () => {
  const limit = { requests: 2, perMs: 1000, blockMs: 5000, status: 429 } as const;

  it('refuses what is over it and all that follows until the block ends', () => {
    let nowMs = 0;
    const limiter = createRateLimiter({ now: () => nowMs });
    const at = (ms: number) => {
      nowMs = ms;
      return limiter.waitMs(limit);
    };

    expect([0, 500, 600, 3000, 5599, 5600].map(at)).toEqual([undefined, undefined, 5000, 2600, 1, undefined]);
  });

  it('counts over a window that slides', () => {
    let nowMs = 0;
    const limiter = createRateLimiter({ now: () => nowMs });
    const at = (ms: number) => {
      nowMs = ms;
      return limiter.waitMs(limit);
    };

    expect([0, 900, 1000, 1899, 1900].map(at)).toEqual([undefined, undefined, undefined, 5000, 4999]);
  });

  it('answers with Retry-After, or with a 403 without a code', async () => {
    const rateLimit = { requests: 0, perMs: 1000, blockMs: 1_800_000, status: 429 } as const;
    const { sandbox, get } = await start({ assumptions: { rateLimit } });

    const rateLimited = await get(advert, {});
    sandbox.control.change({ assumptions: { rateLimit: { ...rateLimit, status: 403 } } });
    const blocked = await get(advert, {});

    expect(rateLimited.status).toBe(429);
    expect(rateLimited.headers.get('retry-after')).toBe('1800');
    expect(blocked.status).toBe(403);
    expect(blocked.text).toContain('<html>');
  });
});
