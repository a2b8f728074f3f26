/** What an organization, or an app around the bridge, changes: the template is right nevertheless. */
import { type App, AspectPriority, Aspects, NestedStack, Stack } from 'aws-cdk-lib';
import { CfnRole, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { Topic } from 'aws-cdk-lib/aws-sns';
import type { IConstruct } from 'constructs';
import { expect, it, vi } from 'vitest';
import { AdvertBridge, type AdvertBridgeProps } from '../../infra/cdk.ts';
import {
  bareApp,
  env,
  inShort,
  partnerBaseUrl,
  type Synthesized,
  templateOf,
} from '../helpers/synthesized.ts';

const bridgeIn = (stack: Stack, props: Partial<AdvertBridgeProps> = {}) =>
  new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, ...props });

/** Of the secrets that are created at run time. */
function readersOf({ one }: Synthesized): unknown {
  const { PARTNER_SECRET_POLICY } = one('AWS::Lambda::Function', 'BridgeConnectFunction').Properties
    .Environment.Variables;
  const { Statement } = JSON.parse(inShort(PARTNER_SECRET_POLICY) as string);
  return Statement[0].Condition.ArnNotLike['aws:PrincipalArn'];
}
const publishersOf = ({ one }: Synthesized): unknown =>
  inShort(
    one('AWS::Events::EventBusPolicy', 'BridgePublishers').Properties.Statement.Condition.ArnNotEquals[
      'aws:PrincipalArn'
    ],
  );

const onEach = (scope: IConstruct, visit: (node: IConstruct) => unknown) =>
  Aspects.of(scope).add({ visit: (node) => void visit(node) });

it.each<[how: string, change: (role: CfnRole) => void]>([
  ['sets', (role) => Object.assign(role, { path: '/org/' })],
  ['overrides', (role) => role.addPropertyOverride('Path', '/org/')],
])('the policy of tokens names the roles when an Aspect %s their path', (_how, change) => {
  const stack = new Stack(bareApp(), 'Shop', { env });
  bridgeIn(stack);
  onEach(stack, (node) => node instanceof CfnRole && change(node));

  const found = templateOf(stack);

  const roles = ['RefreshToken', 'FanOut', 'Drain', 'CatchUp'];
  expect(readersOf(found)).toEqual(roles.map((name) => `\${Bridge${name}Role.Arn}`));
});

it('the policy of tokens names existing roles that replace the bridge’s', () => {
  const stack = new Stack(bareApp(), 'Shop', { env });
  const made = ['FanOut/', 'Drain/', 'RefreshToken/', 'Connect/', 'CatchUp/'].map((part) => [
    `Bridge/${part}Role`,
    `org-${part.slice(0, -1)}`,
  ]);
  const schedules = ['Drain', 'RefreshToken'].map((part) => [`Bridge/${part}/ScheduleRole`, `org-${part}-s`]);
  Role.customizeRoles(stack, { usePrecreatedRoles: Object.fromEntries([...made, ...schedules]) });
  bridgeIn(stack);

  const found = templateOf(stack);

  const named = (...names: string[]) =>
    names.map((name) => `arn:\${AWS::Partition}:iam::111122223333:role/org-${name}`);
  expect(found.ofType('AWS::IAM::Role')).toEqual([]);
  expect(readersOf(found)).toEqual(named('RefreshToken', 'FanOut', 'Drain', 'CatchUp'));
  expect(publishersOf(found)).toEqual(named('FanOut', 'RefreshToken', 'Connect'));
});

it.each([
  ['eu-central-1', {}, 1],
  ['mx-central-1', {}, 0],
  ['eu-central-1', { schemaRegistry: false }, 0],
])('a bridge in %s with %j has %i schema registries', (region, props, count) => {
  const stack = new Stack(bareApp(), 'Shop', { env: { ...env, region } });
  bridgeIn(stack, props);

  const { ofType } = templateOf(stack);

  expect(ofType('AWS::EventSchemas::Registry')).toHaveLength(count);
  expect(ofType('AWS::EventSchemas::Schema')).toHaveLength(4 * count);
});

it('CloudWatch may use the key of the topic when the app has made both', () => {
  const stack = new Stack(bareApp(), 'Shop', { env });
  const alarmTopic = new Topic(stack, 'Pager', { enforceSSL: true, masterKey: new Key(stack, 'Key') });
  alarmTopic.grantPublish(new ServicePrincipal('cloudwatch.amazonaws.com'));
  bridgeIn(stack, { alarmTopic });

  const { Statement } = templateOf(stack).one('AWS::KMS::Key').Properties.KeyPolicy;

  expect(Statement.slice(1)).toContainEqual({
    ...{ Effect: 'Allow', Principal: { Service: 'cloudwatch.amazonaws.com' }, Resource: '*' },
    Action: ['kms:Decrypt', 'kms:GenerateDataKey*'],
    Condition: { StringEquals: { 'aws:SourceAccount': env.account } },
  });
});

it('no schema registry is made when neither stack nor CDK names a region', () => {
  vi.stubEnv('CDK_DEFAULT_REGION', 'mx-central-1');
  const stack = new Stack(bareApp(), 'Shop');
  bridgeIn(stack);

  expect(templateOf(stack).ofType('AWS::EventSchemas::Registry')).toEqual([]);
});

it('roles may write traces when an Aspect switches on tracing', () => {
  const tracing = (isOn: boolean) => {
    const stack = new Stack(bareApp(), 'Shop', { env });
    bridgeIn(stack);
    if (isOn) {
      const visit = (node: IConstruct) => {
        if (node instanceof CfnFunction) node.tracingConfig = { mode: 'Active' };
      };
      Aspects.of(stack).add({ visit }, { priority: AspectPriority.DEFAULT + 1 });
    }
    const { ofType } = templateOf(stack);
    return ofType('AWS::IAM::Policy')
      .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
      .filter(({ Action }) => JSON.stringify(Action).includes('xray:PutTraceSegments'));
  };
  expect(tracing(false)).toEqual([]);
  expect(tracing(true)).toHaveLength(4);
});

function subscribedIn(make: (app: App, shop: Stack) => Stack, alarmTopic?: (shop: Stack) => Topic) {
  const app = bareApp();
  const shop = new Stack(app, 'Shop', { env });
  const bridge = bridgeIn(shop, alarmTopic && { alarmTopic: alarmTopic(shop) });
  const other = make(app, shop);
  bridge.subscribe(other, 'Search');
  return { app, shop, other };
}

it('a subscription in another stack imports nothing and is deployed later', () => {
  const { app, other } = subscribedIn((scope) => new Stack(scope, 'Search', { env }));
  const assembly = app.synth();
  const { template, dependencies } = assembly.getStackByName('Search');
  expect(JSON.stringify(template)).not.toContain('Fn::ImportValue');
  expect(templateOf(other).one('AWS::Events::Rule').Properties.EventBusName).toBe('adverts');
  expect(dependencies.map(({ id }) => id)).toContain('Shop');
  // What a subscription of an earlier version imports is not removed under it.
  const exports = Object.keys(assembly.getStackByName('Shop').template.Outputs);
  expect(exports.filter((name) => /^ExportsOutputRefBridgeEventsBus/.test(name))).toHaveLength(1);
});

it('a subscription in a nested stack refers to the bus', () => {
  const { other } = subscribedIn((_app, shop) => new NestedStack(shop, 'Nested'));
  const { EventBusName } = templateOf(other).one('AWS::Events::Rule').Properties;
  expect(EventBusName).toHaveProperty('Ref');
});

it('a subscription is refused when its stack is in another region', () => {
  const elsewhere = { ...env, region: 'eu-west-1' };
  expect(() => subscribedIn((scope) => new Stack(scope, 'Search', { env: elsewhere }))).toThrow(
    'bus: expected a stack in eu-central-1, the region of the bus',
  );
});
