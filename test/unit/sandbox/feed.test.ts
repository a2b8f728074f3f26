import { describe, expect, it } from 'vitest';
import { dayMs, longAgo, noonMs, start } from './start.ts';

const noon = new Date(noonMs).toISOString();

describe('the change feed', () => {
  it('is empty at first, and still has a cursor', async () => {
    const { feed } = await start();

    const { status, body } = await feed({ since: longAgo });

    expect(status).toBe(200);
    expect(body).toEqual({ data: [], hasMore: false, nextCursor: expect.stringMatching(/^[\w-]{20,}$/) });
  });

  it('lists changes page by page, oldest first, each once', async () => {
    const { sandbox, feed } = await start();
    const changed = sandbox.control.changeRandomly(20);

    const first = (await feed({ since: longAgo, limit: '10' })).body;
    const second = (await feed({ since: longAgo, limit: '10', cursor: first.nextCursor })).body;
    const more = sandbox.control.changeRandomly(3);
    const third = (await feed({ since: longAgo, cursor: second.nextCursor })).body;

    expect([...first.data, ...second.data, ...third.data]).toEqual([...changed, ...more]);
    expect([first, second, third].map(({ hasMore }) => hasMore)).toEqual([true, false, false]);
  });

  it('lists what changed strictly after since, in any timezone', async () => {
    const { sandbox, feed } = await start();
    sandbox.control.setStatus('1001', 'active');
    sandbox.control.clock.advance(1);
    sandbox.control.setStatus('1002', 'active');
    const listed = async (since: string) => (await feed({ since })).body.data;

    expect(await listed(noon)).toEqual(['1002']);
    expect(await listed('2026-11-20T14:00:00.000+02:00')).toEqual(['1002']);
    expect(await listed(new Date(noonMs - 1).toISOString())).toEqual(['1001', '1002']);
  });

  it('shows a change only after the visibility delay', async () => {
    const { sandbox, feed } = await start({ visibilityDelayMs: 3000 });
    sandbox.control.setStatus('1001', 'active');
    sandbox.control.clock.advance(2999);
    const early = (await feed({ since: longAgo })).body;
    sandbox.control.clock.advance(1);

    expect(early.data).toEqual([]);
    expect((await feed({ since: longAgo, cursor: early.nextCursor })).body.data).toEqual(['1001']);
  });

  it('has 100 IDs a page by default, and never more than 1000', async () => {
    const { sandbox, feed } = await start();
    sandbox.control.changeRandomly(1500);

    const sizes = [await feed({ since: longAgo }), await feed({ since: longAgo, limit: '5000' })];

    expect(sizes.map(({ body }) => body.data.length)).toEqual([100, 1000]);
  });

  it.each([
    ['since', {}],
    ['since', { since: 'yesterday' }],
    ['since', { since: '2026-11-20' }],
    ['since', { since: '2026-11-20T12:00:00' }],
    ['since', { since: '2026-02-30T12:00:00Z' }],
    // A bare plus in a query is a space.
    ['since', { since: '2026-11-20T12:00:00 02:00' }],
    ['limit', { since: longAgo, limit: '0' }],
    ['limit', { since: longAgo, limit: '-5' }],
    ['limit', { since: longAgo, limit: 'ten' }],
  ])('rejects a bad %s by name: %j', async (parameter, query) => {
    const { status, body } = await (await start()).feed(query as never);

    expect(status).toBe(400);
    expect(body).toEqual({ code: 'validation_error', message: expect.stringContaining(parameter) });
  });

  it('keeps IDs beyond 2^53 exact, and lists any string on demand', async () => {
    const { sandbox, feed, get } = await start({ firstAdvertId: 9007199254740993n });
    sandbox.control.setStatus('9007199254740993', 'active');
    sandbox.control.listRaw('../"x"');

    expect((await feed({ since: longAgo })).body.data).toEqual(['9007199254740993', '../"x"']);
    const { text } = await get('/api/partner/adverts/9007199254740993');
    expect(text).toContain('"id":9007199254740993,');
  });

  it('stays in order when the clock is set back', async () => {
    const { sandbox, feed } = await start();
    sandbox.control.setStatus('1001', 'active');
    sandbox.control.clock.advance(-dayMs);
    sandbox.control.setStatus('1002', 'active');
    sandbox.control.clock.advance(dayMs);

    expect((await feed({ since: new Date(noonMs - 1).toISOString() })).body.data).toEqual(['1001', '1002']);
  });
});

describe('a cursor', () => {
  const rejected = { code: 'validation_error', message: 'The parameter cursor is not valid.' };

  it.each([
    ['shortened', (cursor: string) => cursor.slice(0, -1)],
    ['lengthened', (cursor: string) => `${cursor}A`],
    ['made up', () => 'abc'],
    ['empty', () => ''],
  ])('is rejected when it is %s', async (_, spoil) => {
    const { feed } = await start();
    const { nextCursor } = (await feed({ since: longAgo })).body;

    const { status, body } = await feed({ since: longAgo, cursor: spoil(nextCursor) });

    expect([status, body]).toEqual([400, rejected]);
  });

  it('is rejected with another since, from another user, or once invalidated', async () => {
    const { sandbox, feed, get, bearer } = await start({ users: [{ name: 'main' }, { name: 'other' }] });
    const cursor = (await feed({ since: longAgo })).body.nextCursor;
    const query = new URLSearchParams({ since: longAgo, cursor });

    const otherSince = await feed({ since: '2026-01-01T00:00:00.000Z', cursor });
    const otherUser = await get(`/api/partner/status/adverts?${query}`, await bearer('other'));
    const valid = await feed({ since: longAgo, cursor });
    sandbox.control.invalidateCursors();
    const invalidated = await feed({ since: longAgo, cursor });
    const next = (await feed({ since: longAgo })).body.nextCursor;

    expect([otherSince, otherUser, valid, invalidated].map(({ status }) => status)).toEqual([
      400, 400, 200, 400,
    ]);
    expect((await feed({ since: longAgo, cursor: next })).status).toBe(200);
  });

  it('is rejected with the assumed answer', async () => {
    const cursorRejection = { status: 410, body: { error: { type: 'GONE', message: 'no such bookmark' } } };
    const { feed } = await start({ assumptions: { cursorRejection } });

    const { status, body } = await feed({ since: longAgo, cursor: 'abc' });

    expect({ status, body }).toEqual(cursorRejection);
  });
});
