import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { longAgo, start } from './start.ts';

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
    [{ method: 'issuedTokens' }, 'no method issuedTokens'],
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
