import { describe, expect, it } from 'vitest';
import { controlRoutes } from '../../../sandbox/control/control-listener.ts';
import { type Answered, longAgo, start } from './start.ts';

async function startControl(options = {}) {
  const started = await start(options);
  const { sandbox, get, post } = started;
  const remove = async (path: string): Promise<Answered> => {
    const response = await fetch(`${sandbox.url}/_sandbox${path}`, { method: 'DELETE' });
    return {
      status: response.status,
      headers: response.headers,
      text: '',
      body: (await response.json()) as never,
    };
  };
  return {
    ...started,
    read: (path: string) => get(`/_sandbox${path}`, {}),
    tell: (path: string, body: unknown = '') => post(`/_sandbox${path}`, body),
    remove,
  };
}

describe('the control over HTTP', () => {
  it('lists its endpoints', async () => {
    const { read } = await startControl();

    const { body } = await read('/');

    expect(body.endpoints).toHaveLength(controlRoutes.length);
  });

  it('changes adverts and tells the truth', async () => {
    const { read, tell, remove } = await startControl({ adverts: 1 });

    expect((await tell('/adverts', { count: 2, status: 'active' })).body).toEqual({ ids: ['1002', '1003'] });
    expect((await tell('/adverts/1001/status', { status: 'limited' })).body).toMatchObject({
      status: 'limited',
    });
    expect((await remove('/adverts/1001')).body).toMatchObject({ status: null });
    expect((await tell('/adverts/1001/restore')).body).toMatchObject({ status: 'limited' });
    expect((await tell('/random-changes', { count: 5 })).body.ids).toHaveLength(5);
    expect((await tell('/feed-entries', { id: 'x' })).body).toEqual({ changes: 11 });
    expect((await read('/truth?user=main')).body).toMatchObject({ changes: 11, users: [{ adverts: 3 }] });
    expect((await read('/adverts/1002')).body).toMatchObject({ id: '1002', user: 'main' });
    expect((await tell('/users', { name: 'b', adverts: 1 })).body.refreshToken).toBe(
      'sandbox-refresh-token-b',
    );
    expect((await read('/users')).body.users).toHaveLength(2);
  });

  it('moves the clock', async () => {
    const { read, tell } = await startControl();

    const set = await tell('/clock', { set: '2027-01-01T00:00:00Z', frozen: true });
    await tell('/clock', { advanceMs: 1500 });

    expect(set.body.frozen).toBe(true);
    expect((await read('/clock')).body.now).toBe('2027-01-01T00:00:01.500Z');
    expect((await tell('/clock', { frozen: false })).body.frozen).toBe(false);
    expect((await tell('/clock', { set: 'noon' })).status).toBe(400);
  });

  it('reads the journal from an index, leaving control requests out', async () => {
    const { read, remove, feed } = await startControl();
    await feed({ since: longAgo });

    const { body } = await read('/journal?since=1&limit=5');
    const cleared = await remove('/journal');

    expect(body).toMatchObject({ nextIndex: 2, entries: [{ index: 1, endpoint: 'feed' }] });
    expect(cleared.body).toEqual({ nextIndex: 2 });
    expect((await read('/journal')).body.entries).toEqual([]);
  });

  it('injects, lists and removes faults', async () => {
    const { read, tell, remove, get } = await startControl();
    const { body } = await tell('/faults', { endpoint: 'advert', kind: 'status', status: 429, count: 1 });
    const struck = await get('/api/partner/adverts/1001', {});

    expect(struck.status).toBe(429);
    expect((await read('/faults')).body.faults).toMatchObject([{ id: body.id, struck: 1 }]);
    expect((await remove(`/faults/${body.id}`)).body).toEqual({ removed: true });
    await tell('/faults', { kind: 'hang' });
    expect((await remove('/faults')).body).toEqual({ faults: [] });
  });

  it('changes settings and assumptions', async () => {
    const { tell, get } = await startControl();
    const { body } = await tell('/settings', {
      visibilityDelayMs: 5,
      retentionSeconds: 60,
      assumptions: { removedAdvertStatus: 410 },
    });

    expect(body).toMatchObject({ visibilityDelayMs: 5, retentionSeconds: 60 });
    expect((await tell('/settings', { assumptions: { nonsense: 1 } })).status).toBe(400);
    expect((await get('/_sandbox/settings', {})).body).toMatchObject({
      assumptions: { removedAdvertStatus: 410 },
    });
  });

  it('handles tokens, codes, cursors and consent', async () => {
    const { tell, refresh, token, feed } = await startControl();
    const { nextCursor } = (await feed({ since: longAgo })).body;

    await tell('/cursors/invalidate');
    expect((await feed({ since: longAgo, cursor: nextCursor })).status).toBe(400);
    expect((await tell('/tokens/expire', { user: 'main' })).body.expired).toBeGreaterThan(0);
    const { refreshToken } = (await tell('/tokens/issue', { user: 'main', scope: 'v2 read' })).body;
    expect((await refresh(String(refreshToken))).body.scope).toBe('v2 read');
    const { code } = (await tell('/codes', { user: 'main' })).body;
    expect((await token({ grant_type: 'authorization_code', code })).status).toBe(200);
    expect((await tell('/tokens/revoke', { user: 'main' })).body.revoked).toBeGreaterThan(0);
    expect((await refresh()).body.error).toBe('invalid_grant');
    expect((await tell('/consent', { mode: 'allow', user: 'main' })).status).toBe(200);
  });

  it.each([
    ['/adverts/1/status', { status: 'active' }, 'no advert 1'],
    ['/adverts/1001/status', {}, 'status is required'],
    ['/adverts', { cout: 3 }, 'cout'],
    ['/adverts', { count: -1 }, 'count'],
    ['/adverts', { count: 1, user: 'nobody' }, 'nobody'],
    ['/clock', { advanceMs: '1000' }, 'advanceMs'],
    ['/faults', { kind: 'explode' }, 'kind'],
    ['/faults', { kind: 'status' }, 'status'],
    ['/faults', { kind: 'hang', endpoint: 'moon' }, 'endpoint'],
    ['/faults', { kind: 'delay' }, 'delayMs'],
    ['/settings', { latencyMs: -5 }, 'latencyMs'],
    ['/settings', { retentionSeconds: 'long' }, 'retentionSeconds'],
    ['/consent', { mode: 'perhaps' }, 'mode'],
    ['/settings', { assumptions: { badLimit: 'perhaps' } }, 'badLimit'],
    ['/settings', { assumptions: { errorShapes: { tokn: 'oauth' } } }, 'tokn'],
    ['/settings', { assumptions: 5 }, 'assumptions'],
    ['/adverts', '[1]', 'JSON object'],
  ])('refuses %s %j and says why', async (path, body, reason) => {
    const { tell, sandbox } = await startControl();

    const answer = await tell(path, body);

    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain(reason);
    expect(sandbox.control.changeCount()).toBe(0);
  });

  it.each(['/journal?since=now', '/journal?limit=-1'])('refuses %s', async (path) => {
    const { read } = await startControl();

    expect((await read(path)).status).toBe(400);
  });

  it('points to its index from an unknown path', async () => {
    const { read } = await startControl();

    const { status, body } = await read('/nothing');

    expect(status).toBe(404);
    expect(body.error).toContain('/_sandbox/');
  });
});
