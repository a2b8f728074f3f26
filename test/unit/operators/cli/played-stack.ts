/** A healthy stack: DynamoDB, SQS and STS on emulators in this process, all else of AWS played. Every call is written down. */
import { CloudFormationClient, type Stack } from '@aws-sdk/client-cloudformation';
import { CloudWatchClient, type MetricAlarm } from '@aws-sdk/client-cloudwatch';
import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  ListTablesCommand,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { EventBridgeClient, type Rule } from '@aws-sdk/client-eventbridge';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SchedulerClient, type ScheduleState } from '@aws-sdk/client-scheduler';
import {
  ResourceNotFoundException,
  type SecretListEntry,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { SNSClient, type Subscription } from '@aws-sdk/client-sns';
import { DeleteQueueCommand, SetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { STSClient } from '@aws-sdk/client-sts';
import { afterAll, beforeAll, beforeEach, vi } from 'vitest';
import packageJson from '../../../../package.json' with { type: 'json' };
import { createStore } from '../../../../shared/aws/store.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { createFeedStates } from '../../../../shared/state/feed-states.ts';
import { createPartnerAccounts } from '../../../../shared/state/partner-accounts.ts';
import { startDynamo, startSqs } from '../../../helpers/aws/emulators.ts';
import { describedStack } from '../../../helpers/aws/stack-outputs.ts';
import { stubAws } from '../../../helpers/aws/stub-aws.ts';
import { feedState, partnerAccount } from '../../../helpers/records.ts';

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
  policy: policyOf(),
  customPolicy: policyOf(),
  customBusState: 'ACTIVE',
  subscribers: [{ Name: 'search', State: 'RUNNING' }] as object[],
  archives: [{ State: 'ENABLED' }] as object[],
  application: { VersionIdsToStages: { v1: ['AWSCURRENT'] } } as object | undefined,
  secrets: [aSecret('main')] as SecretListEntry[],
  /** Error with which AWS answers GetCallerIdentity; undefined: it answers normally. */
  unknown: undefined as Error | undefined,
  recovery: 'ENABLED' as 'ENABLED' | 'DISABLED',
  protection: true,
  metrics: [] as object[],
  /** Of an invoked function: the next ones, then always the last one. */
  answers: [] as object[],
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
  AlarmDescription: 'Severity: attention. Runbook: docs/operate/runbook.md#deadletters',
  ...change,
});

export const aSecret = (account: string, change: Partial<SecretListEntry> = {}): SecretListEntry => ({
  Name: `advert-bridge/partner-accounts/${account}`,
  SecretVersionsToStages: { v1: ['AWSCURRENT'] },
  ...change,
});

/** The policy of a bus, with what each has. */
export const policyOf = (...statements: readonly object[]): string =>
  JSON.stringify({ Statement: [{ Sid: 'PublishOnlyByBridge', Effect: 'Deny' }, ...statements] });

type Input = Readonly<Record<string, string>>;
/** @param emulated asks the emulator, of the services that have one */
type Answer = (input: Input, emulated: () => Promise<object>) => unknown;

/** What AWS answers by operation, where it is not the emulator alone. */
const answersOf = (played: Played, names: Input): Record<string, Answer> => ({
  DescribeStacks: () => ({
    Stacks: [{ ...describedStack({ ...names, ...played.outputs }), ...played.stack }],
  }),
  ListStackResources: () => ({
    StackResourceSummaries: [
      ['DynamoDB::Table', 'FeedState1A', names.FeedStateTableName],
      ['DynamoDB::Table', 'AdvertStatus2B', names.AdvertStatusTableName],
      ...(played.ownsBus ? [['Events::EventBus', 'Bus', 'adverts']] : []),
      ['SQS::Queue', 'ChangedAdverts3C', names.QueueUrl],
      ['CloudWatch::Alarm', 'AdvertBridge-DeadLetters'],
      ['CloudWatch::Alarm', 'AdvertBridge-NoSuccessfulDrain'],
    ].map(([type, LogicalResourceId, PhysicalResourceId = LogicalResourceId]) => ({
      ...{ ResourceType: `AWS::${type}`, LogicalResourceId, PhysicalResourceId },
    })),
  }),
  GetFunctionConfiguration: ({ FunctionName = '' }) => {
    const { State = 'Active', baseUrl = 'https://partner.example' } = played.functions[FunctionName] ?? {};
    const Variables = { ...drainEnvironment, SETTINGS: JSON.stringify({ partnerBaseUrl: baseUrl }) };
    return { State, LastUpdateStatus: 'Successful', Environment: { Variables } };
  },
  GetFunctionConcurrency: ({ FunctionName = '' }) => ({
    ReservedConcurrentExecutions: played.functions[FunctionName]?.reserved,
  }),
  ListEventSourceMappings: () => {
    const EventSourceArn = arnOf(names.QueueUrl ?? '');
    return {
      EventSourceMappings: played.mapping ? [{ UUID: 'uuid-1', EventSourceArn, ...played.mapping }] : [],
    };
  },
  Invoke: () => ({ Payload: Buffer.from(JSON.stringify(played.answers.shift() ?? played.answer)) }),
  GetSchedule: ({ Name = '' }) => ({
    State: played.schedules[Name],
    Description: 'Reads the change feeds',
    ScheduleExpression: 'rate(1 minute)',
    FlexibleTimeWindow: { Mode: 'OFF' },
    Target: {
      Arn: `arn:aws:lambda:eu-central-1:111122223333:function:${Name.replace('Schedule', 'Function')}`,
      ...{ RoleArn: 'role', Input: '{}' },
    },
  }),
  DescribeAlarms: ({ StateValue: only }) => ({
    MetricAlarms: played.alarms.filter(({ StateValue }) => only === undefined || StateValue === only),
  }),
  GetMetricData: () => ({ MetricDataResults: played.metrics }),
  ListSubscriptionsByTopic: () => ({ Subscriptions: played.subscriptions }),
  ListRules: () => {
    const ofArchive = { Name: 'Events-Archive-x', ManagedBy: 'prod.vhs.events.aws.internal' };
    return { Rules: [...played.rules, ofArchive, { Name: 'advert-bridge-tail-1', State: 'ENABLED' }] };
  },
  ListTargetsByRule: () => ({ Targets: Array.from({ length: played.targets }, () => ({})) }),
  DescribeEventBus: ({ EventBusArn }) =>
    EventBusArn === undefined ? { Policy: played.policy } : { State: played.customBusState },
  GetResourcePolicy: () => ({ PolicyDocument: played.customPolicy }),
  ListSubscribers: () => ({ Subscribers: played.subscribers }),
  ListArchives: () => ({ Archives: played.archives }),
  PutEvents: ({ Entries }) => ({ Entries: [Entries].flat().map(() => ({ EventId: 'x' })) }),
  PutSecretValue: () => ({}),
  DescribeSecret: () => {
    if (played.application) return played.application;
    throw new ResourceNotFoundException({ message: 'no', $metadata: {} });
  },
  ListSecrets: () => ({ SecretList: played.secrets }),
  GetCallerIdentity: (_, emulated) => {
    if (played.unknown) throw played.unknown;
    return emulated();
  },
  DescribeContinuousBackups: () => {
    const PointInTimeRecoveryDescription = { PointInTimeRecoveryStatus: played.recovery };
    return { ContinuousBackupsDescription: { PointInTimeRecoveryDescription } };
  },
  DescribeTable: async (_, emulated) => {
    const answer = (await emulated()) as { Table: object };
    return { ...answer, Table: { ...answer.Table, DeletionProtectionEnabled: played.protection } };
  },
});

const emulated = { dynamodb: DynamoDBClient, sqs: SQSClient, sts: STSClient };
const services = {
  ...{ cloudformation: CloudFormationClient, cloudwatch: CloudWatchClient, events: EventBridgeClient },
  ...{ lambda: LambdaClient, scheduler: SchedulerClient, secretsmanager: SecretsManagerClient },
  ...{ sns: SNSClient, ...emulated },
};

interface Sender {
  send(command: { readonly input: Input; readonly schema: readonly string[] }): Promise<object>;
}

/** Has every client of AWS answer from the table. @returns the calls, which are added as they are made */
function playAws(answers: Readonly<Record<string, Answer>>): Call[] {
  const calls: Call[] = [];
  for (const [service, { prototype }] of Object.entries(services)) {
    const sender = prototype as Sender;
    const { send } = sender;
    vi.spyOn(sender, 'send').mockImplementation(async function (this: object, command) {
      // Commands of our own client have a name in their schema alone.
      const [, , operation = ''] = command.schema;
      const action = `${service}:${operation}`;
      calls.push({ operation, input: command.input, action: renamed[action] ?? action });
      const ask = async () => {
        if (service in emulated) return send.call(this, command);
        throw new Error(`${action} is not played here`);
      };
      return (await (answers[operation] ?? (() => ask()))(command.input, ask)) as object;
    });
  }
  return calls;
}

/** Has AWS refuse a call. */
export const refusing =
  (error: Error): Answer =>
  () => {
    throw error;
  };

/** A healthy stack for each test of a file. */
export function beforeEachStack(begun: (stack: PlayedStack) => void): void {
  let emulators: Emulators;
  beforeAll(async () => {
    emulators = await Promise.all([startDynamo(), startSqs()]);
  });
  beforeEach(async () => begun(await beginStack(emulators)));
  afterAll(async () => void (await Promise.all(emulators.map((each) => each.stop()))));
}

type Emulators = [Awaited<ReturnType<typeof startDynamo>>, Awaited<ReturnType<typeof startSqs>>];

async function beginStack([dynamo, sqs]: Emulators) {
  vi.restoreAllMocks();
  const played = healthy();
  const table = await dynamo.feedStateTable();
  const advertStatusTable = await dynamo.advertStatusTable();
  const [queue, deadLetters] = [sqs.createQueue(), sqs.createQueue()];
  const direct = table.client;
  const store = createStore({ feedState: table, advertStatus: advertStatusTable });
  const partnerAccounts = createPartnerAccounts(store);
  const setQueue = (QueueUrl: string, Attributes: Record<string, string>) =>
    queue.client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes }));
  const kept = { MessageRetentionPeriod: '1209600' };
  const redrive = { deadLetterTargetArn: arnOf(deadLetters.url), maxReceiveCount: 1000 };
  await setQueue(deadLetters.url, kept);
  await setQueue(queue.url, {
    ...{ ...kept, VisibilityTimeout: '600', RedrivePolicy: JSON.stringify(redrive) },
  });
  await partnerAccounts.add(connectedAccount());
  await createFeedStates(store).register(feedState());
  stubAws({ region: 'us-east-1', dynamoDb: dynamo.url, sqs: sqs.url });
  vi.stubEnv('AWS_ENDPOINT_URL_STS', sqs.url);
  const answers = answersOf(played, {
    FeedStateTableName: table.name,
    AdvertStatusTableName: advertStatusTable.name,
    QueueUrl: queue.url,
    DeadLetterQueueUrl: deadLetters.url,
    Version: packageJson.version,
    EventBusArn: 'arn:aws:events:eu-central-1:111122223333:event-bus/adverts',
    EventBusName: 'adverts',
  });
  const calls = playAws(answers);

  async function dropTable(TableName: string): Promise<void> {
    await direct.send(new DeleteTableCommand({ TableName }));
    const listed = async () => (await direct.send(new ListTablesCommand({}))).TableNames ?? [];
    while ((await listed()).includes(TableName));
  }

  return {
    ...{
      played,
      answers,
      createQueue: sqs.createQueue,
      queue,
      deadLetters,
      store,
      partnerAccounts,
      setQueue,
      dropTable,
    },
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
    /** Every call to AWS since the stack was made, or since they were forgotten. */
    calls: (): readonly Call[] => calls,
    /** What was asked for by one operation. */
    inputsOf: <I>(asked: string) =>
      calls.filter(({ operation }) => operation === asked).map(({ input }) => input as I),
    forgetCalls: () => void calls.splice(0),
  };
}

type Played = ReturnType<typeof healthy>;
export type PlayedStack = Awaited<ReturnType<typeof beginStack>>;

/** Where IAM calls an action otherwise than the SDK does. */
const renamed: Readonly<Record<string, string>> = { 'lambda:Invoke': 'lambda:InvokeFunction' };

const arnOf = (queueUrl: string): string =>
  `arn:aws:sqs:us-east-1:000000000000:${queueUrl.split('/').at(-1)}`;

export const connectedAccount = (): PartnerAccount =>
  partnerAccount({
    connectedAt: new Date().toISOString(),
    token: { version: 'v1', expiresAt: Date.now() + 86_400_000, usedAt: Date.now() },
  });
