import { readFileSync } from 'node:fs';
import { CreateQueueCommand } from '@aws-sdk/client-sqs';
import { expect, it, onTestFinished, vi } from 'vitest';
import { anAlarm, aSecret, beforeEachStack, type PlayedStack, policyOf, refusing } from '../played-stack.ts';
import { cli } from '../run-cli.ts';
import { badIn, expectFound, resultsIn, rowsOf } from './results.ts';

let stack: PlayedStack;
beforeEachStack((begun) => {
  stack = begun;
});

const doctor = () => cli('doctor --json');
const named = (name: string, message = name) => Object.assign(new Error(message), { name, $metadata: {} });
const statement = (Sid: string, change: object) =>
  policyOf({ Sid, Effect: 'Allow', Principal: { AWS: '444455556666' }, Action: 'events:PutRule', ...change });

/** Changes what AWS answers: properties that take the place of healthy ones, or any other act. */
type Plant = object | ((stack: PlayedStack) => unknown);

const policy = (Sid: string, change: object): Plant => ({ policy: statement(Sid, change) });
const customBus = `arn:aws:events:eu-central-1:111122223333:event-busv2/adverts/${'a1b2c'.repeat(5)}`;
/** The bridge publishes on a Custom Event Bus, too. */
const custom = (change: object): Plant => ({ outputs: { CustomEventBusArn: customBus }, ...change });
const noCustomBus = (stack: PlayedStack) => {
  stack.played.outputs.CustomEventBusArn = customBus;
  return gone('DescribeEventBus', customBus)(stack);
};
const attribute =
  (name: string, value: string, of: 'queue' | 'deadLetters' = 'queue'): Plant =>
  (stack) =>
    stack.setQueue(stack[of].url, { [name]: value });
const oddRow = { pk: { S: 'account' }, sk: { S: 'odd' }, etag: { S: 'e' }, value: { S: '{}' } };
const dead = 'AdvertBridge-DeadLetters';
const alarm = (change: object) => ({
  alarms: [anAlarm(dead, change), anAlarm('AdvertBridge-NoSuccessfulDrain')],
});
const unconfirmed = { SubscriptionArn: 'PendingConfirmation', Endpoint: 'a@b.example', Protocol: 'email' };
const others = { SecretVersionsToStages: { v2: ['AWSCURRENT'], v1: ['AWSPREVIOUS'] } };
const deleted = { DeletedDate: new Date() };
const fn = (name: string, change: object): Plant => ({ functions: { [`${name}FunctionName`]: change } });
/** AWS does not know the resource `name`, for which an operation asks. */
const gone =
  (operation: string, name: string) =>
  ({ answers }: PlayedStack) => {
    const { [operation]: healthy } = answers;
    answers[operation] = (input, emulated) => {
      if (Object.values(input).includes(name)) throw named('ResourceNotFoundException');
      return healthy?.(input, emulated);
    };
  };
const noFunction = gone('GetFunctionConfiguration', 'DrainFunctionName');
const noSchedule = gone('GetSchedule', 'DrainScheduleName');
const noActions: Plant = ({ played }: PlayedStack) => {
  played.alarms = played.alarms.map((each) => ({ ...each, AlarmActions: [] }));
};
const leftTable: Plant = async ({ leaveTable }: PlayedStack) =>
  onTestFinished(await leaveTable('AdvertBridge-FeedState1A-OLD'));
const leftQueue: Plant = async ({ queue, removeQueue }: PlayedStack) => {
  const QueueName = 'AdvertBridge-ChangedAdverts3C-OLD.fifo';
  const asked = new CreateQueueCommand({ QueueName, Attributes: { FifoQueue: 'true' } });
  const { QueueUrl = '' } = await queue.client.send(asked);
  onTestFinished(async () => void (await removeQueue(QueueUrl)));
};
const refused = { kind: 'refused', fault: 'client-rejected', reason: 'invalid_client' };
const store = 'advert-bridge application --client-id ID --client-secret-stdin';
const connect = 'advert-bridge connect main --open';
const update =
  /aws scheduler update-schedule --name DrainScheduleName --state ENABLED --schedule-expression 'rate\(1 minute\)' --description 'Reads the change feeds' .*--target '\{"Arn"/;
const dropTable =
  /--no-deletion-protection-enabled`, then `aws dynamodb delete-table --table-name AdvertBridge-FeedState1A-OLD/;

const rows = rowsOf<Plant>({
  'stack warning': [
    ['an undone deployment', { stack: { StackStatus: 'UPDATE_ROLLBACK_COMPLETE' } }, 'describe-stack-events'],
  ],
  'stack fault': [
    ['a failed deployment', { stack: { StackStatus: 'UPDATE_ROLLBACK_FAILED' } }, 'npx cdk deploy'],
  ],
  'version warning': [['another version', { outputs: { Version: '0.0.7' } }, /npx cdk deploy.*of 0\.0\.7/]],
  'functions fault': [
    ['a function that may not run', fn('FanOut', { reserved: 0 }), 'aws lambda delete-function-concurrency'],
    ['other settings', fn('Connect', { baseUrl: 'https://other.example' }), 'npx cdk deploy'],
    ['a deleted function', noFunction, 'npx cdk deploy'],
  ],
  'schedules fault': [
    ['a schedule that is off', { schedules: { DrainScheduleName: 'DISABLED' } }, update],
    ['a deleted schedule', noSchedule, 'npx cdk deploy --revert-drift'],
  ],
  'event-source-mapping fault': [
    ['a mapping that is off', { mapping: { State: 'Disabled' } }, 'mapping --uuid uuid-1 --enabled'],
    ['one that deletes failures', { mapping: { FunctionResponseTypes: [] } }, 'ReportBatchItemFailures'],
    ['no mapping', { mapping: undefined }, 'npx cdk deploy --revert-drift'],
  ],
  'queues fault': [['no redrive', attribute('RedrivePolicy', ''), /RedrivePolicy.*maxReceiveCount/]],
  'queues warning': [
    ['a short timeout', attribute('VisibilityTimeout', '30'), /set-queue-attributes .*Timeout":"600"/],
    [
      'a day of dead letters',
      attribute('MessageRetentionPeriod', '86400', 'deadLetters'),
      /Period":"1209600"/,
    ],
  ],
  'alarms fault': [
    ['a deleted alarm', { alarms: [anAlarm(dead)] }, 'aws cloudformation'],
    [
      'an alarm without actions',
      alarm({ ActionsEnabled: false }),
      `enable-alarm-actions --alarm-names ${dead}`,
    ],
  ],
  'alarms warning': [
    ['a raised alarm', alarm({ StateValue: 'ALARM' }), 'docs/operate/runbook.md#deadletters'],
  ],
  'alarm-subscribers warning': [['alarms for nobody', noActions, 'npx cdk deploy -c alarmEmail=ADDRESS']],
  'alarm-subscribers fault': [
    ['an unconfirmed address', { subscriptions: [unconfirmed] }, /--notification-endpoint a@b\.example/],
  ],
  'subscribers warning': [
    ['a bus without a rule', { rules: [] }, 'docs/subscribe/'],
    ['a rule that is off', { rules: [{ Name: 'billing', State: 'DISABLED' }] }, 'enable-rule --name billing'],
    ['a rule without a target', { targets: 0 }, 'aws events put-targets --rule search'],
  ],
  'event-buses fault': [
    ['no bus', gone('DescribeEventBus', 'adverts'), 'npx cdk deploy --revert-drift'],
    ['no Custom Event Bus', noCustomBus, 'npx cdk deploy --revert-drift'],
    ['one that fails', custom({ customBusState: 'CREATE_FAILED' }), 'aws eventsv2 describe-event-bus'],
  ],
  'bus-policy warning': [
    ['a bus for everybody’s events', { policy: '{"Statement":[]}' }, 'npx cdk deploy --revert-drift'],
    ['a custom one without a policy', custom({ customPolicy: undefined }), 'npx cdk deploy --revert-drift'],
    [
      'a foreign statement',
      custom({ customPolicy: statement('Other', {}) }),
      'npx cdk deploy --revert-drift',
    ],
  ],
  'bus-policy fault': [
    [
      'a Custom Event Bus open to everybody',
      custom({ customPolicy: statement('AccountsSubscribe', { Principal: '*' }) }),
      'npx cdk deploy --revert-drift',
    ],
    ['a bus open to everybody', policy('Open', { Principal: '*' }), 'adverts --statement-id Open'],
    ['a bus for others’ events', policy('Put', { Action: ['events:PutEvents'] }), 'remove-permission'],
  ],
  'archive warning': [['no archive', { archives: [] }, 'aws events create-archive']],
  'table-recovery warning': [
    ['no recovery', { recovery: 'DISABLED' }, 'aws dynamodb update-continuous-backups'],
  ],
  'tables warning': [
    ['no protection', { protection: false }, 'aws dynamodb update-table --table-name table-'],
  ],
  'application-secret fault': [
    ['an empty secret', ({ played }: PlayedStack) => Object.assign(played, { application: {} }), store],
    [
      'a secret about to be deleted',
      { application: deleted },
      'restore-secret --secret-id advert-bridge/app',
    ],
    ['no secret', { application: undefined }, 'create-secret --name advert-bridge/application'],
  ],
  'application-credentials fault': [['credentials that are refused', { answer: refused }, store]],
  'partner-accounts fault': [
    ['a row that cannot be read', ({ put }: PlayedStack) => put(oddRow), 'docs/operate/backup.md'],
  ],
  'token-secrets fault': [
    ['a lost token pair', { secrets: [] }, connect],
    [
      'one about to be deleted',
      { secrets: [aSecret('main', deleted)] },
      'restore-secret --secret-id advert-bri',
    ],
  ],
  'token-secrets warning': [['a foreign token pair', { secrets: [aSecret('main', others)] }, connect]],
  'leftovers warning': [
    ['an old secret', { secrets: [aSecret('main'), aSecret('old')] }, /connect old.*delete-secret/],
    ['an old table', leftTable, dropTable],
    ['an old queue', leftQueue, 'aws sqs delete-queue --queue-url'],
  ],
});

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

it.each([
  ['one bus', {}],
  ['both', custom({ customPolicy: statement('AccountsSubscribe', { Action: ['events:CreateSubscriber'] }) })],
])('doctor of a stack finds nothing when all is right with %s', async (_, plant) => {
  await plantIn(plant);
  stack.forgetCalls();

  const ended = await doctor();

  expect(badIn(resultsIn(ended))).toEqual([]);
  expect(resultsIn(ended).filter(({ result }) => result === 'skipped')).toEqual([]);
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
  expectOnlyReads();
  expect(stack.calls().length).toBeGreaterThan(25);
});

it.each(rows)(
  'doctor of a stack has the %s when there is %s, and nothing else',
  async (found, _is, plant, mend) => {
    await plantIn(plant);
    stack.forgetCalls();

    expectFound(await doctor(), { found, mend });

    expectOnlyReads();
  },
);

it.each([
  [
    'organizations that the stack names keep rules of their own',
    'OrganizationMakeRules',
    { Condition: { StringEquals: { 'aws:PrincipalOrgID': 'o-1' } } },
  ],
  ['the owner of another bus decide on its policy', 'Other', {}],
])('doctor of a stack lets %s', async (_, Sid, change) => {
  stack.played.ownsBus = Sid !== 'Other';
  stack.played.policy = statement(Sid, { Principal: '*', ...change });

  expect(badIn(resultsIn(await doctor()))).toEqual([]);
});

const page = readFileSync('docs/operate/doctor.md', 'utf8');
const checksOf = (where: string) => {
  const [, table = ''] = new RegExp(`^\\| on ${where} \\|.*\\n((?:\\|.*\\n)+)`, 'm').exec(page) ?? [];
  return [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name = '']) => name);
};
const namesOf = async (args: string) => resultsIn(await cli(args)).map(({ name }) => name);

it('docs/operate/doctor.md lists every check of each kind of bridge', async () => {
  expect([...checksOf('every bridge'), ...checksOf('a stack')].toSorted()).toEqual(
    (await namesOf('doctor --json')).toSorted(),
  );
  expect([...checksOf('every bridge'), ...checksOf('an embedded bridge')].toSorted()).toEqual(
    (await namesOf('doctor --json --local no-such-folder')).toSorted(),
  );
});

it('docs/operate/doctor.md lists exactly the permissions that calls need', async () => {
  await plantIn(custom({}));
  stack.forgetCalls();
  await doctor();
  const [, actions = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];

  const made = new Set(stack.calls().map(({ action }) => action));
  made.delete('sts:GetCallerIdentity'); // Nobody needs a permission for it.
  const { Statement } = JSON.parse(actions) as { Statement: { Action: string[] }[] };
  expect(Statement.flatMap(({ Action }) => Action).toSorted()).toEqual([...made].toSorted());
});

it('a missing stack is the one fault, and all that needs it is skipped', async () => {
  const absent = named('ValidationError', 'Stack with id AdvertBridge does not exist');
  stack.answers.DescribeStacks = refusing(absent);

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

it('refused credentials are the one fault, and all else is skipped', async () => {
  stack.played.unknown = named('ExpiredTokenException');
  stack.answers.DescribeStacks = refusing(stack.played.unknown);

  const ended = await doctor();

  expectFound(ended, {
    found: 'identity fault',
    mend: 'aws sso login',
  });
  expect(new Set(resultsIn(ended).map(({ result }) => result))).toEqual(new Set(['fault', 'skipped']));
});

it('every check that reads a missing table says so', async () => {
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

const denied = (action: string) =>
  named('AccessDeniedException', `User: me is not authorized to perform: ${action} on resource: r`);

it('a check that fails itself names the permission that it lacks', async () => {
  stack.answers.DescribeAlarms = refusing(denied('cloudwatch:DescribeAlarms'));

  const checks = resultsIn(await doctor());

  expect(badIn(checks)).toEqual(['alarms fault', 'alarm-subscribers fault']);
  expect(checks.find(({ name }) => name === 'alarms')).toMatchObject({
    says: 'could not be checked: AWS denies cloudwatch:DescribeAlarms',
    mend: 'Allow cloudwatch:DescribeAlarms to whoever runs doctor',
  });
});

it('a check is skipped when an emulator does not know its call', async () => {
  vi.stubEnv('AWS_ENDPOINT_URL', 'http://127.0.0.1:4566');
  stack.answers.ListRules = refusing(named('UnknownOperationException'));

  const ended = await doctor();

  expect(ended.exitCode).toBe(0);
  expect(resultsIn(ended).find(({ name }) => name === 'subscribers')).toEqual({
    name: 'subscribers',
    result: 'skipped',
    says: 'http://127.0.0.1:4566 does not know this call',
    mend: null,
  });
});
