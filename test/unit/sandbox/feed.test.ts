import { describe, expect, it } from 'vitest';
import { dayMs, longAgo, noonMs, start } from './start.ts';

const noon = new Date(noonMs).toISOString();

describe('the change feed', () => {
  it('is empty at first, with a cursor all the same', async () => {
    const { feed } = await start();

    const { status, body } = await feed({ since: longAgo });

    expect(status).toBe(200);
    expect(body).toEqual({ data: [], hasMore: false, nextCursor: expect.stringMatching(/^[\w-]{20,}$/) });
  });

  it('lists changes oldest first, an advert as often as it changed', async () => {
    const { sandbox, feed } = await start();
    sandbox.control.setStatus('1003', 'active');
    sandbox.control.setStatus('1001', 'outdated');
    sandbox.control.setStatus('1003', 'limited');

    const { body } = await feed({ since: longAgo });

    expect(body.data).toEqual(['1003', '1001', '1003']);
  });

  it('leads through pages by cursor, without a hole or a repeat', async () => {
    const { sandbox, feed } = await start();
    const changed = sandbox.control.changeRandomly(25);

    const listed: string[] = [];
    let page = (await feed({ since: longAgo, limit: '10' })).body;
    listed.push(...page.data);
    while (page.hasMore) {
      page = (await feed({ since: longAgo, limit: '10', cursor: page.nextCursor })).body;
      listed.push(...page.data);
    }

    expect(listed).toEqual(changed);
  });

  it('says hasMore only when something waits, also at the end of a full page', async () => {
    const { sandbox, feed } = await start();
    sandbox.control.changeRandomly(10);

    const { body } = await feed({ since: longAgo, limit: '10' });

    expect(body.data).toHaveLength(10);
    expect(body.hasMore).toBe(false);
  });

  it('goes on from a stored cursor with what changed afterwards', async () => {
    const { sandbox, feed } = await start();
    sandbox.control.changeRandomly(3);
    const { nextCursor } = (await feed({ since: longAgo })).body;
    sandbox.control.setStatus('1007', 'active');

    const { body } = await feed({ since: longAgo, cursor: nextCursor });

    expect(body.data).toEqual(['1007']);
  });

  it('counts from strictly after since, whatever its timezone', async () => {
    const { sandbox, feed } = await start();
    sandbox.control.setStatus('1001', 'active');
    sandbox.control.clock.advance(1);
    sandbox.control.setStatus('1002', 'active');

    const atNoon = await feed({ since: noon });
    const elsewhere = await feed({ since: '2026-11-20T14:00:00.000+02:00' });
    const before = await feed({ since: new Date(noonMs - 1).toISOString() });

    expect(atNoon.body.data).toEqual(['1002']);
    expect(elsewhere.body.data).toEqual(['1002']);
    expect(before.body.data).toEqual(['1001', '1002']);
  });

  it('shows a change only after the visibility delay', async () => {
    const { sandbox, feed } = await start({ visibilityDelayMs: 3000 });
    sandbox.control.setStatus('1001', 'active');
    sandbox.control.clock.advance(2999);
    const early = await feed({ since: longAgo });
    sandbox.control.clock.advance(1);

    const late = await feed({ since: longAgo, cursor: early.body.nextCursor });

    expect(early.body.data).toEqual([]);
    expect(late.body.data).toEqual(['1001']);
  });

  it('gives 100 IDs by default and never more than 1000', async () => {
    const { sandbox, feed } = await start();
    sandbox.control.changeRandomly(1500);

    const byDefault = await feed({ since: longAgo });
    const many = await feed({ since: longAgo, limit: '5000' });

    expect(byDefault.body.data).toHaveLength(100);
    expect(many.body.data).toHaveLength(1000);
    expect(many.body.hasMore).toBe(true);
  });

  it.each([
    ['since', {}],
    ['since', { since: 'yesterday' }],
    ['since', { since: '2026-11-20' }],
    ['since', { since: '2026-11-20T12:00:00' }],
    ['since', { since: '2026-02-30T12:00:00Z' }],
    ['limit', { since: longAgo, limit: '0' }],
    ['limit', { since: longAgo, limit: '-5' }],
    ['limit', { since: longAgo, limit: 'ten' }],
  ])('refuses a bad %s by name', async (parameter, query) => {
    const { feed } = await start();

    const { status, body } = await feed(query);

    expect(status).toBe(400);
    expect(body).toEqual({ code: 'validation_error', message: expect.stringContaining(parameter) });
  });

  it('reads a bare plus as the space that it is in a query', async () => {
    const { get } = await start();

    const bare = await get('/api/partner/status/adverts?since=2026-11-20T12:00:00+02:00');
    const encoded = await get('/api/partner/status/adverts?since=2026-11-20T12:00:00%2B02:00');

    expect(bare.status).toBe(400);
    expect(bare.body.message).toContain('since');
    expect(encoded.status).toBe(200);
  });

  it('reads a bad limit as the default where that is assumed', async () => {
    const { feed } = await start({ assumptions: { badLimit: 'default' } });

    expect((await feed({ since: longAgo, limit: 'ten' })).status).toBe(200);
  });

  it('keeps IDs beyond 2^53 exact', async () => {
    const { sandbox, feed, get } = await start({ firstAdvertId: 9007199254740993n });
    sandbox.control.setStatus('9007199254740993', 'active');

    const { body } = await feed({ since: longAgo });
    const advert = await get('/api/partner/adverts/9007199254740993');

    expect(body.data).toEqual(['9007199254740993']);
    expect(advert.text).toContain('"id":9007199254740993,');
  });

  it('lists any string as an ID when told to', async () => {
    const { sandbox, feed } = await start();
    sandbox.control.listRaw('../"x"');

    expect((await feed({ since: longAgo })).body.data).toEqual(['../"x"']);
  });

  it('never goes back in time when the clock does', async () => {
    const { sandbox, feed } = await start();
    sandbox.control.setStatus('1001', 'active');
    sandbox.control.clock.advance(-dayMs);
    sandbox.control.setStatus('1002', 'active');
    sandbox.control.clock.advance(dayMs);

    expect((await feed({ since: longAgo })).body.data).toEqual(['1001', '1002']);
  });
});
