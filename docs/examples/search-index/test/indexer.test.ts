import type { AddressInfo } from 'node:net';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import type { AdvertEvent } from 'advert-bridge-kit/subscriber';
import {
  aLambdaEvent,
  anAdvertHistory,
  anAdvertStatusChanged,
  latestStatuses,
  playEvents,
} from 'advert-bridge-kit/testing';
import type { SQSEvent } from 'aws-lambda';
import dynalite from 'dynalite';
import { interceptLocalhostDns, startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';

const TableName = 'adverts';
const aws = { AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
const tables = dynalite({ createTableMs: 0 });
let queues: Awaited<ReturnType<typeof startFauxqs>>;
let environment: Record<string, string>;
let dynamodb: DynamoDB;

beforeAll(async () => {
  await new Promise<void>((resolve) => tables.listen(0, '127.0.0.1', resolve));
  interceptLocalhostDns();
  queues = await startFauxqs({ port: 0, logger: false });
  const { queueUrl } = queues.createQueue('dead-letters', {});
  const endpoint = `http://127.0.0.1:${(tables.address() as AddressInfo).port}`;
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  dynamodb = new DynamoDB({ endpoint, region: aws.AWS_REGION, credentials });
  await dynamodb.createTable({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  });
  while ((await dynamodb.describeTable({ TableName })).Table?.TableStatus !== 'ACTIVE');
  environment = {
    ...aws,
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
    AWS_ENDPOINT_URL_SQS: queues.address,
    TABLE_NAME: TableName,
    DEAD_LETTER_QUEUE_URL: queueUrl,
  };
});
afterAll(async () => {
  dynamodb.destroy();
  tables.close();
  await queues.stop();
});
beforeEach(async () => {
  for (const [key, value] of Object.entries(environment)) vi.stubEnv(key, value);
  for (const pk of (await statuses()).keys())
    await dynamodb.deleteItem({ TableName, Key: { pk: { S: pk } } });
});

/** @returns the IDs of the messages that went back to the queue */
async function handle(event: { readonly Records: readonly object[] }): Promise<string[]> {
  // Imported here because it reads the environment that is set above.
  const { handler } = await import('../indexer.ts');
  const { batchItemFailures } = await handler(event as unknown as SQSEvent);
  return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
}

async function statuses(): Promise<Map<string, string | null>> {
  const { Items = [] } = await dynamodb.scan({ TableName, ConsistentRead: true });
  return new Map(Items.map(({ pk, status }) => [pk?.S ?? '', status?.S ?? null]));
}

it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'ends at the newest status of each advert in any order, seed %i',
  async (seed) => {
    const events: AdvertEvent[] = [
      ...anAdvertHistory(['new', 'active', 'sold'], { advertId: '7' }),
      // Forgotten and connected again: the sequence starts again at 1, in a greater generation.
      ...anAdvertHistory(['active'], { advertId: '7', generation: 1_763_650_000 }),
      ...anAdvertHistory(['active', null], { advertId: '8' }),
    ];

    for (const batch of playEvents(events, { seed })) expect(await handle(aLambdaEvent(batch))).toEqual([]);

    expect(await statuses()).toEqual(latestStatuses(events));
    expect([...(await statuses()).values()].sort()).toEqual(['active', null]);
  },
);

it('sends a record that is not an event to the dead-letter queue with the reason, and handles the rest of the batch', async () => {
  const event = aLambdaEvent(['no event', anAdvertStatusChanged({ advertId: '7' })]);

  expect(await handle(event)).toEqual([]);

  expect(await statuses()).toEqual(new Map([['main/7', 'active']]));
  const deadLetters = queues.inspectQueue('dead-letters')?.messages.ready ?? [];
  expect(deadLetters.map(({ messageAttributes }) => messageAttributes)).toMatchObject([
    { errorCode: { StringValue: 'not-an-event' } },
  ]);
});

it('returns an event that it could not write to the queue', async () => {
  vi.spyOn(DynamoDB.prototype, 'updateItem').mockImplementation(() => Promise.reject(new Error('throttled')));
  const said = vi.spyOn(console, 'error').mockImplementation(() => {});

  expect(await handle(aLambdaEvent([anAdvertStatusChanged(), 'no event']))).toEqual(['message-1']);

  expect(said.mock.calls[0]?.[0]).toContain('throttled');
});
