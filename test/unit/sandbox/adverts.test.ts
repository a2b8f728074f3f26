import { describe, expect, it } from 'vitest';
import { longAgo, start } from './start.ts';

interface AdvertBody {
  readonly data: {
    readonly id: number;
    readonly status: string;
    readonly title: string;
    readonly price: number;
  };
}

describe('one advert', () => {
  it('has an ID, its present status and more', async () => {
    const { sandbox, get } = await start();
    sandbox.control.setStatus('1005', 'active');

    const { status, body } = await get<AdvertBody>('/api/partner/adverts/1005');

    expect(status).toBe(200);
    expect(body.data).toEqual({
      id: 1005,
      status: 'active',
      title: 'Advert 1005',
      price: expect.any(Number),
    });
  });

  it.each(['1', '0', 'abc', '1005.0', '%31005', '..'])('is not found under %s', async (id) => {
    const { get } = await start();

    expect((await get(`/api/partner/adverts/${id}`)).status).toBe(404);
  });

  it("answers 404 in the service's own error shape when it is unknown", async () => {
    const { get } = await start();

    const { body } = await get('/api/partner/adverts/999');

    expect(body).toEqual({
      error: { status: 404, title: 'not_found', detail: expect.any(String), validation: [] },
    });
  });

  it('is gone once removed and back once restored, each a change in the feed', async () => {
    const { sandbox, get, feed } = await start();
    sandbox.control.setStatus('1002', 'active');
    sandbox.control.remove('1002');
    const gone = await get('/api/partner/adverts/1002');
    sandbox.control.restore('1002');

    const back = await get<AdvertBody>('/api/partner/adverts/1002');

    expect(gone.status).toBe(404);
    expect(back.body.data.status).toBe('active');
    expect((await feed({ since: longAgo })).body.data).toEqual(['1002', '1002', '1002']);
  });

  it('answers 410 once removed where that is assumed', async () => {
    const { sandbox, get } = await start({ assumptions: { removedAdvertStatus: 410 } });
    sandbox.control.remove('1002');

    expect((await get('/api/partner/adverts/1002')).status).toBe(410);
    expect((await get('/api/partner/adverts/1')).status).toBe(404);
  });
});

describe('the list of adverts', () => {
  const ids = (body: unknown) => (body as { data: { id: number }[] }).data.map(({ id }) => id);

  it('holds every advert of the user, removed ones apart, in pages', async () => {
    const { sandbox, get } = await start({ adverts: 5 });
    sandbox.control.remove('1002');

    const first = await get('/api/partner/adverts?page=1&limit=3');
    const second = await get('/api/partner/adverts?page=2&limit=3');
    const third = await get('/api/partner/adverts?page=3&limit=3');

    expect(ids(first.body)).toEqual([1001, 1003, 1004]);
    expect(ids(second.body)).toEqual([1005]);
    expect(ids(third.body)).toEqual([]);
  });

  it('has 100 to a page', async () => {
    const { get } = await start({ adverts: 150 });

    expect(ids((await get('/api/partner/adverts')).body)).toHaveLength(100);
  });

  it('is paged by offset under another name where that is assumed', async () => {
    const { get } = await start({
      adverts: 5,
      assumptions: { listPaging: { style: 'offset', positionParameter: 'offset', defaultLimit: 2 } },
    });

    expect(ids((await get('/api/partner/adverts?offset=3')).body)).toEqual([1004, 1005]);
  });

  it('names a bad paging parameter', async () => {
    const { get } = await start();

    const { status, body } = await get('/api/partner/adverts?page=0');

    expect(status).toBe(400);
    expect(body.message).toContain('page');
  });
});

describe('posting an advert', () => {
  it('creates it, and the feed lists it', async () => {
    const { post, bearer, feed } = await start();

    const { status, body } = await post<AdvertBody>(
      '/api/partner/adverts',
      { title: 'Bicycle "Pegas"', price: 120 },
      await bearer(),
    );

    expect(status).toBe(200);
    expect(body.data).toEqual({ id: 1021, status: 'new', title: 'Bicycle "Pegas"', price: 120 });
    expect((await feed({ since: longAgo })).body.data).toEqual(['1021']);
  });

  it('needs the write scope', async () => {
    const { post, bearer } = await start({ users: [{ name: 'main', scope: 'v2 read' }] });
    const { sandbox, refresh } = await start({ users: [{ name: 'main', scope: 'v2 read' }] });
    const { access_token } = (await refresh()).body;
    const headers = {
      authorization: `Bearer ${access_token}`,
      version: '2.0',
      'content-type': 'application/json',
    };

    const refused = await fetch(`${sandbox.url}/api/partner/adverts`, {
      method: 'POST',
      headers,
      body: '{}',
    });
    const allowed = await post('/api/partner/adverts', {}, await bearer());

    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ error: 'insufficient_scope' });
    expect(allowed.status).toBe(200);
  });

  it.each([
    ['title', { title: 5 }],
    ['price', { price: 'much' }],
    ['body', []],
  ])('names a bad %s', async (field, fields) => {
    const { post, bearer } = await start();

    const { status, body } = await post('/api/partner/adverts', fields, await bearer());

    expect(status).toBe(400);
    expect(body.message).toContain(field);
  });
});

describe('the threads', () => {
  it('are none', async () => {
    const { get } = await start();

    expect((await get('/api/partner/threads')).body).toEqual({ data: [] });
  });
});
