/**
 * Grants are proven, not restated: every call that the functions make is put to an IAM engine with the policies of the
 * synthesized template. None may be denied, and no grant may be without a call.
 *
 * A call that is new needs nothing here when a handler makes it in the journey, or when `rows` names it.
 */
import { PassThrough, Readable } from 'node:stream';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { runCli } from '../../../operators/cli/cli.ts';
import { customEventBusClient } from '../../../shared/aws/custom-event-bus.ts';
import { createStore } from '../../../shared/aws/store.ts';
import type { FunctionName } from '../../../shared/contract/environment.ts';
import { type Kind, secretNames } from '../../../shared/contract/names.ts';
import type { Store } from '../../../shared/ports/store.ts';
import { type Handler, type PlayedAws, startAws } from '../../helpers/aws/played-aws.ts';
import type { AwsCall } from '../../helpers/aws/wire.ts';
import { functions, synthesized } from '../../helpers/synthesized.ts';
import { type Context, knownConditionKeys } from './aws-call.ts';
import { awsMadeCalls } from './aws-made-calls.ts';
import { compare, decide, decideForService, mayAssume, type RoleCall } from './decide.ts';
import { type Caller, roleCallsOf, travel } from './handlers-journey.ts';
import { awsAccount, policiesOf, type RolePolicies, region, secretArn } from './template-policies.ts';

/** Whose module is being loaded: its clients sign their calls with this name. */
const loading = vi.hoisted(() => ({ accessKeyId: '', secretAccessKey: 'test' }));
vi.mock('../../../shared/aws/clients.ts', () => {
  const client = (Client: new (options: object) => unknown) => () =>
    new Client({ credentials: { ...loading } });
  return {
    dynamoDbClient: client(DynamoDBClient),
    sqsClient: client(SQSClient),
    eventBridgeClient: client(EventBridgeClient),
    customBusClient: () => customEventBusClient({ credentials: { ...loading } }),
    secretsManagerClient: client(SecretsManagerClient),
    lambdaClient: client(LambdaClient),
  };
});
const clock = await vi.hoisted(async () => {
  const { createSleptClock } = await import('../../helpers/aws/slept-clock.ts');
  return createSleptClock();
});
vi.mock('../../../shared/domain/clock.ts', async (original) => ({
  ...(await original<object>()),
  // Whole milliseconds, as the machine's clock counts: a time limit is refused otherwise.
  systemClock: { ...clock, now: () => Math.floor(clock.now()) },
}));
const policies = policiesOf(
  synthesized({ organizationId: 'o-a1b2c3d4e5', auditSample: '1', eventBuses: 'classic,custom' }),
);
const customBus = policies.arnOf('AWS::EventsV2::EventBus', 'CustomEventsBus');

let aws: PlayedAws;
const calls: AwsCall[] = [];
const loaded = new Map<string, Promise<Handler>>();

/** Sequentially: the module that is being loaded determines to which function the clients belong. */
let last: Promise<unknown> = Promise.resolve();
function loadHandler(name: string): Promise<Handler> {
  const found = loaded.get(name);
  if (found) return found;
  const handler = last.then(async () => {
    loading.accessKeyId = name;
    return (await import(`../../../functions/${name}/handler.ts`)).handler as Handler;
  });
  last = handler;
  loaded.set(name, handler);
  return handler;
}

/** Runs a command in this process, where the clients and the clock are those of the test. */
async function commandLine(command: string) {
  let stderr = '';
  const exitCode = await runCli(command.split(' '), {
    stdin: Object.assign(Readable.from([]), { isTTY: false }),
    stdout: new PassThrough().resume(),
    stderr: new PassThrough().on('data', (text) => {
      stderr += text;
    }),
    env: {},
    untilStopped: () => new AbortController().signal,
  });
  await new Promise(setImmediate);
  return { exitCode, stderr };
}

const setEnvironment = (variables: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
};

beforeAll(async () => {
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockReturnValue(true);
  aws = await startAws({
    ...{ loadHandler, setEnvironment, onCall: (_operation, _body, call) => calls.push(call) },
    environment: { CUSTOM_EVENT_BUS_ARN: customBus },
    settings: { maxRequestsPerSecond: 1000, confirmUnavailableSeconds: 0, auditSample: 1 },
  });
  await travel({
    ...{ aws, pass: clock.pass },
    catchUp: (command) => {
      loading.accessKeyId = 'catchUp';
      vi.stubEnv('AWS_ACCESS_KEY_ID', 'catchUp');
      return commandLine(command);
    },
  });
}, 60_000);
afterAll(() => aws.stop());

/** The rows that each function works on, and how, also on ways that the journey below does not take. */
const rows: readonly (readonly [Caller, Kind, readonly (keyof Store)[]])[] = [
  ['drain', 'account', ['list', 'get', 'put']],
  ['drain', 'aside', ['list', 'remove']],
  ['drain', 'dead', ['list', 'get', 'put']],
  ['fan-out', 'account', ['get', 'put']],
  ['fan-out', 'aside', ['put']],
  ['fan-out', 'dead', ['get', 'put']],
  ['fan-out', 'feed', ['list']],
  ['fan-out', 'history', ['get', 'put']],
  ['refresh-token', 'account', ['list', 'get', 'put']],
  ['connect', 'account', ['get', 'put', 'remove']],
  ['connect', 'history', ['get']],
  // Backfills and audits put an account on hold, too.
  ['catchUp', 'account', ['list', 'get', 'put']],
  ['catchUp', 'dead', ['get', 'put']],
  ['catchUp', 'found', ['list', 'put', 'remove']],
  ...(['drain', 'fan-out', 'refresh-token', 'connect'] as const).map(
    (by) => [by, 'bridge', ['get', 'put']] as const,
  ),
];
it.each(rows)('%s works on rows of kind %s: %j', async (by, kind, used) => {
  setEnvironment(aws.environment);
  const storeOf = (accessKeyId: string) => {
    const client = new DynamoDBClient({ credentials: { ...loading, accessKeyId } });
    const { FEED_STATE_TABLE = '', ADVERT_STATUS_TABLE = '' } = aws.environment;
    return createStore({
      feedState: { client, name: FEED_STATE_TABLE },
      advertStatus: { client, name: ADVERT_STATUS_TABLE },
    });
  };
  const own = storeOf(by);
  const store: Store = {
    ...storeOf('harness'),
    ...Object.fromEntries(used.map((method) => [method, own[method]])),
  };
  const key = { kind, name: 'a row' };

  const put = await store.put(key, { a: 1 }, 'absent');
  expect(await store.get(key)).toMatchObject({ value: { a: 1 } });
  expect(await store.list(kind)).toContainEqual(expect.objectContaining({ name: 'a row' }));
  expect(await store.put(key, { a: 2 }, 'etag' in put ? put.etag : '')).toHaveProperty('etag');
  expect(await store.remove(key)).toBe(true);
});

const allCalls = (): readonly RoleCall[] => [
  ...calls.flatMap((call) => roleCallsOf(policies, aws, call)),
  ...awsMadeCalls(policies),
];

it('the grants allow every recorded call, and calls use every grant', async () => {
  const report = await compare(policies, allCalls());
  expect(report.denied).toEqual([]);
  expect(report.unused).toEqual([]);
  expect(report.distinct).toBeGreaterThan(50);
});

it('conditions of grants are only those that recorded calls answer', () => {
  const ofPrincipal = ['aws:PrincipalArn', 'aws:SecureTransport'];
  const keys = policies.roles
    .flatMap(({ statements }) => statements)
    .flatMap(({ Condition = {} }) => Object.values(Condition).flatMap(Object.keys));
  expect(keys.filter((key) => ![...knownConditionKeys, ...ofPrincipal].includes(key))).toEqual([]);
});

/** An administrator, or a function of another team's, in the AWS account of the bridge. */
const anybody: RolePolicies = {
  id: 'Administrator',
  arn: 'arn:aws:iam::111122223333:role/Administrator',
  trust: [],
  statements: [{ Sid: 'All', Effect: 'Allow', Action: '*', Resource: '*' }],
};
const { catchUpRole, roleOf, arnOf } = policies;
const roles = {
  ...Object.fromEntries(Object.entries(functions).map(([name, id]) => [name, roleOf(id)])),
  catchUp: catchUpRole,
  anybody,
} as Readonly<Record<FunctionName | 'catchUp' | 'anybody', RolePolicies>>;
const arns = {
  tokens: secretArn(`${secretNames.partnerAccountPrefix}main`),
  application: secretArn(secretNames.application),
  queue: arnOf('AWS::SQS::Queue', 'ChangedAdvertsQueue'),
  bus: arnOf('AWS::Events::EventBus', 'EventsBus'),
  customBus,
  ...(Object.fromEntries(
    Object.entries(functions).map(([name, id]) => [name, arnOf('AWS::Lambda::Function', id)]),
  ) as Record<FunctionName, string>),
};
const codeOf = (name: FunctionName) => ({ 'lambda:SourceFunctionArn': arns[name] });
const get = 'secretsmanager:GetSecretValue';
const remove = 'secretsmanager:DeleteSecret';
const publish = 'events:PutEvents';
const event = (type: string, source = 'advert-bridge') => ({
  'events:source': [source],
  'events:detail-type': [type],
});
const mixed = { 'events:source': ['theirs', 'advert-bridge'], 'events:detail-type': ['AdvertUnavailable'] };
const force = (value: string) => ({ 'secretsmanager:ForceDeleteWithoutRecovery': value });
/** `everything`: although another policy allows the role all. `none`: not even that. */
const [allowed, none, everything] = ['Allowed', 'ImplicitlyDenied', 'ExplicitlyDenied'] as const;

type Question = [
  who: keyof typeof roles,
  action: string,
  resource: keyof typeof arns,
  expected: typeof allowed | typeof none | typeof everything,
  context?: Context,
];

it.each<Question>([
  ...(['drain', 'fanOut', 'refreshToken'] as const).flatMap<Question>((name) => [
    [name, get, 'tokens', allowed, codeOf(name)],
    // Another function that was given the role, and somebody who assumes it.
    [name, get, 'tokens', none, codeOf('connect')],
    [name, get, 'tokens', none],
  ]),
  ['catchUp', get, 'tokens', allowed],
  ['anybody', get, 'tokens', everything],
  ['connect', get, 'tokens', everything],
  ['refreshToken', get, 'application', allowed, codeOf('refreshToken')],
  ['connect', get, 'application', allowed, codeOf('connect')],
  ...(['anybody', 'drain', 'fanOut', 'catchUp'] as const).map<Question>((name) => [
    name,
    get,
    'application',
    everything,
  ]),
  ...['PutSecretValue', 'DeleteSecret', 'PutResourcePolicy'].map<Question>((action) => [
    'catchUp',
    `secretsmanager:${action}`,
    'tokens',
    none,
  ]),
  ...(['catchUp', 'drain', 'fanOut'] as const).flatMap<Question>((name) => [
    [name, 'lambda:InvokeFunction', 'refreshToken', allowed],
    [name, 'lambda:InvokeFunction', 'connect', none],
    [name, 'lambda:InvokeFunction', 'drain', none],
  ]),
  ['drain', 'sqs:SendMessage', 'queue', allowed],
  ['drain', 'sqs:SendMessage', 'queue', everything, { 'aws:SecureTransport': 'false' }],
  // Only with its recovery window, and never public.
  ['connect', remove, 'tokens', allowed, codeOf('connect')],
  ['connect', remove, 'tokens', allowed, { ...codeOf('connect'), ...force('false') }],
  ['connect', remove, 'tokens', none, { ...codeOf('connect'), ...force('true') }],
  ['connect', 'secretsmanager:PutResourcePolicy', 'tokens', none, codeOf('connect')],
  // Nobody publishes in the bridge's name but the bridge, and each function only what it is for.
  ['fanOut', publish, 'bus', allowed, event('AdvertStatusChanged')],
  ['fanOut', publish, 'bus', none, event('PartnerAuthorizationRequired')],
  ['fanOut', publish, 'bus', none, event('AdvertStatusChanged', 'theirs')],
  ['fanOut', publish, 'bus', none, mixed],
  ['refreshToken', publish, 'bus', none, event('AdvertStatusChanged')],
  ['connect', publish, 'bus', allowed, event('PartnerAuthorizationRestored')],
  ['anybody', publish, 'bus', allowed, event('AdvertStatusChanged', 'theirs')],
  ...(['anybody', 'drain', 'catchUp'] as const).map<Question>((name) => [
    name,
    publish,
    'bus',
    everything,
    event('AdvertStatusChanged'),
  ]),
  ['anybody', publish, 'bus', everything, mixed],
  // The account's root user, and a role of the same name in another AWS account.
  ...(['bus', 'customBus'] as const).flatMap((bus) =>
    [`arn:aws:iam::${awsAccount}:root`, roles.fanOut.arn.replace(awsAccount, '444455556666')].map<Question>(
      (by) => [
        'anybody',
        publish,
        bus,
        everything,
        { ...event('AdvertStatusChanged'), 'aws:PrincipalArn': by },
      ],
    ),
  ),
  ['fanOut', publish, 'customBus', allowed, event('AdvertStatusChanged')],
  ['fanOut', publish, 'customBus', none, event('PartnerAuthorizationRequired')],
  ['connect', publish, 'customBus', allowed, event('PartnerAuthorizationRestored')],
  // On a bus of the bridge's own, not even something else; and nothing raw, which would look like an event of it.
  ['anybody', publish, 'customBus', everything, event('AdvertStatusChanged', 'theirs')],
  ['anybody', 'events:PutRawEvents', 'customBus', everything],
  ['fanOut', 'events:PutRawEvents', 'customBus', none],
])(
  'the policies decide: for %s, %s on %s: %s (%j)',
  async (who, action, resource, expected, context = {}) => {
    const own = roles[who];
    const role = expected === everything ? { ...own, statements: anybody.statements } : own;
    expect(await decide(policies, { role, action, resourceArn: arns[resource], context })).toMatchObject({
      result: expected,
    });
  },
);

it.each(['bus', 'customBus'] as const)('a replay by AWS on %s is not denied', async (bus) => {
  const call = { action: publish, resourceArn: arns[bus], context: event('AdvertStatusChanged') };
  const principal = 'events.amazonaws.com';
  expect(await decideForService(policies, { ...call, principal })).toBe(none);
});

it('connect cannot read tokens although it may open their policy to itself', async () => {
  const own = roles.connect;
  const opened = {
    ...policies,
    resourcePolicy: () => ({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow' as const, Principal: { AWS: own.arn }, Action: get, Resource: '*' }],
    }),
  };
  const call = { role: own, action: get, resourceArn: arns.tokens, context: codeOf('connect') };
  expect(await decide(opened, call)).toMatchObject({ result: everything });
});

it('an administrator who catches up is denied only the reading of tokens', async () => {
  const own = allCalls().filter(({ role }) => role.id === catchUpRole.id);
  expect(own.length).toBeGreaterThan(10);
  const { denied } = await compare(
    policies,
    own.map((call) => ({ ...call, role: anybody })),
  );
  expect(denied).toEqual([`Administrator may not ${get} on ${arns.tokens} {}: ExplicitlyDenied`]);
});

it('the scheduler may assume its roles for this AWS account only', async () => {
  const source = (account: string) => ({
    'aws:SourceAccount': account,
    'aws:SourceArn': `arn:aws:scheduler:${region}:${account}:schedule-group/default`,
  });
  const ofSchedules = policies.roles.filter(({ id }) => /^(Drain|RefreshToken)Schedule/.test(id));
  expect(ofSchedules).toHaveLength(2);
  for (const role of ofSchedules) {
    const may = [source(awsAccount), source('444455556666'), {}].map((context) =>
      mayAssume(role, 'scheduler.amazonaws.com', context),
    );
    expect(await Promise.all(may)).toEqual([true, false, false]);
  }
});
