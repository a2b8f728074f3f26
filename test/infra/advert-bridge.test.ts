import { readFileSync } from 'node:fs';
import { App, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { SecurityGroup, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { AccountRootPrincipal, ManagedPolicy, PermissionsBoundary, Role } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it, vi } from 'vitest';
import { AdvertBridge, AdvertBridgeError, type AdvertBridgeProps } from '../../infra/cdk.ts';
import { metrics, outputs } from '../../shared/contract/names.ts';
import { bareApp, bridgeWith, env, partnerBaseUrl, templateOf } from '../helpers/bridges.ts';

const topicArn = 'arn:aws:sns:eu-central-1:111122223333:pager';
const keyArn = 'arn:aws:kms:eu-central-1:111122223333:key/1234';

function faultsOf(props: Partial<AdvertBridgeProps>): readonly string[] {
  try {
    new AdvertBridge(new Stack(bareApp(), 'Shop', { env }), 'Bridge', { partnerBaseUrl, ...props });
  } catch (error) {
    if (error instanceof AdvertBridgeError) return error.faults;
    throw error;
  }
  return [];
}

describe('settings as long as they may be', () => {
  const paths = (count: number) =>
    Array.from({ length: count }, (_, index) => `${String(index).padStart(2, '0')}${'a'.repeat(38)}`);

  it('are refused where they do not fit into the environment of a function', () => {
    const accounts = Array.from({ length: 60 }, (_, index) => `account-${index}`.padEnd(64, '0'));

    for (const [name, value] of [
      ['eventFields', paths(50).map((path) => `${path}.${path}`)],
      ['publishStatuses', [...paths(50), 'b'.repeat(1_000)]],
      ['publishPartnerAccounts', accounts],
      ['requiredScope', 'r'.repeat(3_000)],
    ] as const) {
      expect(faultsOf({ [name]: value })).toEqual([
        expect.stringMatching(
          new RegExp(`^${name}: expected less text: the settings of a function may have 2696 bytes`),
        ),
      ]);
    }
  });

  it('fit with fifty paths of usual length', () => {
    expect(faultsOf({ eventFields: paths(50) })).toEqual([]);
  });
});

describe('a bridge with a base URL alone', () => {
  const { bridge, template, ofType } = bridgeWith();

  it('has the defaults of our own stack', () => {
    expect(ofType('AWS::Lambda::Function')).toHaveLength(4);
    expect(ofType('AWS::DynamoDB::Table').map(({ DeletionPolicy }) => DeletionPolicy)).toEqual([
      'Retain',
      'Retain',
    ]);
    expect(ofType('AWS::Events::EventBus')[0]?.Properties.Name).toBe('adverts');
    expect(ofType('AWS::Events::Archive')).toHaveLength(1);
    expect(ofType('AWS::SNS::Topic')).toEqual([]);
    expect(ofType('AWS::EC2::SecurityGroup')).toEqual([]);
    for (const { Properties } of ofType('AWS::Lambda::Function')) {
      expect(Properties.ReservedConcurrentExecutions).toBeUndefined();
      expect(Properties.VpcConfig).toBeUndefined();
    }
  });

  it('is named like the stack that it stands in', () => {
    expect(bridge.name).toBe('Shop');
    expect(ofType('AWS::SecretsManager::Secret')[0]?.Properties.Name).toBe('Shop/application');
  });

  it('sets nothing on the stack: no tags, no protection, no parameters and rules', () => {
    expect(
      Object.keys(template).filter((section) => /Parameters|Rules|Conditions|Mappings/.test(section)),
    ).toEqual(
      // CDK's own, for the version of the bootstrap stack.
      ['Parameters', 'Rules'],
    );
    expect(Object.keys(template.Parameters)).toEqual(['BootstrapVersion']);
    expect(Object.keys(template.Rules)).toEqual(['CheckBootstrapVersion']);
    expect(bridge.node.scope && Stack.of(bridge).terminationProtection).toBe(false);
    expect(Stack.of(bridge).tags.hasTags()).toBe(false);
    expect(Stack.of(bridge).templateOptions.description).toBeUndefined();
  });

  it('has its outputs under its place in the stack', () => {
    expect(Object.keys(template.Outputs).sort()).toEqual(
      Object.values(outputs)
        .map((name) => `Bridge${name}`)
        .sort(),
    );
    expect(template.Outputs.BridgeBridgeName.Value).toBe('Shop');
    expect(template.Outputs.BridgeDoctor.Value).toBe('advert-bridge doctor --stack Shop/Shop');
  });

  it('gives out what others need', () => {
    const { bus, tables, queues, functions, alarms, catchUpRole } = bridge;
    const resolve = (value: unknown) => Stack.of(bridge).resolve(value);
    expect(resolve(bus.eventBusName)).toEqual(template.Outputs.BridgeEventBusName.Value);
    expect(resolve(tables.feedState.tableName)).toEqual(template.Outputs.BridgeFeedStateTableName.Value);
    expect(resolve(tables.advertStatus.tableName)).toEqual(
      template.Outputs.BridgeAdvertStatusTableName.Value,
    );
    expect(resolve(queues.changedAdverts.queueUrl)).toEqual(template.Outputs.BridgeQueueUrl.Value);
    expect(resolve(queues.deadLetters.queueUrl)).toEqual(template.Outputs.BridgeDeadLetterQueueUrl.Value);
    expect(resolve(functions.fanOut.functionName)).toEqual(template.Outputs.BridgeFanOutFunctionName.Value);
    expect(resolve(catchUpRole.roleArn)).toEqual(template.Outputs.BridgeCatchUpRoleArn.Value);
    expect(alarms).toHaveLength(ofType('AWS::CloudWatch::Alarm').length);
    expect(Object.keys(bridge.metrics)).toEqual(Object.keys(metrics));
    expect(bridge.metrics.events).toMatchObject({ statistic: 'Sum', dimensions: { service: 'Shop' } });
    expect(bridge.metrics.feedLagSeconds.statistic).toBe('Maximum');
  });
});

describe('grants', () => {
  const page = readFileSync('docs/operate/deploy.md', 'utf8');
  const [, section = ''] = page.split('## What status has to be allowed\n');
  const needed = [...(section.split('\n## ')[0] ?? '').matchAll(/`(\w+:[A-Z]\w+)`/g)].map(
    ([, action]) => action,
  );

  it('allow a role to publish, and to read what status reads', () => {
    const stack = new Stack(bareApp(), 'Shop');
    const bridge = new AdvertBridge(stack, 'Bridge', { partnerBaseUrl });
    const roleFor = (id: string) => new Role(stack, id, { assumedBy: new AccountRootPrincipal() });
    bridge.grantPublish(roleFor('Publisher'));
    bridge.grantRead(roleFor('Reader'));

    const { resources } = templateOf(stack);
    const actionsOf = (id: string) =>
      Object.entries(resources)
        .filter(([logicalId]) => logicalId.startsWith(`${id}DefaultPolicy`))
        .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
        .flatMap(({ Action }) => Action);
    expect(actionsOf('Publisher')).toEqual(['events:PutEvents']);
    expect(actionsOf('Reader').sort()).toEqual(needed.sort());
  });
});

it('subscribe sends the alarm of the subscription to the alarm topic of the bridge', () => {
  const stack = new Stack(new App({ analyticsReporting: false }), 'Search');
  const alarmTopic = Topic.fromTopicArn(stack, 'Pager', 'arn:aws:sns:eu-central-1:111122223333:pager');
  const bridge = new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, alarmTopic });

  bridge.subscribe(stack, 'Adverts');

  const alarms = Template.fromStack(stack).findResources('AWS::CloudWatch::Alarm', {
    Properties: { AlarmActions: [alarmTopic.topicArn], OKActions: [alarmTopic.topicArn] },
  });
  expect(Object.keys(alarms).filter((id) => id.startsWith('Adverts'))).toHaveLength(1);
});

it('subscribe makes a subscription to its bus, in another stack too', () => {
  const app = bareApp();
  const bridge = new AdvertBridge(new Stack(app, 'Shop'), 'Bridge', { partnerBaseUrl });
  const search = new Stack(app, 'Search');

  bridge.subscribe(search, 'Adverts', { statuses: ['sold'] });

  const [rule] = templateOf(search).ofType('AWS::Events::Rule');
  expect(rule?.Properties.EventPattern.source).toEqual(['advert-bridge']);
  expect(JSON.stringify(rule?.Properties.EventBusName)).toMatch(/BridgeEventsBus/);
});

it('a name is in all that has a fixed name', () => {
  const { ofType, bridge } = bridgeWith(() => ({ name: 'Partner-2', dashboard: true }));

  expect(bridge.name).toBe('Partner-2');
  expect(ofType('AWS::CloudWatch::Dashboard')[0]?.Properties.DashboardName).toBe('Partner-2');
  expect(ofType('AWS::EventSchemas::Registry')[0]?.Properties.RegistryName).toBe('Partner-2');
});

it('a bus that is there already is published on, and nothing is made on it', () => {
  const { ofType, template } = bridgeWith((stack) => ({
    bus: EventBus.fromEventBusName(stack, 'Theirs', 'all'),
  }));

  for (const type of ['EventBus', 'Archive', 'EventBusPolicy'])
    expect(ofType(`AWS::Events::${type}`)).toEqual([]);
  expect(template.Outputs.BridgeEventBusName.Value).toBe('all');
});

it('a bus of another AWS account is published on there, and not on one of the same name here', () => {
  const theirs = 'arn:aws:events:eu-central-1:444455556666:event-bus/all';
  const { ofType } = bridgeWith((stack) => ({ bus: EventBus.fromEventBusArn(stack, 'Theirs', theirs) }));

  const buses = ofType('AWS::Lambda::Function').flatMap(
    ({ Properties }) => Properties.Environment.Variables.EVENT_BUS_NAME ?? [],
  );
  expect(new Set(buses)).toEqual(new Set([theirs]));
});

it('a topic that is there already gets every alarm and its end', () => {
  const { ofType } = bridgeWith((stack) => ({ alarmTopic: Topic.fromTopicArn(stack, 'Pager', topicArn) }));

  for (const { Properties } of ofType('AWS::CloudWatch::Alarm')) {
    expect([Properties.AlarmActions, Properties.OKActions]).toEqual([[topicArn], [topicArn]]);
  }
});

it('a key encrypts tables, queues and secrets, and every role may use it', () => {
  const { ofType } = bridgeWith((stack) => ({ encryptionKey: Key.fromKeyArn(stack, 'Key', keyArn) }));

  for (const { Properties } of ofType('AWS::DynamoDB::Table')) {
    expect(Properties.SSESpecification).toMatchObject({ KMSMasterKeyId: keyArn, SSEType: 'KMS' });
  }
  for (const { Properties } of ofType('AWS::SQS::Queue')) expect(Properties.KmsMasterKeyId).toBe(keyArn);
  expect(ofType('AWS::SecretsManager::Secret')[0]?.Properties.KmsKeyId).toBe(keyArn);
  const keysOfNewSecrets = ofType('AWS::Lambda::Function').flatMap(
    ({ Properties }) => Properties.Environment.Variables.PARTNER_SECRET_KEY ?? [],
  );
  expect(keysOfNewSecrets).toEqual([keyArn]);
  const granted = ofType('AWS::IAM::Policy').filter(({ Properties }) =>
    Properties.PolicyDocument.Statement.some(({ Sid }: { Sid?: string }) => Sid === 'Key'),
  );
  expect(granted).toHaveLength(5);
});

it('a permissions boundary of CDK holds for every role', () => {
  const stack = new Stack(bareApp(), 'Shop');
  const bridge = new AdvertBridge(stack, 'Bridge', { partnerBaseUrl });
  PermissionsBoundary.of(bridge).apply(ManagedPolicy.fromManagedPolicyName(stack, 'Boundary', 'team'));

  const roles = templateOf(stack).ofType('AWS::IAM::Role');

  expect(roles.length).toBeGreaterThanOrEqual(7);
  for (const { Properties } of roles) {
    expect(JSON.stringify(Properties.PermissionsBoundary)).toMatch(/:policy\/team/);
  }
});

describe('in a VPC', () => {
  const privateSubnets = { subnetType: SubnetType.PRIVATE_WITH_EGRESS };

  it('every function is in its subnets, with a security group that lets out and nobody in', () => {
    const { ofType } = bridgeWith((stack) => ({
      partnerBaseUrl: 'https://partner.example:8443',
      vpc: new Vpc(stack, 'Vpc', { maxAzs: 2 }),
      vpcSubnets: privateSubnets,
    }));

    const [group] = ofType('AWS::EC2::SecurityGroup');
    expect(group?.Properties.SecurityGroupIngress).toBeUndefined();
    expect(
      group?.Properties.SecurityGroupEgress.map(({ FromPort }: { FromPort: number }) => FromPort),
    ).toEqual([443, 8443]);
    for (const { Properties } of ofType('AWS::Lambda::Function')) {
      expect(Properties.VpcConfig.SubnetIds).toHaveLength(2);
      expect(Properties.VpcConfig.SecurityGroupIds).toHaveLength(1);
    }
    const statements = ofType('AWS::IAM::Policy').flatMap(
      ({ Properties }) => Properties.PolicyDocument.Statement,
    );
    const network = statements.filter(({ Sid }: { Sid?: string }) => Sid?.startsWith('Network'));
    expect(network.filter(({ Effect }) => Effect === 'Allow')).toHaveLength(4);
    expect(network.filter(({ Effect }) => Effect === 'Deny')).toHaveLength(4);
  });

  it('security groups that are there already take the place of it', () => {
    const { ofType } = bridgeWith((stack) => ({
      vpc: new Vpc(stack, 'Vpc', { maxAzs: 2 }),
      securityGroups: [SecurityGroup.fromSecurityGroupId(stack, 'Theirs', 'sg-1234')],
    }));

    expect(ofType('AWS::EC2::SecurityGroup')).toEqual([]);
    expect(ofType('AWS::Lambda::Function')[0]?.Properties.VpcConfig.SecurityGroupIds).toEqual(['sg-1234']);
  });
});

it('reserved concurrency bounds each function, and what fan-out asks the queue for', () => {
  const { ofType } = bridgeWith(() => ({
    maxRequestsPerSecond: 500,
    reservedConcurrency: { drain: 2, fanOut: 5, connect: 1 },
  }));

  const reserved = ofType('AWS::Lambda::Function').flatMap(
    ({ Properties }) => Properties.ReservedConcurrentExecutions ?? [],
  );
  expect(reserved.sort()).toEqual([1, 2, 5]);
  expect(ofType('AWS::Lambda::EventSourceMapping')[0]?.Properties.ScalingConfig.MaximumConcurrency).toBe(5);
});

it('retention of logs and what becomes of all are as asked for', () => {
  const { ofType } = bridgeWith(() => ({
    logRetention: RetentionDays.ONE_YEAR,
    logRemovalPolicy: RemovalPolicy.RETAIN,
    removalPolicy: RemovalPolicy.DESTROY,
  }));

  for (const { Properties, DeletionPolicy } of ofType('AWS::Logs::LogGroup')) {
    expect([Properties.RetentionInDays, DeletionPolicy]).toEqual([365, 'Retain']);
  }
  for (const type of ['AWS::DynamoDB::Table', 'AWS::SQS::Queue', 'AWS::SecretsManager::Secret']) {
    for (const { DeletionPolicy } of ofType(type)) expect(DeletionPolicy).toBe('Delete');
  }
  expect(ofType('AWS::DynamoDB::Table')[0]?.Properties.DeletionProtectionEnabled).toBe(false);
});

describe('faults of the properties', () => {
  it('are told all at once, each with what it should be', () => {
    const wrong = { partnerBaseUrl: 'http://partner.example', pollSeconds: 0, name: 'a b', logRetention: 2 };

    expect(faultsOf(wrong as never)).toEqual([
      expect.stringMatching(/^partnerBaseUrl: expected an https URL/),
      'pollSeconds: expected whole seconds from 1 to 60',
      expect.stringMatching(/^name: expected 1 to 64 letters/),
      'logRetention: expected a value of RetentionDays',
    ]);
  });

  it.each<[string, Partial<AdvertBridgeProps>, string]>([
    ['the name of the bridges that had none', { name: 'advert-bridge' }, 'name: expected another name'],
    [
      'what is only for a bus of its own',
      { bus: { eventBusArn: 'x', eventBusName: 'y' } as never, busName: 'b' },
      'busName: expected no bus with it',
    ],
    [
      'a default bus',
      { bus: { eventBusArn: 'x', eventBusName: 'default' } as never },
      'bus: expected another one',
    ],
    ['subnets without a VPC', { vpcSubnets: {} }, 'vpcSubnets: expected a vpc with it'],
    [
      'too little for a queue',
      { reservedConcurrency: { fanOut: 1 } },
      'reservedConcurrency.fanOut: expected a whole number from 2',
    ],
    ['no key', { encryptionKey: 'alias/x' as never }, 'encryptionKey: expected a KMS key'],
    [
      'a misspelling',
      { polSeconds: 5 } as never,
      'polSeconds: there is no such property: did you mean pollS',
    ],
    [
      'the setting of a stack',
      { alarmTopicArn: 'x' } as never,
      'alarmTopicArn: there is no such property: did you mean alarmTopic?',
    ],
    [
      'a number as text',
      { pollSeconds: '5' as never },
      'pollSeconds: expected whole seconds from 1 to 60, as a number, not text',
    ],
    [
      'text for a list',
      { publishStatuses: 'sold' as never },
      "publishStatuses: expected a list such as ['active', 'sold']",
    ],
    [
      'a comma in an entry',
      { publishStatuses: ['active,sold'] },
      'publishStatuses.0: expected statuses, without a comma in one',
    ],
    [
      'a bus of another region',
      { bus: { eventBusArn: 'x', eventBusName: 'y', env: { region: 'eu-west-1' } } as never },
      'bus: expected a bus in eu-central-1, the region of the stack',
    ],
    [
      'a VPC without a way out',
      { vpc: { vpcId: 'x', privateSubnets: [] } as never },
      'vpc: expected one with a private subnet with egress',
    ],
  ])('%s', (_what, props, fault) => {
    expect(faultsOf(props)).toEqual([expect.stringContaining(fault)]);
  });

  it.each([
    ['no properties', undefined],
    ['a URL instead of properties', partnerBaseUrl],
  ])('%s', (_what, props) => {
    expect(() => new AdvertBridge(new Stack(bareApp(), 'Shop'), 'Bridge', props as never)).toThrow(
      /Shop\/Bridge have faults\.\n {2}partnerBaseUrl: expected the https URL of the partner service/,
    );
  });

  it('a name that is known only when deployed', () => {
    const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
    const stack = new Stack(app, 'Shop');
    expect(() => new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, name: stack.stackId })).toThrow(
      /name: expected a name known at synth/,
    );
  });
});

it.each([
  ['whose account and region are known when it is deployed', undefined],
  ['whose account and region are known', env],
])('cdk-nag finds nothing in a stack %s', (_what, place) => {
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
    encryptionKey: Key.fromKeyArn(stack, 'Key', keyArn),
  });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  vi.stubEnv('JSII_DEPRECATED', 'quiet');

  expect(app.synth().stacks).toHaveLength(1);
});
