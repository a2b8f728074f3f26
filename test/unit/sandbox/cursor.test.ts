import { describe, expect, it } from 'vitest';
import { dayMs, type FeedPage, longAgo, noonMs, start } from './start.ts';

const rejected = { code: 'validation_error', message: 'The parameter cursor is not valid.' };

describe('a cursor', () => {
  it('is rejected with another since, even one that names the same moment', async () => {
    const { feed } = await start();
    const { nextCursor } = (await feed({ since: longAgo })).body;

    const { status, body } = await feed({ since: '2026-01-01T00:00:00.000Z', cursor: nextCursor });

    expect(status).toBe(400);
    expect(body).toEqual(rejected);
  });

  it('is rejected when another user sends it', async () => {
    const { feed, get, bearer } = await start({ users: [{ name: 'main' }, { name: 'other' }] });
    const { nextCursor } = (await feed({ since: longAgo })).body;
    const query = new URLSearchParams({ since: longAgo, cursor: nextCursor });

    const { status } = await get(`/api/partner/status/adverts?${query}`, await bearer('other'));

    expect(status).toBe(400);
  });

  it.each([
    ['shortened', (cursor: string) => cursor.slice(0, -1)],
    ['lengthened', (cursor: string) => `${cursor}A`],
    ['made up', () => 'abc'],
    ['empty', () => ''],
    [
      'changed in one character',
      (cursor: string) => cursor.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    ],
  ])('is rejected when it is %s', async (_, spoil) => {
    const { feed } = await start();
    const { nextCursor } = (await feed({ since: longAgo })).body;

    expect((await feed({ since: longAgo, cursor: spoil(nextCursor) })).status).toBe(400);
  });

  it('is rejected once the service was made to forget its cursors, until a new one is taken', async () => {
    const { sandbox, feed } = await start();
    const old = (await feed({ since: longAgo })).body.nextCursor;
    sandbox.control.invalidateCursors();

    const before = await feed({ since: longAgo, cursor: old });
    const { nextCursor } = (await feed({ since: longAgo })).body;
    const after = await feed({ since: longAgo, cursor: nextCursor });

    expect(before.status).toBe(400);
    expect(after.status).toBe(200);
  });

  it('is rejected in the way that is assumed', async () => {
    const cursorRejection = { status: 410, body: { error: { type: 'GONE', message: 'no such bookmark' } } };
    const { feed } = await start({ assumptions: { cursorRejection } });

    const { status, body } = await feed({ since: longAgo, cursor: 'abc' });

    expect(status).toBe(410);
    expect(body).toEqual(cursorRejection.body);
  });

  it('can differ on every empty page, and every one of them is good', async () => {
    const { feed } = await start({ assumptions: { cursorChangesOnEmptyPage: true } });
    const first = (await feed({ since: longAgo })).body.nextCursor;

    const second = (await feed({ since: longAgo, cursor: first })).body.nextCursor;

    expect(second).not.toBe(first);
    expect((await feed({ since: longAgo, cursor: first })).status).toBe(200);
    expect((await feed({ since: longAgo, cursor: second })).status).toBe(200);
  });

  it('can be full of characters that must be encoded in a URL', async () => {
    const { feed, get } = await start({ assumptions: { cursorAlphabet: 'reserved' } });
    const { nextCursor } = (await feed({ since: longAgo })).body;

    const encoded = await feed({ since: longAgo, cursor: nextCursor });
    const bare = await get<FeedPage>(`/api/partner/status/adverts?since=${longAgo}&cursor=${nextCursor}`);

    expect(nextCursor).toContain('+/=&%2B');
    expect(encoded.status).toBe(200);
    expect(bare.status).toBe(400);
  });
});

describe('retention', () => {
  const recent = new Date(noonMs - dayMs).toISOString();

  it('refuses a since older than what the feed keeps', async () => {
    const { feed } = await start({ retentionSeconds: 7 * 86_400 });

    const { status, body } = await feed({ since: longAgo });

    expect(status).toBe(400);
    expect(body).toEqual({ code: 'validation_error', message: expect.stringContaining('since') });
    expect((await feed({ since: recent })).status).toBe(200);
  });

  it('lets a cursor live on that has passed everything no longer kept', async () => {
    const { sandbox, feed } = await start({ retentionSeconds: 7 * 86_400 });
    sandbox.control.setStatus('1001', 'active');
    const { nextCursor } = (await feed({ since: recent })).body;
    sandbox.control.clock.advance(30 * dayMs);
    sandbox.control.setStatus('1002', 'active');

    const { body } = await feed({ since: recent, cursor: nextCursor });

    expect(body.data).toEqual(['1002']);
  });

  it('rejects a cursor that has not', async () => {
    const { sandbox, feed } = await start({ retentionSeconds: 7 * 86_400 });
    const { nextCursor } = (await feed({ since: recent })).body;
    sandbox.control.setStatus('1001', 'active');
    sandbox.control.clock.advance(8 * dayMs);

    expect((await feed({ since: recent, cursor: nextCursor })).body).toEqual(rejected);
  });

  it('refuses an old since beside a good cursor where that is assumed', async () => {
    const { sandbox, feed } = await start({
      retentionSeconds: 7 * 86_400,
      assumptions: { sinceBeforeRetention: 'rejected-always' },
    });
    const { nextCursor } = (await feed({ since: recent })).body;
    sandbox.control.clock.advance(8 * dayMs);

    expect((await feed({ since: recent, cursor: nextCursor })).status).toBe(400);
  });
});
