import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../../sandbox/server.ts';
import { createSandboxClock } from '../../../sandbox/state/clock.ts';
import { seededRandom } from '../../../sandbox/state/random.ts';
import { changeSettings } from '../../../sandbox/state/settings.ts';
import { type FeedPage, longAgo, noonMs, start } from './start.ts';

describe('the control in process', () => {
  it('returns every advert with its whole history', async () => {
    const { control } = (await start({ adverts: 2 })).sandbox;
    const [first] = control.truth();
    control.clock.advance(1000);
    control.setStatus('1001', 'active');
    control.clock.advance(1000);
    control.remove('1001');

    const [advert] = control.truth('main');

    expect(advert).toMatchObject({ id: '1001', user: 'main', status: null });
    expect(advert?.history).toEqual([
      { status: first?.status, atMs: noonMs },
      { status: 'active', atMs: noonMs + 1000 },
      { status: null, atMs: noonMs + 2000 },
    ]);
    expect(first?.history).toHaveLength(1);
    expect(control.users()).toEqual([{ name: 'main', adverts: 1, changes: 2 }]);
  });

  it('makes random changes to other statuses, the same for the same seed', async () => {
    const [{ control }, other] = [(await start()).sandbox, (await start()).sandbox];
    control.remove('1001');
    const ids = control.changeRandomly(200, { random: seededRandom(1) });
    other.control.remove('1001');

    expect(other.control.changeRandomly(200, { random: seededRandom(1) })).toEqual(ids);
    expect(ids).not.toContain('1001');
    for (const { history } of control.truth())
      for (const [index, { status }] of history.entries())
        expect(status).not.toBe(history[index - 1]?.status);
  });

  it('throws a RangeError for what does not exist or is impossible', async () => {
    const { control } = (await start({ adverts: 1 })).sandbox;

    for (const attempt of [
      () => control.setStatus('1', 'active'),
      () => control.restore('1001'),
      () => control.truth('nobody'),
      () => control.createAdverts(1, { user: 'nobody' }),
      () => control.addUser('main'),
      () => control.addUser('other', { refreshToken: 'sandbox-refresh-token-main' }),
      () => control.issueRefreshToken('main', 'v2 admin'),
      () => control.issueCode({ redirectUri: 'https://evil.example/' }),
      () => control.clock.set(Number.NaN),
      () => (control.remove('1001') as unknown) ?? control.changeRandomly(1),
    ])
      expect(attempt).toThrow(RangeError);
  });

  it('adds users while the sandbox runs', async () => {
    const { sandbox, refresh } = await start();

    expect(sandbox.control.addUser('other', { adverts: 2 }).refreshToken).toBe('sandbox-refresh-token-other');
    expect((await refresh('sandbox-refresh-token-other')).status).toBe(200);
    expect(sandbox.control.truth('other').map(({ id }) => id)).toEqual(['1021', '1022']);
  });

  it('moves a clock that runs on with its base', () => {
    let baseMs = 1000;
    const clock = createSandboxClock({ now: () => baseMs });
    clock.advance(500);
    baseMs += 10;
    const advanced = clock.now();
    clock.set(7);
    baseMs += 1;

    expect([advanced, clock.now()]).toEqual([1510, 8]);
  });

  it('changes settings one by one, and assumptions field by field', () => {
    const before = changeSettings({}, { latencyMs: 5 });
    const errorShapes = { ...before.assumptions.errorShapes, token: 'typed' };

    const after = changeSettings(before, { assumptions: { errorShapes: { token: 'typed' } } });

    expect(after).toEqual({ ...before, assumptions: { ...before.assumptions, errorShapes } });
  });

  it.each([
    [{ latencyMs: -5 }, /latencyMs/],
    [{ latency: 5 }, /latency/],
    [{ retentionSeconds: 'long' }, /retentionSeconds/],
    [{ assumptions: { badlimit: 'default' } }, /badlimit/],
    [{ assumptions: { badLimit: 'perhaps' } }, /badLimit/],
    [{ assumptions: { errorShapes: { tokn: 'oauth' } } }, /tokn/],
    [{ assumptions: 5 }, /assumptions/],
  ])('rejects the settings %j by name', (patch, name) => {
    expect(() => changeSettings({}, patch as never)).toThrow(name);
  });
});

describe('the control over HTTP', () => {
  async function startControl() {
    const started = await start({ adverts: 1 });
    const post = (body: unknown) => started.post('/_sandbox/', body);
    const call = async (method: string, ...args: unknown[]) =>
      JSON.parse((await post({ method, args })).text) as never;
    return { ...started, post, call };
  }

  it('calls the methods of the control and of its parts', async () => {
    const { call, sandbox, feed, get } = await startControl();

    expect(await call('createAdverts', 2, { status: 'active' })).toEqual(['1002', '1003']);
    expect(await call('setStatus', '1001', 'limited')).toBeNull();
    expect(await call('changeCount')).toBe(3);
    expect(await call('clock.advance', 5)).toBeNull();
    expect(await call('clock.now')).toBe(sandbox.control.clock.now());
    await feed({ since: longAgo });
    expect(await call('journal.list', 1)).toMatchObject([{ index: 1, endpoint: 'feed' }]);
    expect(await call('journal.nextIndex')).toBe(2);
    const id = await call('faults.add', { endpoint: 'advert', kind: 'status', status: 429, nth: 1 });
    expect((await get('/api/partner/adverts/1001', {})).status).toBe(429);
    expect(await call('faults.list')).toMatchObject([{ id, struck: 1 }]);
    expect(await call('faults.remove', id)).toBe(true);
  });

  it.each([
    [{ method: 'setStatus', args: ['1', 'active'] }, 'no advert 1'],
    [{ method: 'users', args: 'main' }, 'args'],
    [{ method: 'setConsent', args: [{ mode: 'perhaps' }] }, 'mode'],
    [{ method: 'change', args: [{ latencyMs: -5 }] }, 'latencyMs'],
    [{ method: 'users', arg: [] }, 'arg'],
    [{ method: 'constructor' }, 'no method constructor'],
    [{ method: 'issuedTokens' }, 'no method issuedTokens'],
    [{ method: 'clock.constructor' }, 'no method'],
    ['[1]', 'no method'],
  ])('rejects %j with the reason', async (body, reason) => {
    const { post } = await startControl();

    const answer = await post(body);

    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain(reason);
  });

  it.each([
    [{ host: 'attacker.example' }, 403],
    [{ host: '127.0.0.1:1' }, 403],
    [{ origin: 'http://attacker.example' }, 403],
    [{}, 200],
  ])('answers a request with %j by %i', async (headers, expected) => {
    const { sandbox } = await start();

    // Not fetch: it sets Host itself.
    const status = await new Promise((resolve, reject) => {
      const answered = request(`${sandbox.url}/_sandbox/`, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      answered.once('error', reject).end();
    });

    expect(status).toBe(expected);
  });

  it('has one address', async () => {
    const { get } = await start();

    expect((await get('/_sandbox/adverts', {})).status).toBe(404);
  });
});

describe('a sandbox', () => {
  it('starts with the documented defaults, and closes twice', async () => {
    const sandbox = await startSandbox();
    const { application, users, control } = sandbox;
    await sandbox.close();
    await sandbox.close();

    expect(application).toMatchObject({
      clientId: 'sandbox-client',
      clientSecret: 'sandbox-client-secret',
      visibilityDelayMs: 3000,
      latencyMs: 0,
    });
    expect(users).toEqual([{ name: 'main', refreshToken: 'sandbox-refresh-token-main' }]);
    expect(control.truth()).toHaveLength(20);
    expect(control.changeCount()).toBe(0);
  });

  it('rejects a port in use', async () => {
    const { sandbox } = await start();

    await expect(startSandbox({ port: sandbox.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('serves a hundred thousand changes within five seconds', async () => {
    const { sandbox, get, bearer } = await start({ adverts: 1000 });
    const headers = await bearer();
    sandbox.control.changeRandomly(100_000);
    const startedMs = performance.now();

    let listed = 0;
    let query = new URLSearchParams({ since: longAgo, limit: '1000' });
    for (let hasMore = true; hasMore; ) {
      const { body } = await get<FeedPage>(`/api/partner/status/adverts?${query}`, headers);
      listed += body.data.length;
      hasMore = body.hasMore;
      query = new URLSearchParams({ since: longAgo, limit: '1000', cursor: body.nextCursor });
    }

    expect(listed).toBe(100_000);
    expect(performance.now() - startedMs).toBeLessThan(5000);
  });
});
