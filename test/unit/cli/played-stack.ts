/** A healthy stack: DynamoDB, SQS and STS on emulators in this process, all else of AWS played. Every call is written down. */
import {
  CloudFormationClient,
  DescribeStacksCommand,
  ListStackResourcesCommand,
  type Stack,
} from '@aws-sdk/client-cloudformation';
import {
  CloudWatchClient,
  DescribeAlarmsCommand,
  GetMetricDataCommand,
  type MetricAlarm,
} from '@aws-sdk/client-cloudwatch';
import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ListTablesCommand,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import {
  DescribeEventBusCommand,
  EventBridgeClient,
  ListArchivesCommand,
  ListRulesCommand,
  ListTargetsByRuleCommand,
  type Rule,
} from '@aws-sdk/client-eventbridge';
import {
  GetFunctionConcurrencyCommand,
  GetFunctionConfigurationCommand,
  InvokeCommand,
  LambdaClient,
  ListEventSourceMappingsCommand,
} from '@aws-sdk/client-lambda';
import { GetScheduleCommand, SchedulerClient, type ScheduleState } from '@aws-sdk/client-scheduler';
import {
  DescribeSecretCommand,
  ListSecretsCommand,
  ResourceNotFoundException,
  type SecretListEntry,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { ListSubscriptionsByTopicCommand, SNSClient, type Subscription } from '@aws-sdk/client-sns';
import { DeleteQueueCommand, SetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { STSClient } from '@aws-sdk/client-sts';
import { afterAll, beforeAll, beforeEach, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { createStore } from '../../../shared/aws/store.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import { createFeedStates } from '../../../shared/state/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { startDynamo, startSqs } from '../../helpers/aws/emulators.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';
import { describedStack } from '../../helpers/aws/stack-outputs.ts';
import { stubAws } from '../../helpers/aws/stub-aws.ts';
import { feedState, partnerAccount } from '../../helpers/records.ts';

const topic = 'arn:aws:sns:eu-central-1:111122223333:alarms';

interface Call {
  /** As in the IAM action: `dynamodb:DescribeTable`. */
  readonly action: string;
  /** Such as `DescribeTable`. */
  readonly operation: string;
  readonly input: unknown;
}

/** The emulated services' answers; a test changes them before it runs `doctor`. */
const healthy = () => ({
  stack: {} as Partial<Stack>,
  outputs: {} as Record<string, string>,
  functions: {} as Record<string, { State?: 'Failed'; reserved?: number; baseUrl?: string }>,
  schedules: {
    DrainScheduleName: 'ENABLED',
    RefreshTokenScheduleName: 'ENABLED',
  } as Record<string, ScheduleState>,
  mapping: { State: 'Enabled', FunctionResponseTypes: ['ReportBatchItemFailures'] } as
    | Record<string, unknown>
    | undefined,
  alarms: [anAlarm('AdvertBridge-DeadLetters'), anAlarm('AdvertBridge-NoSuccessfulDrain')] as MetricAlarm[],
  subscriptions: [
    { SubscriptionArn: `${topic}:1`, Endpoint: 'a@b.example', Protocol: 'email' },
  ] as Subscription[],
  rules: [{ Name: 'search', State: 'ENABLED' }] as Rule[],
  targets: 1,
  /** Whether the bus was made by the stack. */
  ownsBus: true,
  policy: undefined as string | undefined,
  archives: [{ State: 'ENABLED' }] as object[],
  application: { VersionIdsToStages: { v1: ['AWSCURRENT'] } } as object | undefined,
  secrets: [aSecret('main')] as SecretListEntry[],
  /** Error with which AWS answers GetCallerIdentity; undefined: it answers normally. */
  unknown: undefined as Error | undefined,
  recovery: 'ENABLED' as 'ENABLED' | 'DISABLED',
  protection: true,
  answer: { kind: 'accepted', scope: 'v2 read write', clockOffSeconds: 0 } as object,
});

/** Of the drain; names of the other resources are read from the stack. */
const drainEnvironment = {
  ...{ NAME_PREFIX: 'advert-bridge', FEED_STATE_TABLE: 'a', ADVERT_STATUS_TABLE: 'b', QUEUE_URL: 'c' },
  REFRESH_TOKEN_FUNCTION: 'RefreshTokenFunctionName',
};

export const anAlarm = (AlarmName: string, change: Partial<MetricAlarm> = {}): MetricAlarm => ({
  AlarmName,
  ActionsEnabled: true,
  AlarmActions: [topic],
  StateValue: 'OK',
  AlarmDescription: 'Severity: high. Runbook: docs/operate/runbook.md#deadletters',
  ...change,
});

export const aSecret = (account: string, change: Partial<SecretListEntry> = {}): SecretListEntry => ({
  Name: `advert-bridge/partner-accounts/${account}`,
  SecretVersionsToStages: { v1: ['AWSCURRENT'] },
  ...change,
});

export async function startPlayedStack() {
  const [dynamo, sqs] = await Promise.all([startDynamo(), startSqs()]);
  const mocks = {
    cloudFormation: mockClient(CloudFormationClient),
    cloudWatch: mockClient(CloudWatchClient),
    events: mockClient(EventBridgeClient),
    lambda: mockClient(LambdaClient),
    scheduler: mockClient(SchedulerClient),
    secretsManager: mockClient(SecretsManagerClient),
    sns: mockClient(SNSClient),
  };
  const emulated: Call[] = [];

  /** The emulators' own answers, with what they do not know. */
  function watchEmulators(played: Played): void {
    for (const [service, client] of [
      ['dynamodb', DynamoDBClient],
      ['sqs', SQSClient],
      ['sts', STSClient],
    ] as const) {
      const prototype = client.prototype as { send: (command: object) => Promise<object> };
      const { send } = prototype;
      vi.spyOn(prototype, 'send').mockImplementation(async function (this: object, command) {
        emulated.push(callOf(service, command as Sent));
        if (service === 'sts' && played.unknown) throw played.unknown;
        if (command instanceof DescribeContinuousBackupsCommand) {
          const PointInTimeRecoveryDescription = { PointInTimeRecoveryStatus: played.recovery };
          return { ContinuousBackupsDescription: { PointInTimeRecoveryDescription } };
        }
        const answer = await send.call(this, command);
        if (!(command instanceof DescribeTableCommand)) return answer;
        const { Table } = answer as { Table: object };
        return { ...answer, Table: { ...Table, DeletionProtectionEnabled: played.protection } };
      });
    }
  }

  function play(played: Played, names: Readonly<Record<string, string>>): void {
    const { cloudFormation, cloudWatch, events, lambda, scheduler, secretsManager, sns } = mocks;
    cloudFormation.on(DescribeStacksCommand).callsFake(async () => ({
      Stacks: [{ ...describedStack({ ...names, ...played.outputs }), ...played.stack }],
    }));
    const resource = (type: string, LogicalResourceId: string, PhysicalResourceId = LogicalResourceId) => ({
      ...{ ResourceType: `AWS::${type}`, LogicalResourceId, PhysicalResourceId },
    });
    cloudFormation.on(ListStackResourcesCommand).callsFake(async () => ({
      StackResourceSummaries: [
        resource('DynamoDB::Table', 'FeedState1A', names.FeedStateTableName),
        resource('DynamoDB::Table', 'AdvertStatus2B', names.AdvertStatusTableName),
        ...(played.ownsBus ? [resource('Events::EventBus', 'Bus', 'adverts')] : []),
        resource('SQS::Queue', 'ChangedAdverts3C', names.QueueUrl),
        resource('CloudWatch::Alarm', 'AdvertBridge-DeadLetters'),
        resource('CloudWatch::Alarm', 'AdvertBridge-NoSuccessfulDrain'),
      ],
    }));
    lambda.on(GetFunctionConfigurationCommand).callsFake(async ({ FunctionName }) => {
      const { State = 'Active', baseUrl = 'https://partner.example' } = played.functions[FunctionName] ?? {};
      const SETTINGS = JSON.stringify({ partnerBaseUrl: baseUrl });
      const Variables = { ...drainEnvironment, SETTINGS };
      return { State, LastUpdateStatus: 'Successful', Environment: { Variables } };
    });
    lambda.on(GetFunctionConcurrencyCommand).callsFake(async ({ FunctionName }) => ({
      ReservedConcurrentExecutions: played.functions[FunctionName]?.reserved,
    }));
    lambda.on(ListEventSourceMappingsCommand).callsFake(async () => {
      const EventSourceArn = arnOf(names.QueueUrl ?? '');
      return {
        EventSourceMappings: played.mapping ? [{ UUID: 'uuid-1', EventSourceArn, ...played.mapping }] : [],
      };
    });
    lambda.on(InvokeCommand).callsFake(async () => ({ Payload: Buffer.from(JSON.stringify(played.answer)) }));
    scheduler.on(GetScheduleCommand).callsFake(async ({ Name }) => ({
      State: played.schedules[Name],
      Description: 'Reads the change feeds',
      ScheduleExpression: 'rate(1 minute)',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: {
        Arn: `arn:aws:lambda:eu-central-1:111122223333:function:${Name.replace('Schedule', 'Function')}`,
        ...{ RoleArn: 'role', Input: '{}' },
      },
    }));
    cloudWatch.on(DescribeAlarmsCommand).callsFake(async ({ StateValue: only }) => ({
      MetricAlarms: played.alarms.filter(({ StateValue }) => only === undefined || StateValue === only),
    }));
    cloudWatch.on(GetMetricDataCommand).resolves({ MetricDataResults: [] });
    sns.on(ListSubscriptionsByTopicCommand).callsFake(async () => ({ Subscriptions: played.subscriptions }));
    const ofArchive = { Name: 'Events-Archive-x', ManagedBy: 'prod.vhs.events.aws.internal' };
    const ofTail = { Name: 'advert-bridge-tail-1', State: 'ENABLED' } as const;
    events.on(ListRulesCommand).callsFake(async () => ({ Rules: [...played.rules, ofArchive, ofTail] }));
    events
      .on(ListTargetsByRuleCommand)
      .callsFake(async () => ({ Targets: Array.from({ length: played.targets }, () => ({})) }));
    events.on(DescribeEventBusCommand).callsFake(async () => ({ Policy: played.policy }));
    events.on(ListArchivesCommand).callsFake(async () => ({ Archives: played.archives }));
    secretsManager.on(DescribeSecretCommand).callsFake(async () => {
      if (played.application) return played.application;
      throw new ResourceNotFoundException({ message: 'no', $metadata: {} });
    });
    secretsManager.on(ListSecretsCommand).callsFake(async () => ({ SecretList: played.secrets }));
  }

  async function begin() {
    for (const mock of Object.values(mocks)) mock.reset();
    vi.restoreAllMocks();
    emulated.length = 0;
    const played = healthy();
    const table = await dynamo.feedStateTable();
    const advertStatusTable = await dynamo.advertStatusTable();
    const [queue, deadLetters] = [sqs.createQueue(), sqs.createQueue()];
    const direct = table.client;
    const store = createStore({ feedState: table, advertStatus: advertStatusTable });
    const accounts = createPartnerAccounts(store);
    const setQueue = (QueueUrl: string, Attributes: Record<string, string>) =>
      queue.client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }));
    const kept = { MessageRetentionPeriod: '1209600' };
    const redrive = { deadLetterTargetArn: arnOf(deadLetters.url), maxReceiveCount: 1000 };
    await setQueue(deadLetters.url, kept);
    await setQueue(queue.url, {
      ...{ ...kept, VisibilityTimeout: '600', RedrivePolicy: JSON.stringify(redrive) },
    });
    await accounts.add(connected());
    await createFeedStates(store).register(feedState());
    stubAws({ region: 'us-east-1', dynamoDb: dynamo.url, sqs: sqs.url });
    vi.stubEnv('AWS_ENDPOINT_URL_STS', sqs.url);
    play(played, {
      FeedStateTableName: table.name,
      AdvertStatusTableName: advertStatusTable.name,
      QueueUrl: queue.url,
      DeadLetterQueueUrl: deadLetters.url,
      Version: packageJson.version,
      EventBusArn: 'arn:aws:events:eu-central-1:111122223333:event-bus/adverts',
      EventBusName: 'adverts',
    });
    watchEmulators(played);

    async function dropTable(TableName: string): Promise<void> {
      await direct.send(new DeleteTableCommand({ TableName }));
      const listed = async () => (await direct.send(new ListTablesCommand({}))).TableNames ?? [];
      while ((await listed()).includes(TableName));
    }

    return {
      ...{ played, mocks, queue, deadLetters, store, accounts, setQueue, dropTable },
      tables: { feedState: table.name, advertStatus: advertStatusTable.name },
      /** Puts an item into the feed-state table as it is. */
      put: (item: Record<string, object>) =>
        direct.send(new PutItemCommand({ TableName: table.name, Item: item as never })),
      /** A table as an earlier stack of the same name has left it. @returns takes it away again */
      async leaveTable(TableName: string): Promise<() => Promise<void>> {
        const key = { AttributeName: 'pk', AttributeType: 'S' } as const;
        await direct.send(
          new CreateTableCommand({
            ...{ TableName, BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: [key] },
            KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
          }),
        );
        return () => dropTable(TableName);
      },
      removeQueue: (QueueUrl: string) => queue.client.send(new DeleteQueueCommand({ QueueUrl })),
      /** Every call to AWS since the stack was made. */
      calls: (): Call[] => [
        ...emulated,
        ...Object.entries(mocks).flatMap(([service, mock]) =>
          mock.calls().map(({ args: [command] }) => callOf(service, command)),
        ),
      ],
      forgetCalls(): void {
        emulated.length = 0;
        for (const mock of Object.values(mocks)) mock.resetHistory();
      },
    };
  }

  return { begin, createQueue: sqs.createQueue, stop: () => Promise.all([dynamo.stop(), sqs.stop()]) };
}

/** A healthy stack for each test of a file. */
export function beforeEachStack(begun: (stack: PlayedStack) => void): void {
  let aws: Awaited<ReturnType<typeof startPlayedStack>>;
  beforeAll(async () => {
    aws = await startPlayedStack();
  });
  beforeEach(async () => begun(await aws.begin()));
  afterAll(async () => void (await aws.stop()));
}

type Played = ReturnType<typeof healthy>;
export type PlayedStack = Awaited<ReturnType<Awaited<ReturnType<typeof startPlayedStack>>['begin']>>;

interface Sent {
  readonly input: unknown;
}

/** Where IAM calls an action otherwise than the SDK does. */
const renamed: Readonly<Record<string, string>> = { 'lambda:Invoke': 'lambda:InvokeFunction' };

function callOf(service: string, command: Sent): Call {
  const operation = command.constructor.name.replace(/Command$/, '');
  const action = `${service.toLowerCase()}:${operation}`;
  return { operation, input: command.input, action: renamed[action] ?? action };
}

const arnOf = (queueUrl: string): string =>
  `arn:aws:sqs:us-east-1:000000000000:${queueUrl.split('/').at(-1)}`;

const connected = (): PartnerAccount =>
  partnerAccount({
    connectedAt: new Date().toISOString(),
    token: { version: 'v1', expiresAt: Date.now() + 86_400_000, usedAt: Date.now() },
  });
