import { describe, expect, it } from 'vitest';
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

  it('answers 404 once removed, if never known, and to another user', async () => {
    const { sandbox, get, bearer } = await start({ users: [{ name: 'main' }, { name: 'other' }] });
    sandbox.control.remove('1002');

    const [removed, unknown] = [await get('/api/partner/adverts/1002'), await get('/api/partner/adverts/1')];
    const foreign = await get('/api/partner/adverts/1002', await bearer('other'));

    expect([removed, unknown, foreign].map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(unknown.body).toMatchObject({ error: { status: 404, title: 'not_found' } });
  });

  it('can be posted, and the feed lists it', async () => {
    const { post, bearer, feed } = await start();
    const fields = { title: 'Bicycle "Pegas"', price: 120 };

    const { status, body } = await post('/api/partner/adverts', fields, await bearer());

    expect(status).toBe(200);
    expect(body.data).toEqual({ id: 1021, status: 'new', ...fields });
    expect((await feed({ since: longAgo })).body.data).toEqual(['1021']);
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
