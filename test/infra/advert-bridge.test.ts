import { readFileSync } from 'node:fs';
import { Lazy, Stack, Validations } from 'aws-cdk-lib';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { AccountRootPrincipal, Role } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, it, vi } from 'vitest';
import { AdvertBridge, type AdvertBridgeProps } from '../../infra/cdk.ts';
import { metrics, outputs } from '../../shared/contract/names.ts';
import { bareApp, bridgeWith, env, faultsOf, partnerBaseUrl, templateOf } from '../helpers/synthesized.ts';

const topicArn = 'arn:aws:sns:eu-central-1:111122223333:pager';
const keyArn = 'arn:aws:kms:eu-central-1:111122223333:key/1234';

const faultsWith = (props: Partial<AdvertBridgeProps>): readonly string[] =>
  faultsOf(
    () => new AdvertBridge(new Stack(bareApp(), 'Shop', { env }), 'Bridge', { partnerBaseUrl, ...props }),
  );

it('a bridge is rejected when its settings exceed a function’s environment', () => {
  const paths = Array.from({ length: 50 }, (_, index) => `${index}`.padEnd(40, 'a'));
  expect(faultsWith({ eventFields: paths })).toEqual([]);
  expect(faultsWith({ eventFields: paths.map((path) => `${path}.${path}`) })).toEqual([
    expect.stringMatching(/^eventFields: expected less text: the settings of a function may have 2696 bytes/),
  ]);
});

const { bridge, template, ofType, one } = bridgeWith();

it('a base URL alone sets no tags, protection, parameters or rules', () => {
  const stack = Stack.of(bridge);
  // CDK's own, for the version of the bootstrap stack.
  expect(Object.keys(template.Parameters)).toEqual(['BootstrapVersion']);
  expect(Object.keys(template.Rules)).toEqual(['CheckBootstrapVersion']);
  expect([template.Conditions, template.Mappings]).toEqual([undefined, undefined]);
  expect(stack.terminationProtection).toBe(false);
  expect(stack.tags.hasTags()).toBe(false);
  expect(stack.templateOptions.description).toBeUndefined();
});

it('outputs stand under the bridge’s path in the stack and name the stack', () => {
  const wanted = Object.values(outputs)
    .filter((name) => name !== outputs.customEventBusArn)
    .map((name) => `Bridge${name}`);
  expect(Object.keys(template.Outputs).sort()).toEqual(wanted.sort());
  expect(bridge.name).toBe('Shop');
  expect(one('AWS::SecretsManager::Secret').Properties.Name).toBe('Shop/application');
  expect(template.Outputs.BridgeBridgeName.Value).toBe('Shop');
  expect(template.Outputs.BridgeDoctor.Value).toBe('advert-bridge doctor --stack Shop/Shop');
});

it('the app gets the alarms and metrics of the bridge', () => {
  expect(bridge.alarms).toHaveLength(ofType('AWS::CloudWatch::Alarm').length);
  expect(Object.keys(bridge.metrics)).toEqual(Object.keys(metrics));
  expect(bridge.metrics.events).toMatchObject({ statistic: 'Sum', dimensions: { service: 'Shop' } });
  expect(bridge.metrics.feedLagSeconds.statistic).toBe('Maximum');
});

const page = readFileSync('docs/operate/deploy.md', 'utf8');
const [, section = ''] = page.split('## What status has to be allowed\n');
const needed = [...(section.split('\n## ')[0] ?? '').matchAll(/`(\w+:[A-Z]\w+)`/g)].map(
  ([, action]) => action,
);

it('a granted role may read what status reads', () => {
  const stack = new Stack(bareApp(), 'Shop');
  const eventBuses = ['classic', 'custom'] as const;
  const bridge = new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, eventBuses });
  const roleFor = (id: string) => new Role(stack, id, { assumedBy: new AccountRootPrincipal() });

  bridge.grantRead(roleFor('Reader'));

  const { resources } = templateOf(stack);
  const actionsOf = (id: string) =>
    Object.entries(resources)
      .filter(([logicalId]) => logicalId.startsWith(`${id}DefaultPolicy`))
      .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
      .flatMap(({ Action }) => Action);
  expect(actionsOf('Reader').sort()).toEqual(needed.sort());
});

it('a bridge in another stack subscribes to its own bus and alarm topic', () => {
  const app = bareApp();
  const stack = new Stack(app, 'Shop', { env });
  const alarmTopic = Topic.fromTopicArn(stack, 'Pager', topicArn);
  const bridge = new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, alarmTopic });
  const search = new Stack(app, 'Search', { env });

  bridge.subscribe(search, 'Adverts', { statuses: ['sold'] });

  const { one } = templateOf(search);
  const { EventPattern, EventBusName } = one('AWS::Events::Rule').Properties;
  expect(EventPattern.source).toEqual(['advert-bridge']);
  expect(EventBusName).toBe('adverts');
  const { AlarmActions, OKActions } = one('AWS::CloudWatch::Alarm').Properties;
  expect([AlarmActions, OKActions]).toEqual([[topicArn], [topicArn]]);
});

it('every role gets the key; the network is for Lambda, not for the code', () => {
  const { ofType } = bridgeWith((stack) => ({
    encryptionKey: Key.fromKeyArn(stack, 'Key', keyArn),
    vpc: new Vpc(stack, 'Vpc'),
  }));
  const sids = ofType('AWS::IAM::Policy')
    .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
    .map(({ Effect, Sid }) => `${Effect} ${Sid}`);
  const counts = ['Allow Key', 'Allow Network', 'Deny NetworkNotByCode'].map(
    (sid) => sids.filter((each) => each === sid).length,
  );
  expect(counts).toEqual([5, 4, 4]);
});

it('faults of the properties come together, each with the expected value', () => {
  const wrong = { partnerBaseUrl: 'http://partner.example', pollSeconds: 0, name: 'a b', logRetention: 2 };

  expect(faultsWith(wrong as never)).toEqual([
    expect.stringMatching(/^partnerBaseUrl: expected an https URL/),
    'pollSeconds: expected whole seconds from 1 to 60',
    expect.stringMatching(/^name: expected 1 to 64 letters/),
    'logRetention: expected a value of RetentionDays',
  ]);
});

const theirBus = { eventBusArn: 'x', eventBusName: 'y' };
it.each<[props: object, fault: string]>([
  [{ name: 'advert-bridge' }, 'name: expected another name'],
  [{ name: Lazy.string({ produce: () => 'a' }) }, 'name: expected a name known at synth'],
  [{ bus: theirBus, busName: 'b' }, 'busName: expected no bus with it'],
  [{ bus: { ...theirBus, eventBusName: 'default' } }, 'bus: expected another one'],
  [{ bus: { ...theirBus, env: { region: 'eu-west-1' } } }, 'bus: expected a bus in eu-central-1, the region'],
  ...[
    ['sqs:eu-central-1:111111111111:adverts', 'expected the ARN of an event bus: this one is of sqs'],
    ['events:eu-central-1:111111111111:event-busv2/adverts/a1', 'expected a classic bus'],
    ['events:cn-north-1:111111111111:event-bus/a', 'expected a bus in the partition aws-cn, not in aws'],
  ].map(([arn, fault]): [object, string] => [
    { bus: { ...theirBus, eventBusArn: `arn:aws:${arn}` } },
    `bus: ${fault}`,
  ]),
  [{ eventBuses: [] }, "eventBuses: expected 'classic', 'custom' or both"],
  [{ eventBuses: 'custom' }, "eventBuses: expected 'classic', 'custom' or both"],
  [{ eventBuses: ['custom', 'modern'] }, "eventBuses.1: expected 'classic', 'custom' or both"],
  [{ eventBuses: ['custom', 'custom'] }, "eventBuses: expected 'classic', 'custom' or both, each once"],
  [{ eventBuses: ['custom'], target: 'emulator' }, "eventBuses: expected ['classic'] with target emulator"],
  [{ eventBuses: ['custom'], busName: '_shop' }, 'busName: expected a letter or digit at its beginning'],
  [{ eventBuses: ['custom'], bus: theirBus }, "bus: expected 'classic' among the eventBuses with it"],
  [{ vpcSubnets: {} }, 'vpcSubnets: expected a vpc with it'],
  [{ vpc: { vpcId: 'x', privateSubnets: [] } }, 'vpc: expected one with a private subnet with egress'],
  [{ reservedConcurrency: { fanOut: 1 } }, 'reservedConcurrency.fanOut: expected a whole number from 2'],
  [{ encryptionKey: 'alias/x' }, 'encryptionKey: expected a KMS key'],
  [{ alarmTopicArn: 'x' }, 'alarmTopicArn: there is no such property: did you mean alarmTopic?'],
  [{ pollSeconds: '5' }, 'pollSeconds: expected whole seconds from 1 to 60, as a number, not text'],
  [{ publishStatuses: ['active,sold'] }, 'publishStatuses.0: expected statuses, without a comma in one'],
])('a bridge with the properties %j is rejected', (props, fault) => {
  expect(faultsWith(props)).toEqual([expect.stringContaining(fault)]);
});

it.each([
  ['no properties', undefined],
  ['a URL instead of properties', partnerBaseUrl],
])('a bridge is rejected when %s', (_what, props) => {
  expect(() => new AdvertBridge(new Stack(bareApp(), 'Shop'), 'Bridge', props as never)).toThrow(
    /Shop\/Bridge have faults\.\n {2}partnerBaseUrl: expected the https URL of the partner service/,
  );
});

it.each([
  ['without account and region', undefined],
  ['with account and region', env],
])('a bridge has no findings of cdk-nag in a stack %s', (_what, place) => {
  const app = bareApp();
  const stack = new Stack(app, 'Shop', place && { env: place });
  const vpc = Vpc.fromVpcAttributes(stack, 'Vpc', {
    ...{ vpcId: 'vpc-1', availabilityZones: ['a'], privateSubnetIds: ['subnet-1'] },
    privateSubnetRouteTableIds: ['rtb-1'],
  });
  new AdvertBridge(stack, 'Plain', { partnerBaseUrl });
  new AdvertBridge(stack, 'All', {
    ...{ partnerBaseUrl, name: 'All', busName: 'all', vpc, dashboard: true },
    ...{ alarmEmail: 'team@example.com', subscriberAccounts: ['444455556666'] },
    ...{ eventBuses: ['classic', 'custom'], encryptionKey: Key.fromKeyArn(stack, 'Key', keyArn) },
  });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  vi.stubEnv('JSII_DEPRECATED', 'quiet');

  expect(app.synth().stacks).toHaveLength(1);
});
