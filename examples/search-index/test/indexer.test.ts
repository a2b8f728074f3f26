import type { AddressInfo } from 'node:net';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import type { SQSEvent, SQSRecord } from 'aws-lambda';
import dynalite from 'dynalite';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';

const server = dynalite({ createTableMs: 0 });
let endpoint = '';
let dynamodb: DynamoDB;
let TableName = '';
let tables = 0;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  endpoint = `http://127.0.0.1:${port}`;
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  dynamodb = new DynamoDB({ endpoint, region: 'eu-central-1', credentials });
});
afterAll(() => {
  dynamodb.destroy();
  server.close();
});
beforeEach(async () => {
  vi.stubEnv('AWS_ENDPOINT_URL', endpoint);
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  await newTable();
});

async function newTable(): Promise<void> {
  TableName = `adverts-${tables++}`;
  await dynamodb.createTable({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  });
  while ((await dynamodb.describeTable({ TableName })).Table?.TableStatus !== 'ACTIVE');
}

const anEvent = (sequence: number, status: string | null, advertId = '7', generation = 1763640000) => ({
  source: 'advert-bridge',
  'detail-type': status === null ? 'AdvertUnavailable' : 'AdvertStatusChanged',
  time: '2026-11-20T12:00:00Z',
  resources: [`advert-bridge/main/advert/${advertId}`],
  detail: {
    metadata: {
      eventId: `main/${generation}/${advertId}/${sequence}`,
      schemaVersion: '1.0',
      partnerAccount: 'main',
      generation,
      sequence,
      listedAt: '2026-11-20T12:00:00Z',
      observedAt: '2026-11-20T12:00:00Z',
      cause: 'feed',
      correlationId: 'read-1',
    },
    data: { advertId, status, previousStatus: null },
  },
});

/** What Lambda says of a batch of bodies. */
async function handle(...bodies: unknown[]): Promise<string[]> {
  vi.stubEnv('TABLE_NAME', TableName);
  // Its client reads the environment above.
  const { handler } = await import('../indexer.ts');
  const Records = bodies.map(
    (body, index) =>
      ({ messageId: `m${index}`, body: typeof body === 'string' ? body : JSON.stringify(body) }) as SQSRecord,
  );
  const { batchItemFailures } = await handler({ Records } satisfies SQSEvent);
  return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
}

async function statuses(): Promise<Record<string, string | null>> {
  const { Items = [] } = await dynamodb.scan({ TableName, ConsistentRead: true });
  return Object.fromEntries(Items.map(({ pk, status }) => [pk?.S, status?.S ?? null]));
}

it('ends at the newest status of each advert, whatever the order, however often an event comes', async () => {
  const history = [
    ...['new', 'active', 'sold'].map((status, index) => anEvent(index + 1, status)),
    // Forgotten and connected again: the numbers begin anew, in a greater generation.
    anEvent(1, 'active', '7', 1763650000),
    ...['active', null].map((status, index) => anEvent(index + 1, status, '8')),
  ];
  const deliveries = fc.shuffledSubarray([...history, ...history], { minLength: history.length * 2 });

  await fc.assert(
    fc.asyncProperty(deliveries, fc.integer({ min: 1, max: 10 }), async (delivered, batchSize) => {
      await newTable();
      for (let at = 0; at < delivered.length; at += batchSize) {
        expect(await handle(...delivered.slice(at, at + batchSize))).toEqual([]);
      }
      expect(await statuses()).toEqual({ 'main/7': 'active', 'main/8': null });
    }),
    { numRuns: 25 },
  );
});

it('gives back what is no event, and keeps the rest of the batch', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});

  expect(await handle('no JSON', anEvent(1, 'active'), { source: 'another' })).toEqual(['m0', 'm2']);
  expect(await statuses()).toEqual({ 'main/7': 'active' });
});

it('leaves out events that are about no advert', async () => {
  const event = anEvent(1, 'x');
  const stopped = {
    ...event,
    'detail-type': 'PartnerAuthorizationRequired',
    detail: { metadata: event.detail.metadata, data: { reason: 'disconnected' } },
  };

  expect(await handle(stopped)).toEqual([]);
  expect(await statuses()).toEqual({});
});
