import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createDynamoDbPositions,
  newerCondition,
  type PositionStore,
} from '../../../../kits/typescript/index.ts';
import { anAdvertStatusChanged, createInMemoryPositions } from '../../../../kits/typescript/testing/index.ts';
import { startDynamo } from '../../../helpers/aws/emulators.ts';

let server: Awaited<ReturnType<typeof startDynamo>>;
let dynamodb: DynamoDB;

beforeAll(async () => {
  server = await startDynamo();
  const credentials = { accessKeyId: '000000000000', secretAccessKey: 'test' };
  dynamodb = new DynamoDB({ endpoint: server.url, region: 'eu-central-1', credentials });
});
afterAll(async () => {
  dynamodb.destroy();
  await server.stop();
});

const at = (sequence: number, generation = 1) => ({ generation, sequence });
const key = 'main/1';
/** At the time `now`, `owner` claims an advert for 1,000 ms, to apply the events up to a position. */
const claim =
  (owner: string, position: ReturnType<typeof at>, now = 0, of = key) =>
  (store: PositionStore) =>
    store.claim(of, { position, owner, until: now + 1_000 }, now);
const confirm = (owner: string, position: ReturnType<typeof at>) => (store: PositionStore) =>
  store.confirm(key, owner, position);
const release = (owner: string) => (store: PositionStore) => store.release(key, owner);
const granted = (applied?: ReturnType<typeof at>) => ({ kind: 'granted', applied });
const superseded = (applied: ReturnType<typeof at>) => ({ kind: 'superseded', applied });

type Call = readonly [call: (store: PositionStore) => Promise<unknown>, expected: unknown];
const rules: readonly (readonly [rule: string, calls: readonly Call[]])[] = [
  [
    'others wait until a claim expires, and may then take it over',
    [
      [claim('a', at(5)), granted()],
      [claim('b', at(6), 999), { kind: 'busy', until: 1_000 }],
      [claim('b', at(6), 0, 'main/2'), granted()],
      [claim('b', at(6), 1_000), granted()],
      [confirm('a', at(5)), false],
      [release('a'), undefined],
      [claim('c', at(7), 1_001), { kind: 'busy', until: 2_000 }],
      [confirm('b', at(6)), true],
    ],
  ],
  [
    'what is not newer than the last applied position is superseded',
    [
      [claim('a', at(5)), granted()],
      [confirm('a', at(5)), true],
      [claim('b', at(4)), superseded(at(5))],
      [claim('a', at(5)), superseded(at(5))],
      [claim('b', at(6)), granted(at(5))],
    ],
  ],
  [
    'generations are compared first, and numbers as numbers',
    [
      [claim('a', at(100, 9)), granted()],
      [confirm('a', at(100, 9)), true],
      [claim('a', at(20, 9)), superseded(at(100, 9))],
      [claim('a', at(1, 10)), granted(at(100, 9))],
    ],
  ],
  [
    'a part of what was claimed can be confirmed',
    [
      [claim('a', at(5)), granted()],
      [confirm('a', at(4)), true],
      [claim('b', at(5)), granted(at(4))],
    ],
  ],
  [
    'a released claim leaves nothing behind',
    [
      [claim('a', at(5)), granted()],
      [release('a'), undefined],
      [claim('b', at(5)), granted()],
    ],
  ],
];

describe.each([
  ['in memory', async () => createInMemoryPositions()],
  [
    'in DynamoDB',
    async () => createDynamoDbPositions({ dynamodb, tableName: (await server.positionsTable()).name }),
  ],
])('positions %s', (_, fresh) => {
  it.each(rules)('%s', async (_rule, calls) => {
    const store = await fresh();

    for (const [call, expected] of calls) expect(await call(store)).toEqual(expected);
  });

  it('one of ten simultaneous claims is granted', async () => {
    const store = await fresh();

    const kinds = await Promise.all([...'abcdefghij'].map((owner) => claim(owner, at(1))(store)));

    expect(kinds.filter(({ kind }) => kind === 'granted')).toHaveLength(1);
  });
});

it('positions have a prefix and key of your choice and confirm twice', async () => {
  const { name: TableName } = await server.positionsTable();
  const names = { tableName: TableName, keyPrefix: 'position#', partitionKey: 'pk' };
  const store = createDynamoDbPositions({ dynamodb, ...names });

  await claim('a', at(2))(store);

  for (const _ of [1, 2]) expect(await confirm('a', at(2))(store)).toBe(true);
  expect(await confirm('a', at(3))(store)).toBe(false);
  const { Item } = await dynamodb.getItem({ TableName, Key: { pk: { S: `position#${key}` } } });
  expect(Item).toEqual({ pk: { S: `position#${key}` }, generation: { N: '1' }, sequence: { N: '2' } });
});

it.each([
  ['has another name', () => server.positionsTable(), 'advert'],
  ['goes with a sort key', () => server.advertStatusTable(), 'pk'],
])('errors name table and option when the key of the table %s', async (_, table, partitionKey) => {
  const { name: tableName } = await table();
  const store = createDynamoDbPositions({ dynamodb, tableName, partitionKey });

  for (const call of [claim('a', at(1)), confirm('a', at(1)), release('a')])
    await expect(call(store)).rejects.toThrow(
      `the key of table ${tableName} is not ${partitionKey}, a string, without a sort key. Set partitionKey to`,
    );
});

it('faults of DynamoDB pass through', async () => {
  const store = createDynamoDbPositions({ dynamodb, tableName: 'missing' });

  await expect(claim('a', at(1))(store)).rejects.toThrow('not found');
});

it('newerCondition allows one write of data and position for a newer event', async () => {
  const { name: TableName } = await server.positionsTable();
  const refused = 'ConditionalCheckFailedException';
  for (const [position, expected] of [
    [at(2, 9), 'written'],
    [at(2, 9), refused],
    [at(1, 9), refused],
    [at(10, 9), 'written'],
    [at(1, 10), 'written'],
  ] as const) {
    const event = anAdvertStatusChanged(position);
    const { setPosition, ...newer } = newerCondition(event, { marshalled: true });
    const Key = { pk: { S: event.detail.data.advertId } };
    const write = dynamodb.updateItem({ TableName, Key, UpdateExpression: `SET ${setPosition}`, ...newer });
    const outcome = write.then(
      () => 'written',
      (error: Error) => error.name,
    );
    expect(await outcome).toBe(expected);
  }
});
