import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFeedStates, feedItemKey } from '../../../shared/aws/feed-states.ts';
import { startDynamo } from '../../helpers/aws/emulators.ts';

const key = { partnerAccount: 'main', feed: 'adverts' };
const fresh = { ...key, generation: 1000, since: '2026-01-01T00:00:00Z', resets: 0, resetsInARow: 0 };
const progress = {
  since: fresh.since,
  cursor: 'c1',
  resets: 0,
  resetsInARow: 0,
  counts: { listed: 7, malformed: 1, repeated: 2 },
};

describe('feed states on DynamoDB', () => {
  let dynamo: Awaited<ReturnType<typeof startDynamo>>;
  beforeAll(async () => {
    dynamo = await startDynamo();
  });
  afterAll(() => dynamo.stop());

  it('keeps what a page listed beside its cursor, in one write', async () => {
    const table = await dynamo.feedStateTable();
    const states = createFeedStates(table);
    await states.register(fresh);
    const lease = await states.acquire(key, 'a', 1, 1000);
    if (!lease || !('fence' in lease)) throw new Error('no lease');

    expect(await states.advance(key, lease.fence, progress, 2, 1000)).toBe(true);

    const { Item } = await table.client.send(
      new GetItemCommand({ TableName: table.name, Key: feedItemKey(key) }),
    );
    expect([Item?.cursor, Item?.listed, Item?.repeated, Item?.malformed]).toEqual([
      { S: 'c1' },
      { N: '9' },
      { N: '2' },
      { N: '1' },
    ]);
  });

  it('gives out no fence twice, though the feed was forgotten in between', async () => {
    const states = createFeedStates(await dynamo.feedStateTable());
    await states.register(fresh);
    const before = await states.acquire(key, 'a', 1, 1000);
    await states.remove('main');
    await states.register({ ...fresh, generation: 1001 });
    const after = await states.acquire(key, 'b', 2, 1000);
    if (!before || !after || !('fence' in before) || !('fence' in after)) throw new Error('no lease');

    expect(after.fence).toBeGreaterThan(before.fence);
    expect(await states.advance(key, before.fence, progress, 3, 1000)).toBe(false);
  });
});
