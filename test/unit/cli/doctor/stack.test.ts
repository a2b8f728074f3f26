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
import { badIn, type Expected, expectFound, resultsIn } from './results.ts';

let aws: Awaited<ReturnType<typeof startPlayedStack>>;
let stack: PlayedStack;

beforeAll(async () => {
  aws = await startPlayedStack();
});
afterAll(() => aws.stop());
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

const planted: (Expected & { readonly is: string; readonly plant: (stack: PlayedStack) => unknown })[] = [
  {
    is: 'a deployment that was undone',
    plant: ({ played }) => Object.assign(played.stack, { StackStatus: 'UPDATE_ROLLBACK_COMPLETE' }),
    found: 'stack warning',
    mend: 'aws cloudformation describe-stack-events --stack-name AdvertBridge',
  },
  {
    is: 'a deployment that failed',
    plant: ({ played }) => Object.assign(played.stack, { StackStatus: 'UPDATE_ROLLBACK_FAILED' }),
    found: 'stack fault',
    mend: 'npx cdk deploy',
  },
  {
    is: 'a stack of another version',
    plant: ({ played }) => Object.assign(played.outputs, { Version: '0.0.7' }),
    found: 'version warning',
    mend: /npx cdk deploy.*the command of 0\.0\.7/,
  },
  {
    is: 'a function that may not run',
    plant: ({ played }) => Object.assign(played.functions, { FanOutFunctionName: { reserved: 0 } }),
    found: 'functions fault',
    mend: 'aws lambda delete-function-concurrency --function-name FanOutFunctionName',
  },
  {
    is: 'a function with settings of its own',
    plant: ({ played }) =>
      Object.assign(played.functions, { ConnectFunctionName: { baseUrl: 'https://other.example' } }),
    found: 'functions fault',
    mend: 'npx cdk deploy',
  },
  {
    is: 'a function that is gone',
    plant: ({ mocks }) =>
      mocks.lambda
        .on(GetFunctionConfigurationCommand, { FunctionName: 'DrainFunctionName' })
        .rejects(new ResourceNotFoundException({ message: 'no', $metadata: {} })),
    found: 'functions fault',
    mend: 'npx cdk deploy',
  },
  {
    is: 'a schedule that is switched off',
    plant: ({ played }) => Object.assign(played.schedules, { DrainScheduleName: 'DISABLED' }),
    found: 'schedules fault',
    mend: /aws scheduler update-schedule --name DrainScheduleName --state ENABLED --schedule-expression 'rate\(1 minute\)' --description 'Reads the change feeds' .*--target '\{"Arn"/,
  },
  {
    is: 'a schedule that is gone',
    plant: ({ mocks }) =>
      mocks.scheduler
        .on(GetScheduleCommand, { Name: 'DrainScheduleName' })
        .rejects(named('ResourceNotFoundException')),
    found: 'schedules fault',
    mend: 'npx cdk deploy --revert-drift',
  },
  {
    is: 'an event source mapping that is switched off',
    plant: ({ played }) => Object.assign(played.mapping ?? {}, { State: 'Disabled' }),
    found: 'event-source-mapping fault',
    mend: 'aws lambda update-event-source-mapping --uuid uuid-1 --enabled',
  },
  {
    is: 'an event source mapping that deletes what failed',
    plant: ({ played }) => Object.assign(played.mapping ?? {}, { FunctionResponseTypes: [] }),
    found: 'event-source-mapping fault',
    mend: '--function-response-types ReportBatchItemFailures',
  },
  {
    is: 'no event source mapping',
    plant: ({ played }) => Object.assign(played, { mapping: undefined }),
    found: 'event-source-mapping fault',
    mend: 'npx cdk deploy --revert-drift',
  },
  {
    is: 'a queue without its dead letters',
    plant: ({ setQueue, queue }) => setQueue(queue.url, { RedrivePolicy: '' }),
    found: 'queues fault',
    mend: /aws sqs set-queue-attributes .*RedrivePolicy.*maxReceiveCount/,
  },
  {
    is: 'a queue that hands messages out again too soon',
    plant: ({ setQueue, queue }) => setQueue(queue.url, { VisibilityTimeout: '30' }),
    found: 'queues warning',
    mend: /aws sqs set-queue-attributes .*VisibilityTimeout":"600"/,
  },
  {
    is: 'dead letters that are kept for a day',
    plant: ({ setQueue, deadLetters }) => setQueue(deadLetters.url, { MessageRetentionPeriod: '86400' }),
    found: 'queues warning',
    mend: /aws sqs set-queue-attributes .*MessageRetentionPeriod":"1209600"/,
  },
  {
    is: 'an alarm that was deleted',
    plant: ({ played }) => played.alarms.pop(),
    found: 'alarms fault',
    mend: 'aws cloudformation',
  },
  {
    is: 'an alarm whose actions are switched off',
    plant: ({ played }) =>
      played.alarms.splice(0, 1, anAlarm('AdvertBridge-DeadLetters', { ActionsEnabled: false })),
    found: 'alarms fault',
    mend: 'aws cloudwatch enable-alarm-actions --alarm-names AdvertBridge-DeadLetters',
  },
  {
    is: 'an alarm that has gone off',
    plant: ({ played }) =>
      played.alarms.splice(0, 1, anAlarm('AdvertBridge-DeadLetters', { StateValue: 'ALARM' })),
    found: 'alarms warning',
    mend: 'docs/operate/runbook.md#deadletters',
  },
  {
    is: 'alarms that are sent to nobody',
    plant: ({ played }) => {
      played.alarms = played.alarms.map((alarm) => ({ ...alarm, AlarmActions: [] }));
    },
    found: 'alarm-subscribers warning',
    mend: 'npx cdk deploy -c alarmEmail=ADDRESS',
  },
  {
    is: 'an address that has not confirmed',
    plant: ({ played }) => {
      played.subscriptions = [
        { SubscriptionArn: 'PendingConfirmation', Endpoint: 'a@b.example', Protocol: 'email' },
      ];
    },
    found: 'alarm-subscribers fault',
    mend: /aws sns subscribe .*--notification-endpoint a@b\.example/,
  },
  {
    is: 'a bus without a rule',
    plant: ({ played }) => {
      played.rules = [];
    },
    found: 'subscribers warning',
    mend: 'docs/subscribe/',
  },
  {
    is: 'a rule that is switched off',
    plant: ({ played }) => played.rules.push({ Name: 'billing', State: 'DISABLED' }),
    found: 'subscribers warning',
    mend: 'aws events enable-rule --name billing --event-bus-name adverts',
  },
  {
    is: 'a rule without a target',
    plant: ({ played }) => Object.assign(played, { targets: 0 }),
    found: 'subscribers warning',
    mend: 'aws events put-targets --rule search',
  },
  {
    is: 'a bus that is open to everybody',
    plant: ({ played }) => Object.assign(played, { policy: statement('Open', { Principal: '*' }) }),
    found: 'bus-policy fault',
    mend: 'aws events remove-permission --event-bus-name adverts --statement-id Open',
  },
  {
    is: 'a bus on which others may publish',
    plant: ({ played }) =>
      Object.assign(played, { policy: statement('Put', { Action: ['events:PutEvents'] }) }),
    found: 'bus-policy fault',
    mend: 'aws events remove-permission --event-bus-name adverts --statement-id Put',
  },
  {
    is: 'no archive',
    plant: ({ played }) => Object.assign(played, { archives: [] }),
    found: 'archive warning',
    mend: 'aws events create-archive',
  },
  {
    is: 'tables without recovery',
    plant: ({ played }) => Object.assign(played, { recovery: 'DISABLED' }),
    found: 'table-recovery warning',
    mend: 'aws dynamodb update-continuous-backups --table-name table-',
  },
  {
    is: 'tables without protection',
    plant: ({ played }) => Object.assign(played, { protection: false }),
    found: 'tables warning',
    mend: 'aws dynamodb update-table --table-name table-',
  },
  {
    is: 'an empty application secret',
    plant: ({ played }) => Object.assign(played, { application: {} }),
    found: 'application-secret fault',
    mend: 'advert-bridge application --client-id ID --client-secret-stdin',
  },
  {
    is: 'an application secret about to be deleted',
    plant: ({ played }) => Object.assign(played, { application: { DeletedDate: new Date() } }),
    found: 'application-secret fault',
    mend: 'aws secretsmanager restore-secret --secret-id advert-bridge/application',
  },
  {
    is: 'no application secret',
    plant: ({ played }) => Object.assign(played, { application: undefined }),
    found: 'application-secret fault',
    mend: 'aws secretsmanager create-secret --name advert-bridge/application',
  },
  {
    is: 'credentials that the service refuses',
    plant: ({ played }) => {
      played.answer = { kind: 'refused', fault: 'client-rejected', reason: 'invalid_client' };
    },
    found: 'application-credentials fault',
    mend: 'advert-bridge application --client-id ID --client-secret-stdin',
  },
  {
    is: 'a clock that is off',
    plant: ({ played }) => Object.assign(played.answer, { clockOffSeconds: -300 }),
    found: 'clock warning',
    mend: 'tell the partner service',
  },
  {
    is: 'a partner account that is stopped',
    plant: ({ changeAccount }) =>
      changeAccount({
        ...stopped('refresh-token-rejected'),
      }),
    found: 'partner-accounts fault',
    mend: 'advert-bridge connect main --open',
  },
  {
    is: 'a stored row that cannot be read',
    plant: ({ put }) => put({ pk: { S: 'account' }, sk: { S: 'odd' }, etag: { S: 'e' }, value: { S: '{}' } }),
    found: 'partner-accounts fault',
    mend: 'docs/operate/backup.md',
  },
  {
    is: 'a token pair that is gone',
    plant: ({ played }) => played.secrets.pop(),
    found: 'token-secrets fault',
    mend: 'advert-bridge connect main --open',
  },
  {
    is: 'a token pair about to be deleted',
    plant: ({ played }) => played.secrets.splice(0, 1, aSecret('main', { DeletedDate: new Date() })),
    found: 'token-secrets fault',
    mend: 'aws secretsmanager restore-secret --secret-id advert-bridge/partner-accounts/main',
  },
  {
    is: 'a token pair written by somebody else',
    plant: ({ played }) =>
      played.secrets.splice(
        0,
        1,
        aSecret('main', { SecretVersionsToStages: { v2: ['AWSCURRENT'], v1: ['AWSPREVIOUS'] } }),
      ),
    found: 'token-secrets warning',
    mend: 'advert-bridge connect main --open',
  },
  {
    is: 'a secret that an earlier stack left behind',
    plant: ({ played }) => played.secrets.push(aSecret('old')),
    found: 'leftovers warning',
    mend: /advert-bridge connect old.*aws secretsmanager delete-secret/,
  },
  {
    is: 'a table that an earlier stack left behind',
    plant: async ({ leaveTable }) => onTestFinished(await leaveTable('AdvertBridge-FeedState1A-OLD')),
    found: 'leftovers warning',
    mend: /--no-deletion-protection-enabled`, then `aws dynamodb delete-table --table-name AdvertBridge-FeedState1A-OLD/,
  },
  {
    is: 'a queue that an earlier stack left behind',
    async plant({ queue, removeQueue }) {
      const QueueName = 'AdvertBridge-ChangedAdverts3C-OLD.fifo';
      const asked = new CreateQueueCommand({ QueueName, Attributes: { FifoQueue: 'true' } });
      const { QueueUrl = '' } = await queue.client.send(asked);
      onTestFinished(async () => void (await removeQueue(QueueUrl)));
    },
    found: 'leftovers warning',
    mend: 'aws sqs delete-queue --queue-url',
  },
];

function heldBudget(kind: 'service' | 'circuit') {
  const value = { nextSlotMs: 0, holds: [serviceHold(kind, Date.now() + 600_000)] };
  return { pk: { S: 'bridge' }, sk: { S: 'budget' }, etag: { S: 'e' }, value: { S: JSON.stringify(value) } };
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

  it.each(planted)('finds $is, and nothing else', async ({ plant, ...expected }) => {
    await plant(stack);
    stack.forgetCalls();

    expectFound(await doctor(), expected);

    expectOnlyReads();
  });

  it('lets organizations and accounts that the stack names keep rules of their own', async () => {
    const allowed = { Principal: '*', Condition: { StringEquals: { 'aws:PrincipalOrgID': 'o-1' } } };
    stack.played.policy = statement('OrganizationMakeRules', allowed);

    expect(badIn(resultsIn(await doctor()))).toEqual([]);
  });

  it('leaves the policy of a bus to its owner', async () => {
    stack.played.ownsBus = false;
    stack.played.policy = statement('Other', { Principal: '*' });

    expect(badIn(resultsIn(await doctor()))).toEqual([]);
  });

  it('asks nothing of the service while it is to be left alone', async () => {
    await stack.put(heldBudget('service'));

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
    await stack.dropFeedStateTable();

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
