import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDynamoDbPositions, newerCondition } from '../../../subscriber/index.ts';
import { anAdvertStatusChanged, createInMemoryPositions } from '../../../subscriber/testing/index.ts';
import { startDynamo } from '../../helpers/aws/emulators.ts';
import { positionStoreSuite } from './store.suite.ts';

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

positionStoreSuite('in memory', async () => createInMemoryPositions());
positionStoreSuite('DynamoDB (dynalite)', async () =>
  createDynamoDbPositions({ dynamodb, tableName: (await server.positionsTable()).name }),
);

describe('the DynamoDB store', () => {
  it('keeps its items under a prefix and a key of your choice', async () => {
    const { name: tableName } = await server.positionsTable();
    const store = createDynamoDbPositions({
      dynamodb,
      tableName,
      keyPrefix: 'position#',
      partitionKey: 'pk',
    });

    await store.claim('main/1', { position: { generation: 1, sequence: 2 }, owner: 'a', until: 10 }, 0);
    await store.confirm('main/1', 'a', { generation: 1, sequence: 2 });

    const { Item } = await dynamodb.getItem({ TableName: tableName, Key: { pk: { S: 'position#main/1' } } });
    expect(Item).toEqual({ pk: { S: 'position#main/1' }, generation: { N: '1' }, sequence: { N: '2' } });
  });

  it('takes its own confirmation for granted when the SDK sends it twice', async () => {
    const { name: tableName } = await server.positionsTable();
    const store = createDynamoDbPositions({ dynamodb, tableName });
    const position = { generation: 1, sequence: 2 };

    await store.claim('main/1', { position, owner: 'a', until: 10 }, 0);

    expect(await store.confirm('main/1', 'a', position)).toBe(true);
    expect(await store.confirm('main/1', 'a', position)).toBe(true);
    expect(await store.confirm('main/1', 'a', { ...position, sequence: 3 })).toBe(false);
  });

  it('lets faults of DynamoDB through', async () => {
    const store = createDynamoDbPositions({ dynamodb, tableName: 'missing' });

    const claim = store.claim('k', { position: { generation: 1, sequence: 1 }, owner: 'a', until: 1 }, 0);

    await expect(claim).rejects.toThrow('not found');
  });
});

describe('newerCondition', () => {
  it('makes one write of what is kept and how far it has been applied', async () => {
    const { name: TableName } = await server.positionsTable();
    const apply = async (sequence: number, status: string, generation = 9) => {
      const event = anAdvertStatusChanged({ generation, sequence, status });
      const newer = newerCondition(event, { marshalled: true });
      try {
        await dynamodb.updateItem({
          TableName,
          Key: { pk: { S: event.detail.data.advertId } },
          ConditionExpression: newer.ConditionExpression,
          UpdateExpression: `SET ${newer.setPosition}, #status = :status`,
          ExpressionAttributeNames: { ...newer.ExpressionAttributeNames, '#status': 'status' },
          ExpressionAttributeValues: { ...newer.ExpressionAttributeValues, ':status': { S: status } },
        });
        return 'written';
      } catch (error) {
        return (error as Error).name;
      }
    };

    expect(await apply(2, 'active')).toBe('written');
    expect(await apply(2, 'retry')).toBe('ConditionalCheckFailedException');
    expect(await apply(1, 'new')).toBe('ConditionalCheckFailedException');
    expect(await apply(10, 'sold')).toBe('written');
    expect(await apply(1, 'anew', 10)).toBe('written');

    const { Item } = await dynamodb.getItem({ TableName, Key: { pk: { S: '123' } }, ConsistentRead: true });
    expect(Item).toMatchObject({ status: { S: 'anew' }, advertGeneration: { N: '10' } });
  });
});
