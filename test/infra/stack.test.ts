// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation in short.
import { expect, it } from 'vitest';
import { refreshLockMs } from '../../functions/refresh-token/refresh-lock.ts';
import { unknownToEmulator } from '../../infra/emulator.ts';
import packageJson from '../../package.json' with { type: 'json' };
import {
  type FunctionName,
  functionResources,
  resourceKeys,
  settingsKey,
} from '../../shared/contract/environment.ts';
import { outputs, stackName } from '../../shared/contract/names.ts';
import { functions, inShort, synthesized } from '../helpers/synthesized.ts';

const bridge = synthesized({
  ...{ auditSample: '299', organizationId: 'o-a1b2c3d4e5' },
  subscriberAccounts: '111111111111,222222222222,111111111111',
});
const { one, ofType } = bridge;
const names = Object.keys(functions) as FunctionName[];
/** What stores, sends and watches; roles and functions are asserted below and in iam/. */
const golden = [
  ...['DynamoDB::Table', 'SQS::Queue', 'SQS::QueuePolicy', 'SecretsManager::Secret', 'CloudWatch::Alarm'],
  ...['SecretsManager::ResourcePolicy', 'Scheduler::Schedule', 'Lambda::EventSourceMapping'],
  ...['Lambda::EventInvokeConfig', 'Events::EventBus', 'Events::Archive', 'Events::EventBusPolicy'],
];

it.each(golden)('the stack has these resources of type %s', async (type) => {
  const found = Object.fromEntries(ofType(`AWS::${type}`));
  expect(Object.keys(found)).not.toEqual([]);
  const text = JSON.stringify(
    inShort(found),
    (key, value) => (/description$/i.test(key) ? undefined : value),
    1,
  );
  await expect(`${text}\n`).toMatchFileSnapshot(`stack/${type.replace('::', '-')}.txt`);
});

it('a message is hidden for six fan-out timeouts, at most 200 times a day', () => {
  const { Timeout } = one('AWS::Lambda::Function', functions.fanOut).Properties;
  const { VisibilityTimeout, ContentBasedDeduplication } = one(
    'AWS::SQS::Queue',
    'ChangedAdvertsQueue',
  ).Properties;
  expect(ContentBasedDeduplication).toBeUndefined();
  expect(VisibilityTimeout).toBeGreaterThanOrEqual(6 * Timeout);
  expect(86_400 / VisibilityTimeout).toBeLessThanOrEqual(200);
});

it('restored tables are granted only when the settings name them', () => {
  const resources = synthesized({ feedStateTable: 'restored-feeds', advertStatusTable: 'restored-adverts' })
    .ofType('AWS::IAM::Policy')
    .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
    .filter(({ Action }) => JSON.stringify(Action).includes('dynamodb:'))
    .map(({ Resource }) => JSON.stringify(inShort(Resource)));
  expect(resources.length).toBeGreaterThan(10);
  for (const resource of resources) expect(resource).toMatch(/:table\/restored-(feeds|adverts)"$/);
});

it('the outputs of the stack are exactly those of the contract', () => {
  const { Outputs } = bridge.template;
  expect(bridge.stack.stackName).toBe(stackName);
  expect(Object.keys(Outputs).sort()).toEqual(
    Object.values(outputs)
      .filter((name) => name !== outputs.customEventBusArn)
      .sort(),
  );
  expect(Outputs.EventBusName.Value).toEqual({ Ref: one('AWS::Events::EventBus').id });
  expect(Outputs.Version.Value).toBe(packageJson.version);
  for (const name of ['Drain', 'RefreshToken']) {
    const { id } = one('AWS::Scheduler::Schedule', name);
    expect(Outputs[`${name}ScheduleName`].Value).toEqual({ Ref: id });
  }
});

it('only what the contract names has a fixed name', () => {
  const fixed = /^(Bucket|Function|LogGroup|Queue|Role|Table|Topic)?Name$/;
  const named = Object.values(synthesized().resources).flatMap(({ Type, Properties = {} }) =>
    Object.entries(Properties).filter(
      ([key, value]) =>
        Type !== 'AWS::Lambda::EventSourceMapping' && fixed.test(key) && typeof value === 'string',
    ),
  );
  expect(named.map(([, name]) => name).sort()).toEqual(['advert-bridge/application', 'adverts']);
});

it('exactly the roles that may read tokens are on the token readers’ path', () => {
  const readers = ofType('AWS::IAM::Role').filter(
    ([, { Properties }]) => Properties.Path === '/advert-bridge/token-readers/',
  );
  expect(readers.map(([id]) => id.slice(0, -8)).sort()).toEqual([
    ...['CatchUpRole', 'DrainRole', 'FanOutRole', 'RefreshTokenRole'],
  ]);
});

it.each(names)('the environment of the %s function is exactly that of its contract', (name) => {
  const { Properties } = one('AWS::Lambda::Function', functions[name]);
  const wanted = (Object.keys(functionResources[name].entries) as (keyof typeof resourceKeys)[])
    // Only with a KMS key, or with the Custom Event Bus: properties.test.ts.
    .filter((key) => key !== 'partnerSecretKey' && key !== 'customEventBusArn');

  expect(Object.keys(Properties.Environment.Variables).sort()).toEqual(
    [settingsKey, ...wanted.map((key) => resourceKeys[key])].sort(),
  );
});

it.each(['refreshToken', 'connect'] as const)('the %s function ends before its lock does', (name) => {
  const { Timeout } = one('AWS::Lambda::Function', functions[name]).Properties;
  expect(Timeout * 1000).toBeLessThan(refreshLockMs);
});

it('the emulator’s stack differs from AWS only in what it cannot do', () => {
  const settings = { subscriberAccounts: '111111111111', alarmEmail: 'team@example.com' };
  const aws = synthesized(settings);
  const emulator = synthesized({ ...settings, target: 'emulator' });
  const known = Object.entries(aws.resources).filter(([, { Type }]) => !unknownToEmulator.includes(Type));

  expect(known.length).toBeLessThan(Object.keys(aws.resources).length);
  expect(emulator.resources).toEqual(Object.fromEntries(known));
  expect(emulator.template.Outputs).toEqual(aws.template.Outputs);
  expect([aws, emulator].map(({ stack }) => stack.terminationProtection)).toEqual([true, false]);
});
