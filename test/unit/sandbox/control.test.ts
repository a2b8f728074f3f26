import { request } from 'node:http';
import { expect, it } from 'vitest';
import { longAgo, noonMs, start } from './start.ts';

async function startControl() {
  const started = await start({ adverts: 1 });
  const post = (body: unknown) => started.post('/_sandbox/', body);
  const call = async (method: string, ...args: unknown[]) =>
    JSON.parse((await post({ method, args })).text) as never;
  return { ...started, post, call };
}

it("the control's address calls its methods and those of its parts", async () => {
  const { call, control, feed, get } = await startControl();

  expect(await call('createAdverts', 2, { status: 'active' })).toEqual(['1002', '1003']);
  expect(await call('setStatus', '1001', 'limited')).toEqual({ done: true });
  expect(await call('changeCount')).toBe(3);
  expect(await call('clock.advance', 5)).toEqual({ done: true });
  expect(await call('clock.now')).toBe(control.clock.now());
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

it('the control has one address', async () => {
  const { get } = await start();

  expect((await get('/_sandbox/adverts', {})).status).toBe(404);
});

it('records each request, its user and its answer', async () => {
  const { control, feed, get } = await start();
  await feed({ since: longAgo });
  await get('/nowhere', {});

  const of = {
    method: 'GET',
    path: '/api/partner/status/adverts',
    query: 'since=2026-01-01T00%3A00%3A00Z',
  };
  expect(control.journal.list()).toMatchObject([
    { index: 0, endpoint: 'token', grantType: 'refresh_token', user: 'main', status: 200 },
    { index: 1, atMs: noonMs, ...of, endpoint: 'feed', user: 'main', status: 200 },
    { index: 2, endpoint: null, user: null, status: 404 },
  ]);
});

it('the journal never contains a token, code or secret', async () => {
  const { sandbox, control, get, refresh, token } = await start();
  const code = control.issueCode();
  const { access_token, refresh_token } = (await refresh()).body;
  await token({ grant_type: 'authorization_code', code });
  await get(`/api/partner/adverts/1001?access_token=${access_token}&code=${code}&page=1`, {});

  const text = JSON.stringify(control.journal.list());

  for (const secret of [access_token, refresh_token, code, sandbox.application.clientSecret])
    expect(text).not.toContain(secret);
  expect(text).toContain('access_token=hidden&code=hidden&page=1');
});
