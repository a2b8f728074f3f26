import { describe, expect, it } from 'vitest';
import { errorAnswer } from '../../../sandbox/state/answer.ts';
import { longAgo, noonMs, start } from './start.ts';

const paths = [
  '/api/partner/status/adverts?since=2026-01-01T00:00:00Z',
  '/api/partner/adverts/1001',
  '/api/partner/adverts',
  '/api/partner/threads',
];

describe.each(paths)('GET %s', (path) => {
  const version = '2.0';

  it.each([
    ['without a token', { version }, 401, { error: 'invalid_token' }],
    ['with an unknown token', { version, authorization: 'Bearer unknown' }, 401, { error: 'invalid_token' }],
    ['with another scheme', { version, authorization: 'Basic dTpw' }, 401, { error: 'invalid_token' }],
    ['without Version', { token: 'v2 read' }, 400, { code: 'validation_error' }],
    ['with another Version', { token: 'v2 read', version: '3.0' }, 400, { code: 'validation_error' }],
    ['without the scope to read', { token: 'v2 write', version }, 403, { error: 'insufficient_scope' }],
  ])('is rejected %s', async (_, { token, ...headers }: Record<string, string>, status, error) => {
    const { sandbox, get, refresh } = await start();
    const { access_token } = (await refresh(sandbox.control.issueRefreshToken('main', token))).body;
    const sent: Record<string, string> = token ? { authorization: `Bearer ${access_token}` } : {};

    const answer = await get(path, { ...sent, ...headers });

    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject(error);
  });

  it("answers with JSON and a Date of the service's clock", async () => {
    const { sandbox, get } = await start();
    sandbox.control.clock.set(noonMs + 5000);

    const { headers } = await get(path);

    expect(headers.get('date')).toBe('Fri, 20 Nov 2026 12:00:05 GMT');
    expect(headers.get('content-type')).toBe('application/json');
  });
});

it('answers an unknown path with HTML, and a wrong method with the right ones', async () => {
  const { get, post } = await start();

  const unknown = await get('/wrong/api/partner/adverts/1001');
  const wrong = await post('/api/partner/threads', {});

  expect([unknown.status, unknown.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET']);
});

describe('an error body', () => {
  const [code, message, field] = ['validation_error', 'The parameter since is bad.', 'since'];
  const validation = [{ field, title: code, detail: message }];
  const nested = { status: 400, title: code, detail: message, validation };

  it.each([
    ['flat-code', { code, message }],
    ['flat-error', { error: code, message }],
    ['oauth', { error: code, error_description: message }],
    ['nested', { error: nested }],
    ['nested-in-data', { data: { error: nested } }],
    ['typed', { error: { type: code, message } }],
    ['none', null],
  ] as const)('can have the shape %s', (shape, expected) => {
    const { body } = errorAnswer(shape, { group: 'validation', status: 400, code, message, field });

    expect(JSON.parse(body || 'null')).toEqual(expected);
  });
});

describe('an advert', () => {
  it('has its present status', async () => {
    const { sandbox, get } = await start();
    sandbox.control.setStatus('1005', 'active');

    const { status, body } = await get('/api/partner/adverts/1005');

    expect(status).toBe(200);
    const data = { id: 1005, status: 'active', title: 'Advert 1005', price: expect.any(Number) };
    expect(body).toEqual({ data });
  });

  it.each(['1', '0', 'abc', '1005.0', '%31005', '..'])('is not found under the ID %s', async (id) => {
    const { get } = await start();

    expect((await get(`/api/partner/adverts/${id}`)).status).toBe(404);
  });

  it.each([404, 410] as const)('answers %i once removed, 404 if never known', async (removedAdvertStatus) => {
    const { sandbox, get, bearer } = await start({
      users: [{ name: 'main' }, { name: 'other' }],
      assumptions: { removedAdvertStatus },
    });
    sandbox.control.remove('1002');

    const [removed, unknown] = [await get('/api/partner/adverts/1002'), await get('/api/partner/adverts/1')];
    const foreign = await get('/api/partner/adverts/1002', await bearer('other'));

    expect([removed, unknown, foreign].map(({ status }) => status)).toEqual([removedAdvertStatus, 404, 404]);
    expect(unknown.body).toMatchObject({ error: { status: 404, title: 'not_found' } });
  });

  it('comes back with its last status, and the feed lists each change', async () => {
    const { sandbox, get, feed } = await start();
    sandbox.control.setStatus('1002', 'sold');
    sandbox.control.remove('1002');
    sandbox.control.restore('1002');

    expect((await get('/api/partner/adverts/1002')).body).toMatchObject({ data: { status: 'sold' } });
    expect((await feed({ since: longAgo })).body.data).toEqual(['1002', '1002', '1002']);
  });

  it('can be posted, and the feed lists it', async () => {
    const { post, bearer, feed } = await start();
    const fields = { title: 'Bicycle "Pegas"', price: 120 };

    const { status, body } = await post('/api/partner/adverts', fields, await bearer());

    expect(status).toBe(200);
    expect(body.data).toEqual({ id: 1021, status: 'new', ...fields });
    expect((await feed({ since: longAgo })).body.data).toEqual(['1021']);
  });

  it.each([
    ['title', { title: 5 }],
    ['price', { price: 'much' }],
    ['body', []],
  ])('cannot be posted with a bad %s', async (field, fields) => {
    const { post, bearer } = await start();

    const { status, body } = await post('/api/partner/adverts', fields, await bearer());

    expect(status).toBe(400);
    expect(body.message).toContain(field);
  });

  it('cannot be posted without the scope to write', async () => {
    const { post, bearer } = await start({ allowedScope: 'v2 read' });

    expect((await post('/api/partner/adverts', {}, await bearer())).status).toBe(403);
  });
});

describe('the list of adverts', () => {
  const offset = { style: 'offset', positionParameter: 'offset', defaultLimit: 2 } as const;

  it.each([
    ['?page=1&limit=3', {}, [1001, 1003, 1004]],
    ['?page=2&limit=3', {}, [1005]],
    ['?page=3&limit=3', {}, []],
    ['?offset=2', { listPaging: offset }, [1004, 1005]],
  ] as const)('has with %s and the paging %j the adverts %j', async (query, assumptions, expected) => {
    const { sandbox, get } = await start({ adverts: 5, assumptions });
    sandbox.control.remove('1002');

    const { body } = await get<{ data: { id: number }[] }>(`/api/partner/adverts${query}`);

    expect(body.data.map(({ id }) => id)).toEqual(expected);
  });

  it('has 100 adverts a page, and names a bad parameter', async () => {
    const { get } = await start({ adverts: 150 });

    expect((await get('/api/partner/adverts')).body.data).toHaveLength(100);
    expect((await get('/api/partner/adverts?page=0')).body.message).toContain('page');
  });
});

it('has no threads', async () => {
  expect((await (await start()).get('/api/partner/threads')).body).toEqual({ data: [] });
});
