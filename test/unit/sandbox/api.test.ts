import { describe, expect, it } from 'vitest';
import { longAgo, noonMs, start } from './start.ts';

const paths = [
  `/api/partner/status/adverts?since=${longAgo}`,
  '/api/partner/adverts/1001',
  '/api/partner/adverts',
  '/api/partner/threads',
];

describe.each(paths)('GET %s', (path) => {
  const version = '2.0';

  it.each([
    ['without a token', { version }, undefined, 401, { error: 'invalid_token' }],
    [
      'with an unknown token',
      { version, authorization: 'Bearer x' },
      undefined,
      401,
      { error: 'invalid_token' },
    ],
    [
      'with another scheme',
      { version, authorization: 'Basic x' },
      undefined,
      401,
      { error: 'invalid_token' },
    ],
    ['without Version', {}, 'v2 read', 400, { code: 'validation_error' }],
    ['with another Version', { version: '3.0' }, 'v2 read', 400, { code: 'validation_error' }],
    ['without the scope to read', { version }, 'v2 write', 403, { error: 'insufficient_scope' }],
  ])('GET is rejected %s', async (_, headers, scope, status, error) => {
    const { get, bearer } = await start();
    const authorization = scope && (await bearer('main', scope)).authorization;

    const answer = await get(path, { ...headers, ...(authorization && { authorization }) });

    expect(answer).toMatchObject({ status, body: error });
  });

  it("answers with JSON and a Date of the service's clock", async () => {
    const { control, get } = await start();
    control.clock.set(noonMs + 5000);

    const { headers } = await get(path);

    expect(headers.get('date')).toBe('Fri, 20 Nov 2026 12:00:05 GMT');
    expect(headers.get('content-type')).toBe('application/json');
  });
});

it('an advert has its present status', async () => {
  const { control, get } = await start();
  control.setStatus('1005', 'active');

  const data = { id: 1005, status: 'active', title: 'Advert 1005', price: expect.any(Number) };
  expect(await get('/api/partner/adverts/1005')).toMatchObject({ status: 200, body: { data } });
});

it('404 answers for an advert removed, unknown, malformed or of another', async () => {
  const { control, get, bearer } = await start({ users: [{ name: 'main' }, { name: 'other' }] });
  control.remove('1002');

  for (const id of ['1', '0', 'abc', '1005.0', '%31005', '..', '1002', '1021'])
    expect((await get(`/api/partner/adverts/${id}`)).status, id).toBe(404);
  expect(await get('/api/partner/adverts/1001', await bearer('other'))).toMatchObject({
    body: { error: { status: 404, title: 'not_found' } },
  });
});

it('an advert can be posted with the scope to write, and the feed lists it', async () => {
  const { post, bearer, feed } = await start();
  const fields = { title: 'Bicycle "Pegas"', price: 120 };
  const postWith = async (scope: string) => post('/api/partner/adverts', fields, await bearer('main', scope));

  expect((await postWith('v2 read')).status).toBe(403);
  expect((await postWith('v2 write')).body.data).toEqual({ id: 1021, status: 'new', ...fields });
  expect((await feed({ since: longAgo })).body.data).toEqual(['1021']);
});

it('an advert of a slow replica stays as before for the assumed time', async () => {
  const { control, get } = await start({ assumptions: { advertLagMs: 4_000 } });
  const status = async () => (await get('/api/partner/adverts/1005')).body.data.status;
  const before = await status();
  control.clock.set(noonMs + 1_000);
  control.setStatus('1005', 'sold');
  control.clock.set(noonMs + 4_999);
  expect(await status()).toBe(before);
  control.clock.set(noonMs + 5_000);
  expect(await status()).toBe('sold');
});

const offset = { style: 'offset', positionParameter: 'offset', defaultLimit: 2 } as const;

it.each([
  ['?page=1&limit=3', {}, [1001, 1003, 1004]],
  ['?page=2&limit=3', {}, [1005]],
  ['?page=3&limit=3', {}, []],
  ['?offset=2', { listPaging: offset }, [1004, 1005]],
] as const)('the list with %s and the paging %j has the adverts %j', async (query, assumptions, expected) => {
  const { control, get } = await start({ adverts: 5, assumptions });
  control.remove('1002');

  const { body } = await get(`/api/partner/adverts${query}`);

  expect(body.data.map(({ id }: { id: number }) => id)).toEqual(expected);
});

it('the list has 100 adverts a page, and names a bad parameter', async () => {
  const { get } = await start({ adverts: 150 });

  expect((await get('/api/partner/adverts')).body.data).toHaveLength(100);
  expect((await get('/api/partner/adverts?page=0')).body.message).toContain('page');
});

it('the sandbox has no threads', async () => {
  expect((await (await start()).get('/api/partner/threads')).body).toEqual({ data: [] });
});

it.each([
  ['mixed', 'application/json', /"title":"not_found"|"code"/],
  ['problem', 'application/problem+json', /^\{"type":"about:blank","title":"\w+","status":404,"detail":"/],
  ['errors', 'application/json', /^\{"errors":\[\{"code":"\w+","message":"/],
  ['spring', 'application/json', /"status":404,"error":".+","path":"\/api\/partner\/adverts\/7"\}$/],
  ['message', 'application/json', /^\{"message":"[^"]+"\}$/],
  ['empty', 'application/json', /^$/],
] as const)('answers an unknown advert with an error of shape %s', async (errorShape, type, text) => {
  const { get, refresh } = await start({ assumptions: { errorShape } });

  const answer = await get('/api/partner/adverts/7');

  expect([answer.status, answer.headers.get('content-type')]).toEqual([404, type]);
  expect(answer.text).toMatch(text);
  expect((await refresh('unknown')).body).toMatchObject({ error: 'invalid_grant' });
});
