import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { CloudWatchClient, DescribeAlarmsCommand, GetMetricDataCommand } from '@aws-sdk/client-cloudwatch';
import { DeleteTableCommand } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient, ListRulesCommand } from '@aws-sdk/client-eventbridge';
import {
  GetFunctionConfigurationCommand,
  InvokeCommand,
  LambdaClient,
  ListEventSourceMappingsCommand,
} from '@aws-sdk/client-lambda';
import { GetScheduleCommand, SchedulerClient } from '@aws-sdk/client-scheduler';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { stackClients } from '../../../operations/stack-clients.ts';
import type { StackOutputs } from '../../../operations/stack-outputs.ts';
import { readPast } from '../../../operations/stack-state.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Table } from '../../../shared/aws/store.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { outputs } from '../../../shared/contract/names.ts';
import { createAdvertHistories } from '../../../shared/state/advert-histories.ts';
import { createFeedStates } from '../../../shared/state/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { startDynamo } from '../../helpers/aws/emulators.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';
import { describedStack } from '../../helpers/aws/stack-outputs.ts';
import { stubAws } from '../../helpers/aws/stub-aws.ts';
import { feedState, partnerAccount } from '../../helpers/records.ts';
import { cli } from './run-cli.ts';

const cloudFormation = mockClient(CloudFormationClient);
const secrets = mockClient(SecretsManagerClient);
const lambda = mockClient(LambdaClient);
const sqs = mockClient(SQSClient);
const scheduler = mockClient(SchedulerClient);
const cloudWatch = mockClient(CloudWatchClient);
const sts = mockClient(STSClient);
const events = mockClient(EventBridgeClient);
const mocks = [cloudFormation, secrets, lambda, sqs, scheduler, cloudWatch, sts, events];

let dynamo: Awaited<ReturnType<typeof startDynamo>>;
const aMapping = (State: string) => ({
  ...{ UUID: 'mapping-1', State, EventSourceArn: 'QueueUrl' },
  FunctionResponseTypes: ['ReportBatchItemFailures' as const],
});
let feedStateTable: Table;
let advertStatusTable: Table;

beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(async () => {
  for (const mock of mocks) mock.restore();
  await dynamo.stop();
});

beforeEach(async () => {
  for (const mock of mocks) mock.reset();
  feedStateTable = await dynamo.feedStateTable();
  advertStatusTable = await dynamo.advertStatusTable();
  stubAws({ dynamoDb: dynamo.url });
  const tableNames = {
    [outputs.feedStateTableName]: feedStateTable.name,
    [outputs.advertStatusTableName]: advertStatusTable.name,
  };
  cloudFormation.on(DescribeStacksCommand).resolves({ Stacks: [describedStack(tableNames)] });
  sqs.on(GetQueueAttributesCommand).resolves({ Attributes: { ApproximateNumberOfMessages: '0' } });
  scheduler.on(GetScheduleCommand).resolves({ State: 'ENABLED' });
  lambda.on(ListEventSourceMappingsCommand).resolves({
    EventSourceMappings: [aMapping('Enabled')],
  });
  cloudWatch.on(DescribeAlarmsCommand).resolves({ MetricAlarms: [] });
  cloudWatch.on(GetMetricDataCommand).resolves({ MetricDataResults: [] });
  events.on(ListRulesCommand).resolves({
    Rules: [
      { Name: 'search', State: 'ENABLED' },
      { Name: 'Events-Archive-1', State: 'ENABLED' },
      { Name: 'advert-bridge-tail-1', State: 'ENABLED' },
    ],
  });
});

const store = () => createStore({ feedState: feedStateTable, advertStatus: advertStatusTable });
const drainEnvironment = {
  SETTINGS: JSON.stringify({ partnerBaseUrl: 'https://partner.example' }),
  NAME_PREFIX: 'advert-bridge',
  FEED_STATE_TABLE: 'FeedStateTableName',
  ADVERT_STATUS_TABLE: 'AdvertStatusTableName',
  QUEUE_URL: 'QueueUrl',
  REFRESH_TOKEN_FUNCTION: 'RefreshTokenFunctionName',
};

const answer = (value: object) => ({ Payload: Buffer.from(JSON.stringify(value)) as never });
const requests = () =>
  lambda.commandCalls(InvokeCommand).map(({ args: [{ input }] }) => ({
    functionName: input.FunctionName,
    payload: JSON.parse(String(input.Payload)),
  }));

describe('application', () => {
  it('stores the credentials in the secret of the stack', async () => {
    const ended = await cli('application --client-id a --client-secret-stdin', { stdin: 'hush\n' });

    expect(ended).toMatchObject({ exitCode: 0, stdout: '' });
    const [call] = secrets.commandCalls(PutSecretValueCommand);
    expect(call?.args[0].input).toEqual({
      SecretId: 'advert-bridge/application',
      SecretString: JSON.stringify({ clientId: 'a', clientSecret: 'hush' }),
    });
  });

  it('says that the stack has to be deployed when the secret is missing', async () => {
    secrets
      .on(PutSecretValueCommand)
      .rejects(new ResourceNotFoundException({ message: 'no', $metadata: {} }));

    expect(await cli('application --client-id a --client-secret-stdin', { stdin: 'hush' })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('there is no secret advert-bridge/application: deploy the stack'),
    });
  });
});

const connected = {
  ...{ partnerAccount: 'main', generation: 7, scope: 'v2 read write', isNew: true },
  tokenExpiresAt: '2026-11-20T12:00:00.000Z',
};

describe('connect', () => {
  const connect = (args = '') => cli(`connect main --refresh-token-stdin${args}`, { stdin: 'token-1\n' });

  it('has the connect function connect, and gives what it answers', async () => {
    const account = { ...connected, feed: { kind: 'read', listed: 0, hasMore: false } };
    lambda.on(InvokeCommand).resolves(answer({ kind: 'connected', ...account }));

    const { exitCode, stdout } = await connect(' --json --since 2026-11-20T13:00:00+01:00');

    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual(account);
    expect(requests()).toEqual([
      {
        functionName: 'ConnectFunctionName',
        payload: {
          action: 'connect',
          partnerAccount: 'main',
          refreshToken: 'token-1',
          since: '2026-11-20T12:00:00.000Z',
        },
      },
    ]);
  });

  it('has it make the address and hands it the code that the browser brings, in no other way', async () => {
    const account = {
      ...connected,
      feed: { kind: 'failed', fault: 'transient', reason: 'GET /api/partner/status/adverts answered 503' },
    };
    lambda
      .on(InvokeCommand)
      .resolvesOnce(answer({ kind: 'authorize', url: 'https://partner.example/oauth/authorize/?state=x' }))
      .resolvesOnce(answer({ kind: 'connected', ...account }));
    let page: Promise<Response> | undefined;
    const onOutput = (text: string) => {
      const redirectUri = /back to (http:\S+),/.exec(text)?.[1];
      if (redirectUri === undefined) return;
      const { state } = requests()[0]?.payload ?? {};
      page = fetch(`${redirectUri}?code=one-time-code&state=${state}`);
    };

    const ended = await cli('connect main --port 0', { onOutput });

    const [authorize, handedIn] = requests().map(({ payload }) => payload);
    expect(authorize).toEqual({
      action: 'authorize',
      state: expect.stringMatching(/^[\w-]{43}$/),
      redirectUri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
    });
    expect(handedIn).toEqual({
      action: 'connect',
      partnerAccount: 'main',
      code: 'one-time-code',
      redirectUri: authorize.redirectUri,
    });
    expect(ended).toMatchObject({ exitCode: 3, stdout: '' });
    expect(ended.stderr).toContain('The first request for its feed failed (transient)');
    expect(ended.stderr).not.toContain('one-time-code');
    expect(await (await page)?.text()).toContain('but the first request for its feed failed');
  });
});

describe('pause and resume', () => {
  it('write with the caller’s own credentials, and in the caller’s name', async () => {
    const who = 'arn:aws:sts::111122223333:assumed-role/operator/ann';
    sts.on(GetCallerIdentityCommand).resolves({ Arn: who });
    const accounts = createPartnerAccounts(store());
    await accounts.add(partnerAccount());

    expect(await cli('pause main --for 1h --reason quiet')).toMatchObject({ exitCode: 0 });
    expect(await cli('pause')).toMatchObject({ exitCode: 0 });

    const { partnerAccounts: shown, paused } = JSON.parse((await cli('status --json')).stdout);
    expect(shown[0]).toMatchObject({ state: 'paused', paused: { who, reason: 'quiet' } });
    expect(paused).toMatchObject({ who, until: null, reason: null });
    await cli('resume main');
    expect(await cli('resume')).toMatchObject({ exitCode: 0 });
    expect(await accounts.read('main')).toEqual(partnerAccount());
    expect(requests()).toEqual([]);
  });
});

describe('poll', () => {
  it('has the drain function ask, and gives what it answers', async () => {
    await createPartnerAccounts(store()).add(partnerAccount());
    const found = {
      polls: [{ partnerAccount: 'main', feed: 'adverts', end: 'up-to-date', pages: 1, listed: 2 }],
      notPolled: [],
    };
    lambda.on(InvokeCommand).resolves(answer(found));

    const { exitCode, stdout } = await cli('poll main --json');

    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual(found);
    expect(requests()).toEqual([
      { functionName: 'DrainFunctionName', payload: { action: 'poll', partnerAccount: 'main' } },
    ]);
  });
});

describe('status', () => {
  it('reads the tables and the queues', async () => {
    await createPartnerAccounts(store()).add(partnerAccount({ connectedAt: new Date().toISOString() }));
    const feeds = createFeedStates(store(), { countsListed: true });
    await feeds.register(feedState());

    const { exitCode, stdout } = await cli('status --json');

    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      partnerAccounts: [
        { name: 'main', state: 'polling', lastSuccess: null, books: { listed: 0, inFlight: 0 } },
      ],
      queue: { waiting: 0, deadLetters: 0 },
      oldestWaitingSeconds: null,
      lastDrain: null,
      pausedUntil: null,
      pauseReason: null,
      schedule: 'enabled',
      mapping: 'enabled',
      alarms: [],
      rules: [{ name: 'search', state: 'enabled' }],
      attention: [],
      version: { deployed: 'Version', command: packageJson.version },
    });
    expect(scheduler.commandCalls(GetScheduleCommand).map(({ args }) => args[0].input.Name)).toEqual([
      'DrainScheduleName',
      'RefreshTokenScheduleName',
    ]);
    expect(Object.keys(JSON.parse(stdout).partnerAccounts[0].books).join()).toBe(
      'listed,events,unchanged,coalesced,unavailable,deadLettered,inFlight',
    );
  });
});

describe('what AWS runs, in status', () => {
  it.each<[string, () => unknown, object, RegExp]>([
    [
      'a schedule that is switched off',
      () => scheduler.on(GetScheduleCommand, { Name: 'DrainScheduleName' }).resolves({ State: 'DISABLED' }),
      { schedule: 'drain disabled', attention: ['schedule'] },
      /`aws scheduler update-schedule --name DrainScheduleName --state ENABLED /,
    ],
    [
      'a table that is gone',
      () => advertStatusTable.client.send(new DeleteTableCommand({ TableName: advertStatusTable.name })),
      { attention: ['table'] },
      /^Not delivering: Table .*\n.*docs\/operate\/backup\.md/s,
    ],
    [
      'an alarm that is raised',
      () =>
        cloudWatch
          .on(DescribeAlarmsCommand, { AlarmNamePrefix: 'AdvertBridge-', StateValue: 'ALARM' })
          .resolves({
            MetricAlarms: [{ AlarmName: 'AdvertBridge-DeadLetters', AlarmDescription: 'Look at x.' }],
          }),
      { alarms: [{ name: 'DeadLetters', says: 'Look at x.', since: null }], attention: ['alarm'] },
      /The alarm DeadLetters is raised\. Look at x\./,
    ],
    [
      'what may not be looked at',
      () =>
        cloudWatch
          .on(DescribeAlarmsCommand)
          .rejects(Object.assign(new Error('no cloudwatch:DescribeAlarms'), { name: 'AccessDenied' })),
      { alarms: null, schedule: 'enabled', attention: ['unseen'] },
      /AWS did not show the alarms \(AccessDenied: no cloudwatch:DescribeAlarms\)\. .*deploy\.md#what-status-/,
    ],
  ])('%s is left for a person', async (_what, given, expected, sentence) => {
    await given();

    const asJson = await cli('status --json');

    expect(JSON.parse(asJson.stdout)).toMatchObject(expected);
    const asText = await cli('status');
    expect([asJson.exitCode, asText.exitCode]).toEqual([3, 3]);
    expect(asText.stdout).toMatch(sentence);
  });

  it('tells how old the oldest message is, where any waits', async () => {
    cloudWatch.on(GetMetricDataCommand).resolves({ MetricDataResults: [{ Values: [600, 540] }] });
    const waits = async () => JSON.parse((await cli('status --json')).stdout).oldestWaitingSeconds;

    expect(await waits()).toBeNull();
    sqs
      .on(GetQueueAttributesCommand, { QueueUrl: 'QueueUrl' })
      .resolves({ Attributes: { ApproximateNumberOfMessages: '1' } });
    expect(await waits()).toBe(600);
    const [call] = cloudWatch.commandCalls(GetMetricDataCommand);
    expect(call?.args[0].input.MetricDataQueries?.[0]?.MetricStat?.Metric).toMatchObject({
      MetricName: 'ApproximateAgeOfOldestMessage',
      Dimensions: [{ Name: 'QueueName', Value: 'QueueUrl' }],
    });
  });

  it('reads the last half hour of its plots from CloudWatch', async () => {
    const [first, second] = [new Date(60_000), new Date(120_000)];
    cloudWatch.on(GetMetricDataCommand).resolves({
      MetricDataResults: [
        { Id: 'lag', Timestamps: [second, first], Values: [7, 3] },
        { Id: 'events', Timestamps: [second], Values: [40] },
      ],
    });
    const stack = { queueUrl: 'https://sqs.example/1/QueueUrl' } as StackOutputs;
    const clients = stackClients(onTestFinished);

    expect(await readPast({ bridge: 'AdvertBridge', outputs: stack, clients }, 180_000)).toEqual([
      { atMs: 120_000, values: { lag: 7, events: 40 } },
      { atMs: 60_000, values: { lag: 3 } },
    ]);
    const [call] = cloudWatch.commandCalls(GetMetricDataCommand);
    const wanted = call?.args[0].input.MetricDataQueries?.map(({ MetricStat }) => MetricStat?.Metric);
    expect(wanted).toMatchObject([
      { MetricName: 'FeedLagSeconds', Dimensions: [{ Name: 'service', Value: 'advert-bridge' }] },
      { Namespace: 'AWS/SQS', Dimensions: [{ Name: 'QueueName', Value: 'QueueUrl' }] },
      { Namespace: 'AdvertBridge', MetricName: 'Events' },
    ]);
  });

  it('does not make a mapping that is just changing a cause', async () => {
    lambda.on(ListEventSourceMappingsCommand).resolves({ EventSourceMappings: [aMapping('Updating')] });
    expect(await cli('status')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('mapping updating'),
    });
  });
});

describe('disconnect', () => {
  it('removes the history before the name is forgotten', async () => {
    await createPartnerAccounts(store()).add(partnerAccount());
    const histories = createAdvertHistories(store());
    const key = {
      partnerAccount: 'main',
      generation: 1_763_640_000,
      feed: 'adverts',
      advertId: '1',
    } as const;
    await histories.write(key, { sequence: 1, status: 'active', pending: false, etag: 'absent' });
    lambda
      .on(InvokeCommand)
      .resolvesOnce(answer({ kind: 'forgetting', generation: key.generation }))
      .resolves(answer({ kind: 'forgotten' }));

    expect(await cli('disconnect main --forget --yes')).toMatchObject({ exitCode: 0 });

    expect(await histories.read(key)).toBeUndefined();
    expect(requests().map(({ payload }) => payload)).toEqual([
      { action: 'disconnect', partnerAccount: 'main', forget: true },
      { action: 'forget', partnerAccount: 'main', generation: 1_763_640_000 },
    ]);
  });
});

describe('catching up', () => {
  const denied = (action: string) =>
    Object.assign(new Error(`User: me is not authorized to perform: ${action} on resource: r`), {
      name: 'AccessDeniedException',
    });
  const role = 'Run this command with the role CatchUpRoleArn (output CatchUpRoleArn)';

  beforeEach(async () => {
    await createPartnerAccounts(store()).add(partnerAccount());
    await createFeedStates(store(), { countsListed: true }).register(feedState());
    lambda.on(GetFunctionConfigurationCommand).resolves({
      Environment: { Variables: drainEnvironment },
    });
  });

  it.each(['backfill main', 'resync main --since 2026-11-20T12:00:00Z'])(
    'names the role that may read tokens, where AWS denies that: %s',
    async (command) => {
      secrets.on(GetSecretValueCommand).rejects(denied('secretsmanager:GetSecretValue'));

      const { exitCode, stderr } = await cli(command);

      expect(exitCode).toBe(1);
      expect(stderr).toContain('AWS denies it: User: me is not authorized to perform: secretsmanager:Get');
      expect(stderr).toContain('Tokens are read by roles of the bridge alone');
      expect(stderr).toContain(role);
      expect(stderr).toContain('docs/operate/deploy.md');
      expect(stderr).not.toContain('partner service');
    },
  );
});

describe('what keeps a stack from being reached', () => {
  it('a stack of another kind is told by its outputs', async () => {
    cloudFormation
      .on(DescribeStacksCommand)
      .resolves({ Stacks: [{ StackName: 'X', StackStatus: 'CREATE_COMPLETE', CreationTime: new Date() }] });

    expect(await cli('status --stack X')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('it is no Advert Bridge'),
    });
  });
});
