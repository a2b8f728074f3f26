import { expect, it } from 'vitest';
import { hourMs, longAgo, noonMs, start } from './start.ts';

const since = longAgo;
const justBeforeNoon = new Date(noonMs - 1).toISOString();

it('the feed has a cursor even when it is empty', async () => {
  const { feed } = await start();

  const nextCursor = expect.stringMatching(/^[\w-]{20,}$/);
  expect((await feed({ since })).body).toEqual({ data: [], hasMore: false, nextCursor });
});

it('lists changes page by page, oldest first, each once', async () => {
  const { control, feed } = await start();
  const changed = control.changeRandomly(20);

  const first = (await feed({ since, limit: '10' })).body;
  const second = (await feed({ since, limit: '10', cursor: first.nextCursor })).body;
  const more = control.changeRandomly(3);
  const third = (await feed({ since, cursor: second.nextCursor })).body;

  expect([...first.data, ...second.data, ...third.data]).toEqual([...changed, ...more]);
  expect([first.hasMore, second.hasMore, third.hasMore]).toEqual([true, false, false]);
});

it('the feed lists changes strictly after since, in order, in any timezone', async () => {
  const { control, feed } = await start();
  control.setStatus('1001', 'active');
  control.clock.advance(1);
  control.setStatus('1002', 'active');
  control.clock.advance(-hourMs);
  control.setStatus('1003', 'active');
  control.clock.advance(hourMs);
  const listed = async (time: string) => (await feed({ since: time })).body.data;

  expect(await listed(new Date(noonMs).toISOString())).toEqual(['1002', '1003']);
  expect(await listed('2026-11-20T14:00:00.000+02:00')).toEqual(['1002', '1003']);
  expect(await listed(justBeforeNoon)).toEqual(['1001', '1002', '1003']);
});

it('the feed shows a change only after the visibility delay', async () => {
  const { control, feed } = await start({ visibilityDelayMs: 3000 });
  control.setStatus('1001', 'active');
  control.clock.advance(2999);
  const early = (await feed({ since })).body;
  control.clock.advance(1);

  expect(early.data).toEqual([]);
  expect((await feed({ since, cursor: early.nextCursor })).body.data).toEqual(['1001']);
});

it('the feed has 100 IDs a page by default, and never more than 1000', async () => {
  const { control, feed } = await start();
  control.changeRandomly(1500);

  expect((await feed({ since })).body.data).toHaveLength(100);
  expect((await feed({ since, limit: '5000' })).body.data).toHaveLength(1000);
});

it('the feed ignores the limit when the assumptions set one page size', async () => {
  const { control, feed } = await start({ assumptions: { feedPageSize: 7 } });
  control.changeRandomly(10);

  const first = (await feed({ since, limit: '2' })).body;
  expect([first.data.length, first.hasMore]).toEqual([7, true]);
  expect((await feed({ since, limit: '2', cursor: first.nextCursor })).body.data).toHaveLength(3);
});

it.each([
  ['since', {}],
  ['since', { since: 'yesterday' }],
  ['since', { since: '2026-11-20' }],
  ['since', { since: '2026-11-20T12:00:00' }],
  ['since', { since: '2026-02-30T12:00:00Z' }],
  // A bare plus in a query is a space.
  ['since', { since: '2026-11-20T12:00:00 02:00' }],
  ['limit', { since, limit: '0' }],
  ['limit', { since, limit: '-5' }],
  ['limit', { since, limit: 'ten' }],
])('rejects a bad %s by name: %j', async (parameter, query) => {
  const body = { code: 'validation_error', message: expect.stringContaining(parameter) };

  expect(await (await start()).feed(query as never)).toMatchObject({ status: 400, body });
});

it('the feed keeps IDs beyond 2^53 exact, and lists any string on demand', async () => {
  const { control, feed, get } = await start({ firstAdvertId: 9007199254740993n });
  control.setStatus('9007199254740993', 'active');
  control.listRaw('../"x"');

  expect((await feed({ since })).body.data).toEqual(['9007199254740993', '../"x"']);
  expect((await get('/api/partner/adverts/9007199254740993')).text).toContain('"id":9007199254740993,');
});

it("a cursor is rejected when spoiled, invalidated, or another user's", async () => {
  const { control, feed, bearer } = await start({ users: [{ name: 'main' }, { name: 'other' }] });
  const { nextCursor: cursor } = (await feed({ since })).body;
  const wrong = [cursor.slice(0, -1), `${cursor}A`, 'abc', ''].map((spoiled) => ({
    since,
    cursor: spoiled,
  }));
  const body = { code: 'validation_error', message: 'The parameter cursor is not valid.' };

  for (const query of [...wrong, { since: justBeforeNoon, cursor }])
    expect(await feed(query), query.cursor).toMatchObject({ status: 400, body });
  expect((await feed({ since, cursor }, await bearer('other'))).status).toBe(400);
  expect((await feed({ since, cursor })).status).toBe(200);
  control.invalidateCursors();
  expect((await feed({ since, cursor })).status).toBe(400);
  const { nextCursor: fresh } = (await feed({ since })).body;
  expect((await feed({ since, cursor: fresh })).status).toBe(200);
});

it('a cursor is rejected with the assumed answer', async () => {
  const cursorRejection = { status: 410, body: { error: { type: 'GONE', message: 'no such bookmark' } } };
  const { feed } = await start({ assumptions: { cursorRejection } });

  expect(await feed({ since, cursor: 'abc' })).toMatchObject(cursorRejection);
});
