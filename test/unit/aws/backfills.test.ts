import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBackfills } from '../../../shared/aws/backfills.ts';
import { booksItemKey, createBookKeeper, createBooksWriter } from '../../../shared/aws/books.ts';
import { readItem } from '../../../shared/aws/dynamodb/conditional-write.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { createAside } from '../../../shared/state/aside.ts';
import { startDynamo, startSqs } from '../../helpers/aws/emulators.ts';

const key = { partnerAccount: 'main', generation: 7 };
const progress = {
  id: 'a',
  state: 'running',
  source: 'list page',
  position: 1,
  listed: 100,
  malformed: 0,
  startedAt: '2026-11-20T12:00:00.000Z',
} as const;

describe('the progress of backfills on DynamoDB', () => {
  let dynamo: Awaited<ReturnType<typeof startDynamo>>;
  let sqs: Awaited<ReturnType<typeof startSqs>>;
  beforeAll(async () => {
    [dynamo, sqs] = await Promise.all([startDynamo(), startSqs()]);
  });
  afterAll(() => Promise.all([dynamo.stop(), sqs.stop()]));

  it('is written with what was listed, once for each version, and outcomes balance it', async () => {
    const table = await dynamo.feedStateTable();
    const backfills = createBackfills(table);
    const books = createBooksWriter(table);
    const bookKeeper = createBookKeeper({
      table,
      aside: createAside(createStore({ feedState: table })),
      queue: sqs.createQueue(),
      deadLetterQueue: sqs.createQueue(),
    });
    // Books that are older than any backfill.
    await books.add('main', 7, { redelivered: 1 });

    const written = [
      await backfills.write(key, progress, 0, 100),
      await backfills.write(key, { ...progress, position: 9 }, 0, 100),
      await backfills.write(key, { ...progress, position: 2 }, 1, 0),
    ];
    await books.add('main', 7, { events: 60, unchanged: 30 });

    expect(written).toEqual([true, false, true]);
    expect(await backfills.read(key)).toEqual({ value: { ...progress, position: 2 }, version: 2 });
    expect(await backfills.read({ ...key, generation: 8 })).toBeUndefined();
    expect(await bookKeeper.read('main', 7)).toMatchObject({
      listed: 100,
      events: 60,
      unchanged: 30,
      inFlight: 10,
    });
  });

  it('counts nothing for a page that lists nothing', async () => {
    const table = await dynamo.feedStateTable();
    await createBackfills(table).write(key, progress, 0, 0);
    expect(await readItem(table, booksItemKey('main', 7))).not.toHaveProperty('listed');
  });
});
