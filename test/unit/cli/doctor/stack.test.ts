import { readFileSync } from 'node:fs';
import { DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DescribeAlarmsCommand } from '@aws-sdk/client-cloudwatch';
import { ListRulesCommand } from '@aws-sdk/client-eventbridge';
import {
  GetFunctionConfigurationCommand,
  InvokeCommand,
  ResourceNotFoundException,
} from '@aws-sdk/client-lambda';
import { GetScheduleCommand } from '@aws-sdk/client-scheduler';
import { CreateQueueCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { serviceHold, stopped } from '../../../helpers/holds.ts';
import { cli } from '../run-cli.ts';
import { anAlarm, aSecret, type PlayedStack, startPlayedStack } from './played-stack.ts';
import { badIn, expectFound, resultsIn } from './results.ts';

let aws: Awaited<ReturnType<typeof startPlayedStack>>;
let stack: PlayedStack;

beforeAll(async () => {
  aws = await startPlayedStack();
});
afterAll(async () => void (await aws.stop()));
beforeEach(async () => {
  stack = await aws.begin();
});

const doctor = () => cli('doctor --json');
const named = (name: string, message = name) => Object.assign(new Error(message), { name, $metadata: {} });
const statement = (Sid: string, change: object) =>
  JSON.stringify({
    Statement: [
      { Sid, Effect: 'Allow', Principal: { AWS: '444455556666' }, Action: 'events:PutRule', ...change },
    ],
  });

/** Changes what AWS answers: properties that take the place of healthy ones, or any other act. */
type Plant = object | ((stack: PlayedStack) => unknown);

const policy = (Sid: string, change: object): Plant => ({ policy: statement(Sid, change) });
const attribute =
  (name: string, value: string, of: 'queue' | 'deadLetters' = 'queue'): Plant =>
  (stack) =>
    stack.setQueue(stack[of].url, { [name]: value });
const oddRow = { pk: { S: 'account' }, sk: { S: 'odd' }, etag: { S: 'e' }, value: { S: '{}' } };
const leadingAlarm = (change: object): Plant => ({
  alarms: [anAlarm('AdvertBridge-DeadLetters', change), anAlarm('AdvertBridge-NoSuccessfulDrain')],
});
const unconfirmed = { SubscriptionArn: 'PendingConfirmation', Endpoint: 'a@b.example', Protocol: 'email' };
const others = { v2: ['AWSCURRENT'], v1: ['AWSPREVIOUS'] };
const isGone = named('ResourceNotFoundException');
const leftQueue = 'AdvertBridge-ChangedAdverts3C-OLD.fifo';

/** What is found, where; how it came about; what mends it. */
const planted: readonly [is: string, found: string, plant: Plant, mend: RegExp | string][] = [
  [
    'an undone deployment',
    'stack warning',
    { stack: { StackStatus: 'UPDATE_ROLLBACK_COMPLETE' } },
    /^`aws cloudformation describe-stack-events/,
  ],
  [
    'a failed deployment',
    'stack fault',
    { stack: { StackStatus: 'UPDATE_ROLLBACK_FAILED' } },
    'npx cdk deploy',
  ],
  [
    'another version',
    'version warning',
    { outputs: { Version: '0.0.7' } },
    /npx cdk deploy.*command of 0\.0\.7/,
  ],
  [
    'a function that may not run',
    'functions fault',
    { functions: { FanOutFunctionName: { reserved: 0 } } },
    'aws lambda delete-function-concurrency --function-name FanOutFunctionName',
  ],
  [
    'a function with settings of its own',
    'functions fault',
    { functions: { ConnectFunctionName: { baseUrl: 'https://other.example' } } },
    'npx cdk deploy',
  ],
  [
    'a function that is gone',
    'functions fault',
    ({ mocks }) =>
      mocks.lambda
        .on(GetFunctionConfigurationCommand, { FunctionName: 'DrainFunctionName' })
        .rejects(new ResourceNotFoundException({ message: 'no', $metadata: {} })),
    'npx cdk deploy',
  ],
  [
    'a schedule that is switched off',
    'schedules fault',
    { schedules: { DrainScheduleName: 'DISABLED' } },
    /aws scheduler update-schedule --name DrainScheduleName --state ENABLED --schedule-expression 'rate\(1 minute\)' --description 'Reads the change feeds' .*--target '\{"Arn"/,
  ],
  [
    'a schedule that is gone',
    'schedules fault',
    ({ mocks }) => mocks.scheduler.on(GetScheduleCommand, { Name: 'DrainScheduleName' }).rejects(isGone),
    'npx cdk deploy --revert-drift',
  ],
  [
    'a mapping that is switched off',
    'event-source-mapping fault',
    { mapping: { State: 'Disabled' } },
    'aws lambda update-event-source-mapping --uuid uuid-1 --enabled',
  ],
  [
    'a mapping that deletes what failed',
    'event-source-mapping fault',
    { mapping: { FunctionResponseTypes: [] } },
    '--function-response-types ReportBatchItemFailures',
  ],
  ['no mapping', 'event-source-mapping fault', { mapping: undefined }, 'npx cdk deploy --revert-drift'],
  ['no redrive policy', 'queues fault', attribute('RedrivePolicy', ''), /RedrivePolicy.*maxReceiveCount/],
  ['a short timeout', 'queues warning', attribute('VisibilityTimeout', '30'), /VisibilityTimeout":"600"/],
  [
    'dead letters that are kept for a day',
    'queues warning',
    attribute('MessageRetentionPeriod', '86400', 'deadLetters'),
    /aws sqs set-queue-attributes .*MessageRetentionPeriod":"1209600"/,
  ],
  [
    'a deleted alarm',
    'alarms fault',
    { alarms: [anAlarm('AdvertBridge-DeadLetters')] },
    'aws cloudformation',
  ],
  [
    'an alarm without actions',
    'alarms fault',
    leadingAlarm({ ActionsEnabled: false }),
    'aws cloudwatch enable-alarm-actions --alarm-names AdvertBridge-DeadLetters',
  ],
  [
    'a raised alarm',
    'alarms warning',
    leadingAlarm({ StateValue: 'ALARM' }),
    'docs/operate/runbook.md#deadletters',
  ],
  [
    'alarms that are sent to nobody',
    'alarm-subscribers warning',
    ({ played }) => {
      played.alarms = played.alarms.map((alarm) => ({ ...alarm, AlarmActions: [] }));
    },
    'npx cdk deploy -c alarmEmail=ADDRESS',
  ],
  [
    'an address that has not confirmed',
    'alarm-subscribers fault',
    { subscriptions: [unconfirmed] },
    /aws sns subscribe .*--notification-endpoint a@b\.example/,
  ],
  ['a bus without a rule', 'subscribers warning', { rules: [] }, 'docs/subscribe/'],
  [
    'a rule that is switched off',
    'subscribers warning',
    { rules: [{ Name: 'billing', State: 'DISABLED' }] },
    'aws events enable-rule --name billing --event-bus-name adverts',
  ],
  ['a rule without a target', 'subscribers warning', { targets: 0 }, 'aws events put-targets --rule search'],
  [
    'a bus that is open to everybody',
    'bus-policy fault',
    policy('Open', { Principal: '*' }),
    'aws events remove-permission --event-bus-name adverts --statement-id Open',
  ],
  [
    'a bus on which others may publish',
    'bus-policy fault',
    policy('Put', { Action: ['events:PutEvents'] }),
    'aws events remove-permission --event-bus-name adverts --statement-id Put',
  ],
  ['no archive', 'archive warning', { archives: [] }, 'aws events create-archive'],
  [
    'tables without recovery',
    'table-recovery warning',
    { recovery: 'DISABLED' },
    'aws dynamodb update-continuous-backups --table-name table-',
  ],
  [
    'tables without protection',
    'tables warning',
    { protection: false },
    'aws dynamodb update-table --table-name table-',
  ],
  [
    'an empty application secret',
    'application-secret fault',
    ({ played }) => Object.assign(played, { application: {} }),
    'advert-bridge application --client-id ID --client-secret-stdin',
  ],
  [
    'an application secret about to be deleted',
    'application-secret fault',
    { application: { DeletedDate: new Date() } },
    'aws secretsmanager restore-secret --secret-id advert-bridge/application',
  ],
  [
    'no application secret',
    'application-secret fault',
    { application: undefined },
    'aws secretsmanager create-secret --name advert-bridge/application',
  ],
  [
    'credentials that the service refuses',
    'application-credentials fault',
    { answer: { kind: 'refused', fault: 'client-rejected', reason: 'invalid_client' } },
    'advert-bridge application --client-id ID --client-secret-stdin',
  ],
  ['a clock that is off', 'clock warning', { answer: { clockOffSeconds: -300 } }, 'tell the partner service'],
  [
    'a partner account that is stopped',
    'partner-accounts fault',
    ({ changeAccount }) => changeAccount(stopped('refresh-token-rejected')),
    'advert-bridge connect main --open',
  ],
  ['a row that cannot be read', 'partner-accounts fault', ({ put }) => put(oddRow), 'docs/operate/backup.md'],
  ['a lost token pair', 'token-secrets fault', { secrets: [] }, 'advert-bridge connect main --open'],
  [
    'a token pair about to be deleted',
    'token-secrets fault',
    { secrets: [aSecret('main', { DeletedDate: new Date() })] },
    'aws secretsmanager restore-secret --secret-id advert-bridge/partner-accounts/main',
  ],
  [
    'a token pair written by somebody else',
    'token-secrets warning',
    { secrets: [aSecret('main', { SecretVersionsToStages: others })] },
    'advert-bridge connect main --open',
  ],
  [
    'a secret of an earlier stack',
    'leftovers warning',
    { secrets: [aSecret('main'), aSecret('old')] },
    /advert-bridge connect old.*aws secretsmanager delete-secret/,
  ],
  [
    'a table of an earlier stack',
    'leftovers warning',
    async ({ leaveTable }) => onTestFinished(await leaveTable('AdvertBridge-FeedState1A-OLD')),
    /--no-deletion-protection-enabled`, then `aws dynamodb delete-table --table-name AdvertBridge-FeedState1A-OLD/,
  ],
  [
    'a queue of an earlier stack',
    'leftovers warning',
    async ({ queue, removeQueue }) => {
      const asked = new CreateQueueCommand({ QueueName: leftQueue, Attributes: { FifoQueue: 'true' } });
      const { QueueUrl = '' } = await queue.client.send(asked);
      onTestFinished(async () => void (await removeQueue(QueueUrl)));
    },
    'aws sqs delete-queue --queue-url',
  ],
];

async function plantIn(plant: Plant): Promise<void> {
  if (typeof plant === 'function') return void (await plant(stack));
  const isRecord = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  for (const [name, value] of Object.entries(plant)) {
    const healthy: unknown = Reflect.get(stack.played, name);
    const both = isRecord(value) && isRecord(healthy) ? { ...Object(healthy), ...value } : value;
    Reflect.set(stack.played, name, both);
  }
}

/** Verbs of operations that change nothing. */
const reading = /^(Describe|Get|List|Query|BatchGet)[A-Z]?/;

/** Nothing but reads, and the one question that the connect function passes on to the service. */
function expectOnlyReads(): void {
  const others = stack.calls().filter(({ operation }) => !reading.test(operation));
  expect(others.map(({ operation, input }) => [operation, (input as { Payload?: string }).Payload])).toEqual(
    others.map(() => ['Invoke', '{"action":"check"}']),
  );
  expect(others.length).toBeLessThanOrEqual(1);
  expect(stack.calls().map(({ operation }) => operation)).not.toContain('GetSecretValue');
}

describe('doctor of a stack', () => {
  it('finds nothing where all is right', async () => {
    stack.forgetCalls();

    const ended = await doctor();

    expect(badIn(resultsIn(ended))).toEqual([]);
    expect(resultsIn(ended).filter(({ result }) => result === 'skipped')).toEqual([]);
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    expectOnlyReads();
    expect(stack.calls().length).toBeGreaterThan(25);
  });

  it.each(planted)('finds %s, and nothing else', async (_is, found, plant, mend) => {
    await plantIn(plant);
    stack.forgetCalls();

    expectFound(await doctor(), { found, mend });

    expectOnlyReads();
  });

  it.each([
    [
      'organizations that the stack names keep rules of their own',
      'OrganizationMakeRules',
      { Condition: { StringEquals: { 'aws:PrincipalOrgID': 'o-1' } } },
    ],
    ['the owner of another bus decide on its policy', 'Other', {}],
  ])('lets %s', async (_, Sid, change) => {
    stack.played.ownsBus = Sid !== 'Other';
    stack.played.policy = statement(Sid, { Principal: '*', ...change });

    expect(badIn(resultsIn(await doctor()))).toEqual([]);
  });

  it('asks nothing of the service while it is to be left alone', async () => {
    const value = { nextSlotMs: 0, holds: [serviceHold('service', Date.now() + 600_000)] };
    await stack.put({
      ...{ pk: { S: 'bridge' }, sk: { S: 'budget' } },
      ...{ etag: { S: 'e' }, value: { S: JSON.stringify(value) } },
    });

    await doctor();

    expect(stack.mocks.lambda.commandCalls(InvokeCommand)).toEqual([]);
  });
});

describe('docs/operate/doctor.md', () => {
  const page = readFileSync('docs/operate/doctor.md', 'utf8');
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \| ([^|]+) \|/gm)].map(([, name = '', where = '']) => ({
    name,
    where: where.trim(),
  }));
  const documented = (kind: string) =>
    rows.filter(({ where }) => [kind, 'both'].includes(where)).map(({ name }) => name);
  const namesOf = async (args: string) => resultsIn(await cli(args)).map(({ name }) => name);

  it('lists every check, of each kind of bridge', async () => {
    expect(documented('stack').toSorted()).toEqual((await namesOf('doctor --json')).toSorted());
    expect(documented('embedded').toSorted()).toEqual(
      (await namesOf('doctor --json --local no-such-folder')).toSorted(),
    );
  });

  it('lists the permissions that the calls need, and no other', async () => {
    stack.forgetCalls();
    await doctor();
    const [, actions = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];

    const made = new Set(stack.calls().map(({ action }) => action));
    made.delete('sts:GetCallerIdentity'); // Nobody needs a permission for it.
    const { Statement } = JSON.parse(actions) as { Statement: { Action: string[] }[] };
    expect(Statement.flatMap(({ Action }) => Action).toSorted()).toEqual([...made].toSorted());
  });
});

describe('a stack that is not there', () => {
  it('is the one fault: all that needs it is skipped', async () => {
    stack.mocks.cloudFormation
      .on(DescribeStacksCommand)
      .rejects(named('ValidationError', 'Stack with id AdvertBridge does not exist'));

    const ended = await doctor();

    expectFound(ended, {
      found: 'stack fault',
      mend: 'npx cdk deploy',
    });
    const skipped = resultsIn(ended).filter(({ result }) => result === 'skipped');
    expect(skipped.length).toBeGreaterThan(15);
    for (const { says } of skipped)
      expect(says).toMatch(/^needs the stack: see stack$|see application-credentials/);
  });
});

describe('credentials that AWS refuses', () => {
  it('are the one fault: all else is skipped', async () => {
    stack.played.unknown = named('ExpiredTokenException');
    stack.mocks.cloudFormation.on(DescribeStacksCommand).rejects(stack.played.unknown);

    const ended = await doctor();

    expectFound(ended, {
      found: 'identity fault',
      mend: 'aws sso login',
    });
    expect(new Set(resultsIn(ended).map(({ result }) => result))).toEqual(new Set(['fault', 'skipped']));
  });
});

describe('a table that is gone', () => {
  it('is what every check says that reads it', async () => {
    await stack.dropTable(stack.tables.feedState);

    const ended = await doctor();

    const bad = resultsIn(ended).filter(({ result }) => result === 'fault');
    expect(bad.map(({ name }) => name)).toContain('token-secrets');
    for (const { mend } of bad) expect(mend).toMatch(/^Restore it: docs\/operate\/backup\.md/);
    expect(await cli('status')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/a table of the bridge is gone.*docs\/operate\/backup.md/),
    });
  });
});

describe('a check that fails itself', () => {
  const denied = (action: string) =>
    named('AccessDeniedException', `User: me is not authorized to perform: ${action} on resource: r`);

  it('names the permission that it lacks', async () => {
    stack.mocks.cloudWatch.on(DescribeAlarmsCommand).rejects(denied('cloudwatch:DescribeAlarms'));

    const checks = resultsIn(await doctor());

    expect(badIn(checks)).toEqual(['alarms fault', 'alarm-subscribers fault']);
    expect(checks.find(({ name }) => name === 'alarms')).toMatchObject({
      says: 'could not be checked: AWS denies cloudwatch:DescribeAlarms',
      mend: 'Allow cloudwatch:DescribeAlarms to whoever runs doctor',
    });
  });

  it('says that AWS does not answer', async () => {
    stack.mocks.scheduler.on(GetScheduleCommand).rejects(named('TimeoutError'));

    expectFound(await doctor(), {
      found: 'schedules fault',
      mend: 'Check the network and AWS_REGION',
    });
  });

  it('is skipped where an emulator does not know the call', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL', 'http://127.0.0.1:4566');
    stack.mocks.events.on(ListRulesCommand).rejects(named('UnknownOperationException'));

    const ended = await doctor();

    expect(ended.exitCode).toBe(0);
    expect(resultsIn(ended).find(({ name }) => name === 'subscribers')).toEqual({
      name: 'subscribers',
      result: 'skipped',
      says: 'http://127.0.0.1:4566 does not know this call',
      mend: null,
    });
  });

  it('says what nobody foresaw, too', async () => {
    stack.mocks.scheduler.on(GetScheduleCommand).rejects(new TypeError('x is not a function'));

    expectFound(await doctor(), {
      found: 'schedules fault',
      mend: 'Report this',
    });
  });
});
