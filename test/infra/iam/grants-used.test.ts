/**
 * Grants are proven, not restated: every call that the functions make is put to an IAM engine with the policies of the
 * synthesized template. None may be denied, and no grant may be without a call.
 *
 * A call that is new needs nothing here when a handler makes it in the journey, or when `rows` names it.
 */
import { PassThrough, Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCli } from '../../../cli/cli.ts';
import { createStore } from '../../../shared/aws/store.ts';
import type { FunctionName } from '../../../shared/contract/environment.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import type { Kind } from '../../../shared/contract/tables.ts';
import type { Store } from '../../../shared/ports/store.ts';
import { functions, synthesized } from '../../helpers/synthesized.ts';
import { knownConditionKeys } from './aws-call.ts';
import { awsMadeCalls } from './aws-made-calls.ts';
import { decide, mayAssume } from './decide.ts';
import { compare, distinctCalls, type RoleCall, summary } from './grants.ts';
import { type Journey, startJourney, travel } from './handlers-journey.ts';
import { type Caller, type RecordedWorld, startRecordedWorld } from './recorded-world.ts';
import {
  awsAccount,
  policiesOf,
  type RolePolicies,
  region,
  type Statement,
  secretArn,
} from './template-policies.ts';

/** The function whose module is being loaded: its clients go through its own proxy. */
const loading = vi.hoisted(() => ({ clients: undefined as unknown }));
vi.mock('../../../shared/aws/clients.ts', () => {
  const client = (name: string) => () => (loading.clients as Record<string, unknown>)[name];
  return {
    dynamoDbClient: client('dynamoDb'),
    sqsClient: client('sqs'),
    eventBridgeClient: client('events'),
    secretsManagerClient: client('secrets'),
    lambdaClient: client('lambda'),
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
/** The drain asks for an account's backlog only when the queue is deep: here that is soon. */
vi.mock('../../../shared/runtime/limits.ts', async (original) => {
  const limits = await original<typeof import('../../../shared/runtime/limits.ts')>();
  return { ...limits, drainLimits: { ...limits.drainLimits, maxWaiting: 1 } };
});

const folders: Readonly<Record<FunctionName, string>> = {
  drain: 'drain',
  fanOut: 'fan-out',
  refreshToken: 'refresh-token',
  connect: 'connect',
};
const policies = policiesOf(synthesized({ organizationId: 'o-a1b2c3d4e5', auditSample: '1' }).resources);

let world: RecordedWorld;
let journey: Journey;
const loaded = new Map<FunctionName, Promise<never>>();

/** Sequentially: the module that is being loaded determines to which function the clients belong. */
let last: Promise<unknown> = Promise.resolve();
function load(name: FunctionName): Promise<never> {
  const found = loaded.get(name);
  if (found) return found;
  const handler = last.then(async () => {
    loading.clients = world.clients(name);
    return (await import(`../../../functions/${folders[name]}/handler.ts`)).handler as never;
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

beforeAll(async () => {
  world = await startRecordedWorld((event) => journey.invoke('refreshToken', event));
});
afterAll(() => world.stop());

/** The rows that each function works on, and how, also on ways that the journey below does not take. */
const rows: readonly (readonly [Caller, Kind, readonly (keyof Store)[]])[] = [
  ['drain', 'account', ['list', 'get', 'put']],
  ['drain', 'aside', ['list', 'remove']],
  ['drain', 'dead', ['list', 'get', 'put']],
  ['fanOut', 'account', ['get', 'put']],
  ['fanOut', 'aside', ['put']],
  ['fanOut', 'dead', ['get', 'put']],
  ['fanOut', 'history', ['get', 'put']],
  ['refreshToken', 'account', ['list', 'get', 'put']],
  ['connect', 'account', ['get', 'put', 'remove']],
  ['connect', 'history', ['get']],
  // Backfills and audits put an account on hold, too.
  ['catchUp', 'account', ['list', 'get', 'put']],
  ['catchUp', 'dead', ['get', 'put']],
  ...(['drain', 'fanOut', 'refreshToken', 'connect'] as const).map(
    (by) => [by, 'bridge', ['get', 'put']] as const,
  ),
];
it.each(rows)('%s works on rows of kind %s: %j', async (by, kind, used) => {
  const tables = [await world.table('FeedState'), await world.table('AdvertStatus')] as const;
  const storeOf = (caller: Caller) =>
    createStore({ feedState: tables[0].of(caller), advertStatus: tables[1].of(caller) });
  const own = storeOf(by);
  const store: Store = {
    ...storeOf('harness'),
    ...Object.fromEntries(used.map((method) => [method, own[method]])),
  };
  const key = { kind, name: 'main' };

  const put = await store.put(key, { a: 1 }, 'absent');
  expect(await store.get(key)).toMatchObject({ value: { a: 1 } });
  expect(await store.list(kind)).toHaveLength(1);
  expect(await store.put(key, { a: 2 }, 'etag' in put ? put.etag : '')).toHaveProperty('etag');
  expect(await store.remove(key)).toBe(true);
});

describe('the handlers', () => {
  it('take a partner account from connect to forget', async () => {
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    journey = await startJourney({
      world,
      load,
      pass: (ms) => {
        clock.pass(ms);
      },
      catchUp: async (command) => {
        loading.clients = world.clients('catchUp');
        vi.stubEnv('AWS_ENDPOINT_URL_CLOUDFORMATION', world.url('catchUp'));
        vi.stubEnv('AWS_REGION', region);
        vi.stubEnv('AWS_ACCESS_KEY_ID', '000000000000');
        vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
        return commandLine(command);
      },
      setEnvironment: (variables) => {
        for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
      },
    });
    try {
      await travel(journey);
    } finally {
      await journey.stop();
    }
  }, 60_000);
});

const listed = <T>(value: T | readonly T[]): readonly T[] => (Array.isArray(value) ? value : [value as T]);
const allCalls = (): readonly RoleCall[] => [...world.calls(policies), ...awsMadeCalls(policies)];

describe('the grants of the stack', () => {
  it('allow every call, and are all used', async () => {
    const report = await compare(policies, allCalls());
    console.info(summary(report));
    expect(report.denied).toEqual([]);
    expect(report.unused).toEqual([]);
    expect(report.distinct).toBeGreaterThan(50);
  });

  it('have only conditions that recorded calls answer', () => {
    const ofPrincipal = ['aws:PrincipalArn', 'aws:SecureTransport'];
    const keys = policies.roles
      .flatMap(({ statements }) => statements)
      .flatMap(({ Condition = {} }) => Object.values(Condition).flatMap(Object.keys));
    expect(keys.filter((key) => ![...knownConditionKeys, ...ofPrincipal].includes(key))).toEqual([]);
  });
});

/** The same policies with the statements of one role changed. */
const withStatements = (role: RolePolicies, statements: readonly Statement[]) => {
  const changed = { ...role, statements };
  const swap = (call: RoleCall) => (call.role.id === role.id ? { ...call, role: changed } : call);
  return {
    policies: { ...policies, roles: policies.roles.map((each) => (each.id === role.id ? changed : each)) },
    calls: allCalls().map(swap),
  };
};

describe('the check itself', () => {
  it('fails for every grant that is removed', async () => {
    const unmissed: string[] = [];
    const calls = distinctCalls(allCalls());
    for (const role of policies.roles) {
      const own = calls.filter((call) => call.role.id === role.id);
      for (const [index, statement] of role.statements.entries()) {
        for (const action of listed(statement.Action)) {
          const left = { ...statement, Action: listed(statement.Action).filter((each) => each !== action) };
          const statements = role.statements.with(index, left).filter(({ Action }) => Action.length > 0);
          const without = { ...role, statements };
          const results = await Promise.all(
            own
              .filter((call) => call.action === action)
              .map((call) => decide(policies, { ...call, role: without })),
          );
          if (results.every(({ result }) => result === 'Allowed')) unmissed.push(`${role.id} ${action}`);
        }
      }
    }
    expect(unmissed).toEqual([]);
  });

  it.each([
    ['an action that nobody calls', 'dynamodb:Scan', {}],
    ['a kind of item that nobody touches', 'dynamodb:GetItem', { 'dynamodb:LeadingKeys': ['secrets'] }],
  ])('finds an added grant that nobody uses: %s', async (_what, Action, keys) => {
    const role = policies.roleOf(functions.drain);
    const added: Statement = {
      ...{ Sid: 'Planted', Effect: 'Allow', Action },
      Resource: policies.arnOf('AWS::DynamoDB::Table', 'FeedState'),
      Condition: { 'ForAllValues:StringEquals': keys },
    };
    const planted = withStatements(role, [...role.statements, added]);
    const { denied, unused } = await compare(planted.policies, planted.calls);
    expect(denied).toEqual([]);
    expect(unused).toEqual([`${role.id}: Planted ${Action}`]);
  });

  it('finds a call that is denied', async () => {
    const role = policies.roleOf(functions.fanOut);
    const resourceArn = policies.arnOf('AWS::DynamoDB::Table', 'FeedState');
    const context = { 'dynamodb:LeadingKeys': ['feed'] };
    const stray = { role, action: 'dynamodb:UpdateItem', resourceArn, context };
    const { denied } = await compare(policies, [...allCalls(), stray]);
    expect(denied).toEqual([expect.stringContaining('dynamodb:UpdateItem')]);
  });
});

describe('the policies', () => {
  /** An administrator, or a function of another team's, in the AWS account of the bridge. */
  const anybody: RolePolicies = {
    id: 'Administrator',
    arn: 'arn:aws:iam::111122223333:role/Administrator',
    trust: [],
    statements: [{ Sid: 'All', Effect: 'Allow', Action: '*', Resource: '*' }],
  };
  const get = { action: 'secretsmanager:GetSecretValue', context: {} };
  const ofMain = secretArn(`${secretNames.partnerAccountPrefix}main`);
  const application = secretArn(secretNames.application);
  const roleOf = (name: FunctionName) => policies.roleOf(functions[name]);
  const result = async (question: Parameters<typeof decide>[1]) => (await decide(policies, question)).result;
  const codeOf = (name: FunctionName) => ({
    'lambda:SourceFunctionArn': policies.arnOf('AWS::Lambda::Function', functions[name]),
  });
  /** A question of the function's own code. */
  const asCode = (name: FunctionName, question: { action: string; resourceArn: string; context: object }) =>
    result({ role: roleOf(name), ...question, context: { ...question.context, ...codeOf(name) } });
  const withAll = (role: RolePolicies) => ({ ...role, statements: anybody.statements });

  it('deny an administrator who catches up only the reading of tokens', async () => {
    const own = allCalls().filter(({ role }) => role.id === policies.catchUpRole.id);
    const { distinct, denied } = await compare(policies, own);
    expect(denied).toEqual([]);
    expect(distinct).toBeGreaterThan(10);

    const asAdministrator = own.map((call) => ({ ...call, role: anybody }));
    expect((await compare(policies, asAdministrator)).denied).toEqual([
      `Administrator may not secretsmanager:GetSecretValue on ${ofMain} {}: ExplicitlyDenied`,
    ]);
  });

  it('let the catch-up role write no secret and invoke only refresh-token', async () => {
    const role = policies.catchUpRole;
    for (const action of ['PutSecretValue', 'DeleteSecret', 'PutResourcePolicy']) {
      const write = { role, action: `secretsmanager:${action}`, resourceArn: ofMain, context: {} };
      expect(await result(write)).toBe('ImplicitlyDenied');
    }
    expect(await result({ role, resourceArn: application, ...get })).not.toBe('Allowed');
    for (const name of ['drain', 'fanOut', 'connect'] as const) {
      const resourceArn = policies.arnOf('AWS::Lambda::Function', functions[name]);
      const invoke = { role, action: 'lambda:InvokeFunction', resourceArn, context: {} };
      expect(await result(invoke)).toBe('ImplicitlyDenied');
    }
  });

  it('let only drain, fan-out, refresh-token and catch-up read tokens', async () => {
    expect(await result({ role: policies.catchUpRole, resourceArn: ofMain, ...get })).toBe('Allowed');
    for (const name of ['drain', 'fanOut', 'refreshToken'] as const) {
      expect(await asCode(name, { resourceArn: ofMain, ...get })).toBe('Allowed');
      // Another function that was given the role, and somebody who assumes it.
      const foreign = { role: roleOf(name), resourceArn: ofMain, action: get.action };
      expect(await result({ ...foreign, context: codeOf('connect') })).toBe('ImplicitlyDenied');
      expect(await result({ ...foreign, context: {} })).toBe('ImplicitlyDenied');
    }
    for (const role of [anybody, withAll(roleOf('connect'))]) {
      expect(await result({ role, resourceArn: ofMain, ...get })).toBe('ExplicitlyDenied');
    }
  });

  it('let only refresh-token and connect read the credentials of the application', async () => {
    for (const name of ['refreshToken', 'connect'] as const) {
      expect(await asCode(name, { resourceArn: application, ...get })).toBe('Allowed');
    }
    for (const role of [anybody, withAll(roleOf('drain')), withAll(roleOf('fanOut'))]) {
      expect(await result({ role, resourceArn: application, ...get })).toBe('ExplicitlyDenied');
    }
  });

  it('allow queues over TLS only', async () => {
    const send = {
      role: roleOf('drain'),
      action: 'sqs:SendMessage',
      resourceArn: policies.arnOf('AWS::SQS::Queue', 'ChangedAdvertsQueue'),
    };
    expect(await result({ ...send, context: {} })).toBe('Allowed');
    expect(await result({ ...send, context: { 'aws:SecureTransport': 'false' } })).toBe('ExplicitlyDenied');
  });

  it('let drain and fan-out invoke only refresh-token', async () => {
    for (const name of ['drain', 'fanOut'] as const) {
      for (const [id, expected] of Object.entries({
        [functions.refreshToken]: 'Allowed',
        [functions.connect]: 'ImplicitlyDenied',
      })) {
        const resourceArn = policies.arnOf('AWS::Lambda::Function', id);
        const question = { role: roleOf(name), action: 'lambda:InvokeFunction', resourceArn, context: {} };
        expect(await result(question)).toBe(expected);
      }
    }
  });

  it('let the scheduler assume its roles for this AWS account only', async () => {
    const source = (account: string) => ({
      'aws:SourceAccount': account,
      'aws:SourceArn': `arn:aws:scheduler:${region}:${account}:schedule-group/default`,
    });
    const ofSchedules = policies.roles.filter(({ id }) => /^(Drain|RefreshToken)Schedule/.test(id));
    expect(ofSchedules).toHaveLength(2);
    for (const role of ofSchedules) {
      const assumes = (context: Record<string, string>) =>
        mayAssume(role, 'scheduler.amazonaws.com', context);
      expect(await assumes(source(awsAccount))).toBe(true);
      expect(await assumes(source('444455556666'))).toBe(false);
      expect(await assumes({})).toBe(false);
    }
  });

  it('remove a secret only with its recovery window, and make none public', async () => {
    const remove = (context: object) =>
      asCode('connect', { action: 'secretsmanager:DeleteSecret', resourceArn: ofMain, context });
    const force = (value: string) => ({ 'secretsmanager:ForceDeleteWithoutRecovery': value });
    expect(await remove({})).toBe('Allowed');
    expect(await remove(force('false'))).toBe('Allowed');
    expect(await remove(force('true'))).toBe('ImplicitlyDenied');
    const protect = { action: 'secretsmanager:PutResourcePolicy', resourceArn: ofMain, context: {} };
    expect(await asCode('connect', protect)).toBe('ImplicitlyDenied');
  });
});
