import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../../sandbox/server.ts';
import { createSandboxClock } from '../../../sandbox/state/clock.ts';
import { seededRandom } from '../../../sandbox/state/random.ts';
import { changeSettings } from '../../../sandbox/state/settings.ts';
import { longAgo, noonMs, start } from './start.ts';

describe('the truth', () => {
  it('is every advert with its whole history', async () => {
    const { sandbox } = await start({ adverts: 2 });
    const [first] = sandbox.control.truth();
    sandbox.control.clock.advance(1000);
    sandbox.control.setStatus('1001', 'active');
    sandbox.control.clock.advance(1000);
    sandbox.control.remove('1001');

    const [advert] = sandbox.control.truth('main');

    expect(advert).toEqual({
      id: '1001',
      user: 'main',
      status: null,
      history: [
        { status: first?.status, atMs: noonMs },
        { status: 'active', atMs: noonMs + 1000 },
        { status: null, atMs: noonMs + 2000 },
      ],
    });
    expect(sandbox.control.users()).toEqual([{ name: 'main', adverts: 1, changes: 2 }]);
  });

  it('counts adverts that were there at the start as no changes, and created ones as changes', async () => {
    const { sandbox } = await start();

    const ids = sandbox.control.createAdverts(3, { status: 'active' });

    expect(ids).toEqual(['1021', '1022', '1023']);
    expect(sandbox.control.changeCount()).toBe(3);
  });
});

describe('random changes', () => {
  it('never set the status an advert has, and repeat for the same seed', async () => {
    const { sandbox } = await start({ adverts: 3 });
    const other = await start({ adverts: 3 });
    const ids = sandbox.control.changeRandomly(200, { random: seededRandom(1) });

    const repeated = other.sandbox.control.changeRandomly(200, { random: seededRandom(1) });

    expect(repeated).toEqual(ids);
    for (const { history } of sandbox.control.truth()) {
      for (const [index, { status }] of history.entries())
        expect(status).not.toBe(history[index - 1]?.status);
    }
  });

  it('pass removed adverts by, and need one that is not', async () => {
    const { sandbox } = await start({ adverts: 2 });
    sandbox.control.remove('1001');
    const ids = sandbox.control.changeRandomly(10);
    sandbox.control.remove('1002');

    expect(new Set(ids)).toEqual(new Set(['1002']));
    expect(() => sandbox.control.changeRandomly(1)).toThrow(RangeError);
  });
});

describe('the control object', () => {
  it('refuses what does not exist or cannot be', async () => {
    const { sandbox } = await start();
    const { control } = sandbox;

    for (const attempt of [
      () => control.setStatus('1', 'active'),
      () => control.restore('1001'),
      () => control.createAdverts(1, { user: 'nobody' }),
      () => control.addUser('main'),
      () => control.issueRefreshToken('main', 'v2 admin'),
      () => control.issueCode({ redirectUri: 'https://evil.example/' }),
      () => control.change({ latencyMs: -1 }),
      () => control.change({ latency: 5 } as never),
      () => control.clock.set(Number.NaN),
    ]) {
      expect(attempt).toThrow(RangeError);
    }
  });

  it('adds users while it runs', async () => {
    const { sandbox, refresh } = await start();
    sandbox.control.addUser('other', { adverts: 2 });

    expect((await refresh('sandbox-refresh-token-other')).status).toBe(200);
    expect(sandbox.control.truth('other').map(({ id }) => id)).toEqual(['1021', '1022']);
  });
});

describe('the clock', () => {
  it('runs with its base, and jumps', () => {
    let baseMs = 1000;
    const clock = createSandboxClock({ now: () => baseMs });
    const times = [clock.now()];
    clock.advance(500);
    baseMs += 10;
    times.push(clock.now());
    clock.set(7);
    baseMs += 1;
    times.push(clock.now());

    expect(times).toEqual([1000, 1510, 8]);
  });
});

describe('settings', () => {
  it('change one by one, and objects among the assumptions field by field', () => {
    const before = changeSettings({}, { latencyMs: 5 });

    const after = changeSettings(before, { assumptions: { errorShapes: { token: 'typed' } } });

    const errorShapes = { ...before.assumptions.errorShapes, token: 'typed' };
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
  ])('refuses %j and names it', (patch, name) => {
    expect(() => changeSettings({}, patch as never)).toThrow(name);
  });
});

describe('a sandbox', () => {
  it('starts with the documented defaults', async () => {
    const sandbox = await startSandbox();
    const { application, users, control } = sandbox;
    await sandbox.close();
    await sandbox.close();

    expect(application.clientId).toBe('sandbox-client');
    expect(application.clientSecret).toBe('sandbox-client-secret');
    expect(users).toEqual([{ name: 'main', refreshToken: 'sandbox-refresh-token-main' }]);
    expect(control.truth()).toHaveLength(20);
    expect(control.settings()).toMatchObject({ visibilityDelayMs: 3000, latencyMs: 0 });
  });

  it('says when its port is taken', async () => {
    const { sandbox } = await start();

    await expect(startSandbox({ port: sandbox.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('pages through a hundred thousand changes without slowing down', async () => {
    const { sandbox, get, bearer } = await start({ adverts: 1000 });
    const headers = await bearer();
    sandbox.control.changeRandomly(100_000);

    let listed = 0;
    let cursor: string | undefined;
    const startedMs = performance.now();
    for (let hasMore = true; hasMore; ) {
      const query = new URLSearchParams({ since: longAgo, limit: '1000', ...(cursor && { cursor }) });
      const { body } = await get<{ data: string[]; hasMore: boolean; nextCursor: string }>(
        `/api/partner/status/adverts?${query}`,
        headers,
      );
      listed += body.data.length;
      ({ hasMore, nextCursor: cursor } = body);
    }

    expect(listed).toBe(100_000);
    expect(performance.now() - startedMs).toBeLessThan(5000);
  });
});
