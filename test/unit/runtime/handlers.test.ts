import type { Context, SQSEvent, SQSRecord } from 'aws-lambda';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createBookKeeper } from '../../../shared/aws/sqs.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { createActivityStore } from '../../../shared/state/activity.ts';
import { createAside, createDeadLetters } from '../../../shared/state/aside.ts';
import { createPartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { startDynamo, startSqs } from '../../helpers/aws/emulators.ts';
import { aMessage } from '../../helpers/aws/fixtures.ts';
import { playCloud } from './played-cloud.ts';

const context = {
  awsRequestId: 'request-1',
  functionName: 'bridge',
  getRemainingTimeInMillis: () => 20_000,
} as Context;
const { generation } = aMessage();
const connectedAt = '2026-11-20T11:00:00Z';

const record = (messageId: string, body: string): SQSRecord => ({
  messageId,
  receiptHandle: `receipt-${messageId}`,
  body,
  attributes: {
    ApproximateReceiveCount: '1',
    SentTimestamp: String(Date.now()),
    SenderId: '',
    ApproximateFirstReceiveTimestamp: '',
    SequenceNumber: '1',
  },
  messageAttributes: {},
  md5OfBody: '',
  eventSource: 'aws:sqs',
  eventSourceARN: '',
  awsRegion: '',
});

describe('the handlers, over emulated services', () => {
  let dynamo: Awaited<ReturnType<typeof startDynamo>>;
  let sqs: Awaited<ReturnType<typeof startSqs>>;
  let cloud: Awaited<ReturnType<typeof playCloud>>;
  let table: Awaited<ReturnType<typeof dynamo.feedStateTable>>;
  let statusTable: typeof table;
  let queue: ReturnType<typeof sqs.createQueue>;
  let letters: typeof queue;

  beforeAll(async () => {
    [dynamo, sqs, cloud] = await Promise.all([startDynamo(), startSqs(), playCloud()]);
    [table, statusTable] = await Promise.all([dynamo.feedStateTable(), dynamo.advertStatusTable()]);
    [queue, letters] = [sqs.createQueue(), sqs.createQueue()];
  });
  afterAll(() => Promise.all([dynamo.stop(), sqs.stop(), cloud.stop()]));

  beforeEach(() => {
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const environment = {
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: '000000000000',
      AWS_SECRET_ACCESS_KEY: 'test',
      AWS_ENDPOINT_URL: cloud.url,
      AWS_ENDPOINT_URL_DYNAMODB: dynamo.url,
      AWS_ENDPOINT_URL_SQS: sqs.url,
      SETTINGS: JSON.stringify({ partnerBaseUrl: cloud.url, maxRequestsPerSecond: 1000 }),
      NAME_PREFIX: 'advert-bridge',
      FEED_STATE_TABLE: table.name,
      ADVERT_STATUS_TABLE: statusTable.name,
      EVENT_BUS_NAME: 'adverts',
      QUEUE_URL: queue.url,
      DEAD_LETTER_QUEUE_URL: letters.url,
      REFRESH_TOKEN_FUNCTION: 'refresh-token',
      PARTNER_SECRET_POLICY: '{}',
    };
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  });

  it('fan-out publishes, counts, dead-letters what it cannot read, and reports what goes back', async () => {
    const token = { version: 'version-1', expiresAt: Date.parse('2030-01-01T00:00:00Z'), usedAt: Date.now() };
    await createPartnerAccounts(createStore({ feedState: table })).add({
      name: 'main',
      generation,
      connectedAt,
      token,
    });
    cloud.secrets.set('advert-bridge/partner-accounts/main', {
      accessToken: 'access',
      refreshToken: 'refresh',
      scope: 'v2 read write',
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
      obtainedAt: connectedAt,
      generation,
    });
    cloud.adverts.set('/api/partner/adverts/123', {
      status: 200,
      body: { data: { id: 123, status: 'active' } },
    });
    cloud.adverts.set('/api/partner/adverts/9', { status: 200, body: { data: { id: 9 } } });
    const { handler } = await import('../../../functions/fan-out/handler.ts');
    const event: SQSEvent = {
      Records: [
        record('m1', JSON.stringify(aMessage('123'))),
        record('m2', JSON.stringify(aMessage('9'))),
        record('m3', 'not ours'),
        record('m4', JSON.stringify(aMessage('1', { generation: generation - 1 }))),
      ],
    };

    const result = await handler(event, context);

    expect(result).toEqual({ batchItemFailures: [{ itemIdentifier: 'm2' }] });
    expect(cloud.published).toEqual([
      { DetailType: 'AdvertStatusChanged', advertId: '123', status: 'active', previousStatus: null },
    ]);
    const store = createStore({ feedState: table });
    const deadLetters = createDeadLetters(store);
    expect((await deadLetters.list()).map(({ letter }) => letter.fault)).toEqual(['malformed-message']);
    const bookKeeper = createBookKeeper({
      ...{ store, queue, deadLetters },
      aside: createAside(store),
    });
    expect(await bookKeeper.read('main', generation)).toMatchObject({ events: 1, deadLettered: 0 });
    const { minutes = {} } = (await createActivityStore(store).read()) ?? {};
    expect(Object.values(minutes)).toMatchObject([{ ok: 1, 'contract-broken': 1 }]);
  });

  it('drain does what the schedule asks for when it is invoked with {}', async () => {
    const { handler } = await import('../../../functions/drain/handler.ts');
    expect(await handler({}, context)).toMatchObject({ polls: [], stopped: [] });
  });

  it('refresh-token sweeps when it is invoked with {}, and connects and forgets nobody', async () => {
    const { handler } = await import('../../../functions/refresh-token/handler.ts');
    expect(await handler({}, context)).toEqual({ refreshed: [], failed: [] });
    const forget = { action: 'disconnect', partnerAccount: 'main', forget: true };
    await expect(handler(forget, context)).rejects.toMatchObject({ code: 'wrong-shape' });
    expect(await createPartnerAccounts(createStore({ feedState: table })).read('main')).toMatchObject({
      generation,
    });
  });

  it('connect says what a connect was refused for', async () => {
    const { handler } = await import('../../../functions/connect/handler.ts');
    const connect = { action: 'connect', partnerAccount: 'new', refreshToken: 'refresh' };
    expect(await handler(connect, context)).toMatchObject({ kind: 'refused', fault: 'wrong-shape' });
  });
});
