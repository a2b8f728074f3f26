import { BatchGetItemCommand, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { createAdvertHistories } from '../../../shared/aws/advert-histories.ts';
import type { Item } from '../../../shared/aws/dynamodb/values.ts';
import { anEnvelope } from '../../helpers/aws/fixtures.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';

const dynamo = mockClient(DynamoDBClient);
const histories = createAdvertHistories({ client: new DynamoDBClient({}), name: 't' });
const key = {
  partnerAccount: 'main',
  generation: 1_763_640_000,
  feed: 'adverts',
  advertId: '12345678901',
} as const;
const row = {
  sequence: 7,
  status: 'active',
  envelope: anEnvelope('12345678901'),
  by: '0b6c1f5e-6c1c-4f4e-9d55-0f2d7a1b2c3d:12345678901',
  pending: false,
  version: 12,
};

beforeEach(() => dynamo.reset());

describe('an advert history', () => {
  it('fits into one write unit', async () => {
    dynamo.on(PutItemCommand).resolves({});

    await histories.write(key, row);

    const item = dynamo.commandCalls(PutItemCommand)[0]?.args[0].input.Item;
    expect(sizeOf(item ?? {})).toBeLessThan(1024);
  });

  it('costs one read and one write in the common case', async () => {
    dynamo.on(PutItemCommand).resolves({});
    dynamo.on(BatchGetItemCommand).resolves({});

    await Promise.all([histories.read(key), histories.read({ ...key, advertId: '2' })]);
    await histories.write(key, { ...row, version: 1 });

    expect(dynamo.calls()).toHaveLength(2);
  });
});

/** @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html */
function sizeOf(item: Item): number {
  return Object.entries(item).reduce((sum, [name, value]) => {
    const bytes = value.S !== undefined ? Buffer.byteLength(value.S) : value.N !== undefined ? 21 : 1;
    return sum + Buffer.byteLength(name) + bytes;
  }, 0);
}
