import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { longAgo, start } from './start.ts';

async function startControl(options = {}) {
  const started = await start(options);
  const post = (body: unknown, headers = {}) => started.post('/_sandbox/', body, headers);
  const call = async (method: string, ...args: unknown[]) =>
    JSON.parse((await post({ method, args })).text) as never;
  return { ...started, post, call };
}

/** A GET of the index with any headers: fetch sets Host itself. */
function statusWith(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(`${url}/_sandbox/`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .once('error', reject)
      .end();
  });
}

describe('the control over HTTP', () => {
  it('lists calls that all exist', async () => {
    const { get, sandbox } = await startControl();
    const { body } = await get<{ calls: string[] }>('/_sandbox/', {});

    const memberOf = (name: string) =>
      name.split('.').reduce((owner: unknown, part) => Reflect.get(owner as object, part), sandbox.control);

    expect(body.calls.filter((name) => memberOf(name) === undefined)).toEqual([]);
    expect(body.calls.length).toBeGreaterThan(25);
  });

  it('does what the methods do in process', async () => {
    const { call, sandbox } = await startControl({ adverts: 1 });

    expect(await call('createAdverts', 2, { status: 'active' })).toEqual(['1002', '1003']);
    expect(await call('setStatus', '1001', 'limited')).toBeNull();
    expect(await call('changeCount')).toBe(3);
    expect(await call('clock.advance', 5)).toBeNull();
    expect(await call('clock.now')).toBe(sandbox.control.clock.now());
    expect(await call('advert', '1001')).toMatchObject({ id: '1001', user: 'main', status: 'limited' });
  });

  it('reads the journal from an index, without control requests', async () => {
    const { call, feed } = await startControl();
    await feed({ since: longAgo });

    expect(await call('journal.list', 1)).toMatchObject([{ index: 1, endpoint: 'feed' }]);
    expect(await call('journal.nextIndex')).toBe(2);
  });

  it('injects, lists and removes faults', async () => {
    const { call, get } = await startControl();
    const id = await call('faults.add', { endpoint: 'advert', kind: 'status', status: 429, nth: 1 });
    const { status } = await get('/api/partner/adverts/1001', {});

    expect(status).toBe(429);
    expect(await call('faults.list')).toMatchObject([{ id, struck: 1 }]);
    expect(await call('faults.remove', id)).toBe(true);
  });

  it.each([
    [{ method: 'setStatus', args: ['1', 'active'] }, 'no advert 1'],
    [{ method: 'createAdverts', args: [1, { user: 'nobody' }] }, 'nobody'],
    [{ method: 'users', args: 'main' }, 'args'],
    [{ method: 'setConsent', args: [{ mode: 'perhaps' }] }, 'mode'],
    [{ method: 'change', args: [{ latencyMs: -5 }] }, 'latencyMs'],
    [{ method: 'users', arg: [] }, 'arg'],
    [{ method: 'constructor' }, 'no method constructor'],
    [{ method: 'clock.constructor' }, 'no method'],
    ['[1]', 'no method'],
  ])('refuses %j and says why', async (body, reason) => {
    const { post, sandbox } = await startControl();

    const answer = await post(body);

    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain(reason);
    expect(sandbox.control.changeCount()).toBe(0);
  });

  it.each([
    [{ host: 'attacker.example' }, 403],
    [{ host: '127.0.0.1:1' }, 403],
    [{ origin: 'http://attacker.example' }, 403],
    [{}, 200],
  ])('answers a request with %j by %i', async (headers, status) => {
    const { sandbox } = await startControl();

    expect(await statusWith(sandbox.url, headers)).toBe(status);
  });

  it('points to its one address from any other', async () => {
    const { get } = await startControl();

    const { status, body } = await get('/_sandbox/adverts', {});

    expect(status).toBe(404);
    expect(body.error).toContain('/_sandbox/');
  });
});
