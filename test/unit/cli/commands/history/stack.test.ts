import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import {
  CloudWatchLogsClient,
  GetQueryResultsCommand,
  StartQueryCommand,
} from '@aws-sdk/client-cloudwatch-logs';
import { GetFunctionConfigurationCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { GetQueueAttributesCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFeedStates } from '../../../../../shared/aws/feed-states.ts';
import { createStore } from '../../../../../shared/aws/store.ts';
import { outputs } from '../../../../../shared/contract/names.ts';
import { advertEvent } from '../../../../../shared/domain/advert-event.ts';
import { createAdvertHistories } from '../../../../../shared/state/advert-histories.ts';
import { createPartnerAccounts } from '../../../../../shared/state/partner-accounts.ts';
import { startDynamo } from '../../../../helpers/aws/emulators.ts';
import { mockClient } from '../../../../helpers/aws/mock-client.ts';
import { describedStack } from '../../../../helpers/aws/stack-outputs.ts';
import { stubAws } from '../../../../helpers/aws/stub-aws.ts';
import { changedAdvert, feedState, partnerAccount } from '../../../../helpers/records.ts';
import { cli } from '../../run-cli.ts';

const cloudFormation = mockClient(CloudFormationClient);
const lambda = mockClient(LambdaClient);
const sqs = mockClient(SQSClient);
const logs = mockClient(CloudWatchLogsClient);
const mocks = [cloudFormation, lambda, sqs, logs];

let dynamo: Awaited<ReturnType<typeof startDynamo>>;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(async () => {
  for (const mock of mocks) mock.restore();
  await dynamo.stop();
});

const listedAt = new Date(Date.now() - 60_000).toISOString();
const message = changedAdvert({ correlationId: 'page-1', listedAt });
const key = {
  partnerAccount: 'main',
  generation: message.generation,
  feed: 'adverts',
  advertId: '123',
} as const;

beforeEach(async () => {
  for (const mock of mocks) mock.reset();
  const [feedStateTable, advertStatusTable] = [
    await dynamo.feedStateTable(),
    await dynamo.advertStatusTable(),
  ];
  stubAws({ dynamoDb: dynamo.url });
  const tables = {
    [outputs.feedStateTableName]: feedStateTable.name,
    [outputs.advertStatusTableName]: advertStatusTable.name,
  };
  cloudFormation.on(DescribeStacksCommand).resolves({ Stacks: [describedStack(tables)] });
  lambda.on(GetFunctionConfigurationCommand).callsFake(({ FunctionName }) => ({
    LoggingConfig: { LogGroup: `logs-of-${FunctionName}` },
    Environment: {
      Variables: {
        SETTINGS: JSON.stringify({ partnerBaseUrl: 'https://partner.example' }),
        NAME_PREFIX: 'advert-bridge',
        ...{ FEED_STATE_TABLE: 't', ADVERT_STATUS_TABLE: 't', EVENT_BUS_NAME: 'b', QUEUE_URL: 'q' },
        ...{ DEAD_LETTER_QUEUE_URL: 'q', REFRESH_TOKEN_FUNCTION: 'f' },
      },
    },
  }));
  sqs.on(ReceiveMessageCommand).resolves({});
  queueHolds(0);
  await createPartnerAccounts(createStore({ feedState: feedStateTable })).add(partnerAccount());
  await createFeedStates(feedStateTable).register(feedState({ lastSuccess: Date.now() - 30_000 }));
  const seen = {
    bridge: 'AdvertBridge',
    status: 'active',
    previousStatus: null,
    sequence: 1,
    observedAt: Date.now() - 120_000,
  };
  await createAdvertHistories(createStore({ advertStatus: advertStatusTable })).write(key, {
    ...{
      sequence: 1,
      status: 'active',
      envelope: JSON.stringify(advertEvent(message, seen)),
      by: message.key,
    },
    ...{ pending: false, etag: 'absent' },
  });
  logHas();
});

const queueHolds = (count: number) =>
  sqs.on(GetQueueAttributesCommand).resolves({ Attributes: { ApproximateNumberOfMessages: String(count) } });

/** When the log has its lines: after the event was observed. */
const loggedMs = Math.floor(Date.now() / 1000) * 1000 - 60_000;
const at = (second: number) => new Date(loggedMs + second * 1000).toISOString();

/** The results of Logs Insights for each query, newest first. */
function logHas(...lines: readonly (readonly [group: string, fields: object])[]): void {
  logs.on(StartQueryCommand).callsFake(({ queryString }) => ({ queryId: queryString }));
  logs.on(GetQueryResultsCommand).callsFake(({ queryId }: { queryId: string }) => {
    const words = [...queryId.matchAll(/"([\w-]+)"/g)].map(([word]) => word);
    const found = lines.map(([group, fields], index) => ({ group, index, text: JSON.stringify(fields) }));
    return {
      status: 'Complete',
      results: found
        .filter(({ text }) => words.some((word) => text.includes(word)))
        .map(({ group, index, text }) => [
          {
            field: '@timestamp',
            value: at(9 - index)
              .replace('T', ' ')
              .replace('Z', ''),
          },
          { field: '@message', value: text },
          { field: '@log', value: `111122223333:${group}` },
        ]),
    };
  });
}

const drain = 'logs-of-DrainFunctionName';
const fanOut = 'logs-of-FanOutFunctionName';
const accepted = { level: 'INFO', message: 'page accepted', partnerAccount: 'main', correlationId: 'page-1' };
const batch = (adverts: object, more = {}) => ({
  level: 'INFO',
  message: 'batch handled',
  pages: [
    { partnerAccount: 'other', correlationId: 'page-9', adverts: { retry: ['123'] } },
    { partnerAccount: 'main', correlationId: 'page-1', adverts, ...more },
  ],
});
const history = async () => JSON.parse((await cli('history main 123 --json')).stdout);

describe('history of a stack', () => {
  it('tells the log lines of the advert and of its page, and of no other partner account', async () => {
    queueHolds(3);
    logHas([fanOut, batch({ events: ['7', '123'] })], [drain, accepted]);

    const text = await cli('history main 123');

    expect(await history()).toMatchObject({
      outcome: 'published',
      latestPublished: true,
      log: [
        { at: at(8), from: 'drain', message: 'page accepted', correlationId: 'page-1' },
        { at: at(9), from: 'fan-out', became: 'events', correlationId: 'page-1' },
      ],
      answer: expect.stringContaining('nothing of the advert is known to wait (SQS does not show'),
    });
    expect(text.stdout).toContain(`${at(9)} fan-out: batch handled: events (page page-1)`);
    const [{ args } = { args: [{ input: undefined }] }] = logs.commandCalls(StartQueryCommand);
    expect(args[0].input).toMatchObject({ logGroupNames: [drain, fanOut] });
    expect(args[0].input?.queryString).toContain('filter @message like /"123"/');
  });

  it('names the message that came back', async () => {
    queueHolds(1);
    logHas([fanOut, batch({ retry: ['123'] }, { redelivered: { 123: 2 } })], [drain, accepted]);

    expect(await history()).toMatchObject({
      outcome: 'waits-in-queue',
      latestPublished: true,
      waiting: [{ key: 'page-1:123', listedAt: at(8), cause: null, receives: 2 }],
    });
  });

  it('names the permission that is missing', async () => {
    const denied = new Error('User: me is not authorized to perform: logs:StartQuery on resource: r');
    logs.on(StartQueryCommand).rejects(Object.assign(denied, { name: 'AccessDeniedException' }));

    expect(await cli('history main 123')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(
        'AWS denies it: User: me is not authorized to perform: logs:StartQuery',
      ),
    });
  });
});
