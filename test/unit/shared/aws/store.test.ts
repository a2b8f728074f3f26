import { GetItemCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { createStore } from '../../../../shared/aws/store.ts';
import { systemClock } from '../../../../shared/domain/clock.ts';
import { createAdvertHistories } from '../../../../shared/state/advert-histories.ts';
import { startDynamo } from '../../../helpers/aws/emulators.ts';
import { anEnvelope } from '../../../helpers/aws/fixtures.ts';

const account = { kind: 'account', name: 'main' } as const;
const books = { kind: 'books', name: 'main/7/adverts' } as const;
let dynamo: Awaited<ReturnType<typeof startDynamo>>;

beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

/** A store whose next answer to a write is lost, so that the SDK repeats the call, and another one over the same table. */
async function make() {
  const table = await dynamo.feedStateTable();
  const client = dynamo.newClient();
  let inBetween: (() => Promise<unknown>) | undefined;
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const answer = await next(args);
        if (commandName === 'GetItemCommand') return answer;
        const run = inBetween;
        inBetween = undefined;
        if (!run) return answer;
        await run();
        throw Object.assign(new Error('the answer is lost'), { name: 'TimeoutError' });
      },
    { step: 'deserialize', priority: 'high', name: 'loseAnswer' },
  );
  return {
    table,
    store: createStore({ feedState: { ...table, client } }),
    other: createStore({ feedState: table }),
    loseNextAnswer(then: () => Promise<unknown> = async () => undefined): void {
      inBetween = then;
    },
    item: async (name: string, kind = 'books') =>
      (
        await table.client.send(
          new GetItemCommand({ TableName: table.name, Key: { pk: { S: kind }, sk: { S: name } } }),
        )
      ).Item ?? {},
  };
}

it('a put whose answer is lost is recognized as carried out', async () => {
  const { store, loseNextAnswer } = await make();
  loseNextAnswer();

  const put = await store.put(account, { a: 1 }, 'absent');

  expect(put).toEqual({ etag: (await store.get(account))?.etag });
});

it('a put whose answer is lost conflicts when another process wrote since', async () => {
  const { store, other, loseNextAnswer } = await make();
  loseNextAnswer(async () => other.put(account, { a: 2 }, (await other.get(account))?.etag ?? ''));

  expect(await store.put(account, { a: 1 }, 'absent')).toEqual({ conflict: await store.get(account) });
});

it('an addition counts once when its answer is lost and another counted', async () => {
  const { store, other, loseNextAnswer } = await make();
  await store.add(books, { events: 1 });
  loseNextAnswer(() => other.add(books, { events: 10 }));

  await store.add(books, { events: 100 });

  expect((await store.get(books))?.value).toEqual({ events: 111 });
});

it('a row is removed once when the answer is lost', async () => {
  const { store, loseNextAnswer } = await make();
  const put = await store.put(account, { a: 1 }, 'absent');
  loseNextAnswer();

  expect(await store.remove(account, 'etag' in put ? put.etag : '')).toBe(true);
});

it('the item of sums stays below 1 KB however many were added', async () => {
  const { store, item } = await make();
  const outcomes = { events: 1e9, unchanged: 1e9, coalesced: 1e9, unavailable: 1e9, redelivered: 1e9 };
  for (let i = 0; i < 120; i += 1) await store.add(books, outcomes);

  expect(JSON.stringify(await item(books.name)).length).toBeLessThan(1024);
  expect((await store.get(books))?.value).toMatchObject({ events: 120e9 });
});

it('marks of adders that ended long ago leave the item of sums', async () => {
  const now = vi.spyOn(systemClock, 'now').mockReturnValue(1_763_640_000_000);
  onTestFinished(() => now.mockRestore());
  const { table, other, item } = await make();
  const short = Array.from({ length: 30 }, () => createStore({ feedState: table }));
  await Promise.all(short.map((store) => store.add(books, { events: 1 })));
  expect(Object.keys(await item(books.name))).toHaveLength(4 + 30);

  now.mockReturnValue(1_763_640_000_000 + 10 * 60_000);
  for (let i = 0; i < 4; i += 1) await other.add(books, { events: 1 });

  expect(Object.keys(await item(books.name))).toHaveLength(4 + 1);
  expect((await other.get(books))?.value).toEqual({ events: 34 });
});

it('a row whose text is no JSON has no value', async () => {
  const { table, store } = await make();
  const Item = { pk: { S: 'account' }, sk: { S: 'main' }, etag: { S: 'e' }, value: { S: '{"a":' } };
  await table.client.send(new PutItemCommand({ TableName: table.name, Item }));

  expect(await store.get(account)).toEqual({ name: 'main', value: undefined, etag: 'e' });
});

it('an item of an earlier release is refused and never overwritten', async () => {
  const { table, store, item } = await make();
  const Item = { pk: { S: 'account' }, sk: { S: 'main' }, generation: { N: '1' }, version: { N: '2' } };
  await table.client.send(new PutItemCommand({ TableName: table.name, Item }));

  const refusal = 'Advert Bridge 0.1 or 0.2 wrote the item account main';
  await expect(store.get(account)).rejects.toThrow(refusal);
  await expect(store.list('account')).rejects.toThrow(refusal);
  await expect(store.put(account, {}, 'absent')).rejects.toThrow(refusal);
  expect(await item('main', 'account')).toEqual(Item);
});

it('an advert with its event takes less than 1 KB, one write unit', async () => {
  const table = await dynamo.feedStateTable();
  const histories = createAdvertHistories(createStore({ advertStatus: table }));
  const key = {
    partnerAccount: 'main',
    generation: 1_763_640_000,
    feed: 'adverts',
    advertId: '12345678901',
  } as const;
  await histories.write(key, {
    sequence: 7,
    status: 'active',
    envelope: anEnvelope(key.advertId),
    by: '0b6c1f5e-6c1c-4f4e-9d55-0f2d7a1b2c3d:12345678901',
    pending: true,
    etag: 'absent',
  });

  const { Items: [item = {}] = [] } = await table.client.send(new ScanCommand({ TableName: table.name }));
  const bytes = Object.entries(item).reduce(
    (sum, [name, { S = '' }]) => sum + Buffer.byteLength(name + S),
    0,
  );
  expect(bytes).toBeGreaterThan(700);
  expect(bytes).toBeLessThan(1024);
});
