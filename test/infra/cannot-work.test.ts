/** What could not work in somebody's AWS account: synth refuses it with a sentence that names property and remedy. */
import { type App, Aspects, RemovalPolicies, Stack } from 'aws-cdk-lib';
import { AttributeType, Table, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { type IVpc, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { CfnRole, Role } from 'aws-cdk-lib/aws-iam';
import { Alias, Key } from 'aws-cdk-lib/aws-kms';
import {
  CfnFunction,
  Code,
  type FunctionProps,
  Function as LambdaFunction,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { CfnSecret } from 'aws-cdk-lib/aws-secretsmanager';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { CfnQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { IConstruct } from 'constructs';
import { expect, it } from 'vitest';
import {
  AdvertBridge,
  type AdvertBridgeProps,
  AdvertSubscription,
  type AdvertSubscriptionProps,
} from '../../infra/cdk.ts';
import { bareApp, env, faultsOf, partnerBaseUrl, templateOf } from '../helpers/synthesized.ts';

const elsewhere = { ...env, region: 'eu-west-1' };
const arn = (service: string, rest: string, region = 'eu-west-1', account = env.account) =>
  `arn:aws:${service}:${region}:${account}:${rest}`;
const isolated = (stack: Stack) =>
  new Vpc(stack, 'Vpc', {
    subnetConfiguration: [
      { name: 'in', subnetType: SubnetType.PRIVATE_ISOLATED },
      { name: 'out', subnetType: SubnetType.PUBLIC },
      { name: 'nat', subnetType: SubnetType.PRIVATE_WITH_EGRESS },
    ],
  });

type Bridges = (stack: Stack, app: App) => Partial<AdvertBridgeProps>;

it.each<[what: string, props: Bridges, fault: string]>([
  [
    'an alarm topic of another region',
    (stack) => ({ alarmTopic: Topic.fromTopicArn(stack, 'Far', arn('sns', 'pager')) }),
    'alarmTopic: expected a topic in eu-central-1, the region of the stack, not in eu-west-1',
  ],
  [
    'an alarm topic that a stack of another region makes',
    (_stack, app) => ({ alarmTopic: new Topic(new Stack(app, 'Far', { env: elsewhere }), 'Pager') }),
    'alarmTopic: expected a topic in eu-central-1',
  ],
  [
    'a key of another region',
    (stack) => ({ encryptionKey: Key.fromKeyArn(stack, 'Far', arn('kms', 'key/1')) }),
    'encryptionKey: expected a key in eu-central-1',
  ],
  [
    'a VPC of another region',
    (stack) => ({
      vpc: Vpc.fromVpcAttributes(stack, 'Far', {
        ...{ vpcId: 'vpc-1', availabilityZones: ['a'], region: 'eu-west-1' },
        ...{ privateSubnetIds: ['subnet-1'], privateSubnetRouteTableIds: ['rtb-1'] },
      }),
    }),
    'vpc: expected a VPC in eu-central-1',
  ],
  [
    'the name of an alias as its key',
    (stack) => ({ encryptionKey: Alias.fromAliasName(stack, 'Key', 'alias/team') }),
    'encryptionKey: expected the key itself, not an alias, for which grants do nothing: Key.fromLookup(',
  ],
  [
    'an alias of the app as its key',
    (stack) => ({ encryptionKey: new Key(stack, 'Key').addAlias('alias/team') }),
    'encryptionKey: expected the key itself, not an alias',
  ],
  [
    'the ARN of an alias as its key',
    (stack) => ({ encryptionKey: Key.fromKeyArn(stack, 'Key', arn('kms', 'alias/team', env.region)) }),
    'encryptionKey: expected the key itself, not an alias',
  ],
  [
    "a topic with AWS's own key",
    (stack) => ({
      alarmTopic: new Topic(stack, 'Pager', {
        masterKey: Alias.fromAliasName(stack, 'Key', 'alias/aws/sns'),
      }),
    }),
    'alarmTopic: expected a topic without encryption or with a key of your own: CloudWatch cannot publish',
  ],
  [
    'a FIFO topic',
    (stack) => ({ alarmTopic: new Topic(stack, 'Pager', { fifo: true }) }),
    'alarmTopic: expected a standard topic',
  ],
  [
    'isolated subnets',
    (stack) => ({ vpc: isolated(stack), vpcSubnets: { subnetType: SubnetType.PRIVATE_ISOLATED } }),
    'vpcSubnets: expected subnets with egress, not isolated ones: the partner service is on the internet. If they',
  ],
  [
    'a VPC with isolated subnets alone',
    () => ({ vpc: { vpcId: 'x', privateSubnets: [] as unknown } as IVpc }),
    'If they reach it in another way, such as a transit gateway: allowIsolatedSubnets: true',
  ],
  [
    'public subnets',
    (stack) => ({ vpc: isolated(stack), vpcSubnets: { subnetType: SubnetType.PUBLIC } }),
    'vpcSubnets: expected private subnets: in public ones, functions have no address for the internet',
  ],
  [
    'isolated subnets that are allowed, but no VPC',
    () => ({ allowIsolatedSubnets: true }),
    'allowIsolatedSubnets: expected a vpc with it',
  ],
])('a bridge is refused when it has %s', (_what, props, fault) => {
  const app = bareApp();
  const stack = new Stack(app, 'Shop', { env });

  const faults = faultsOf(() => new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, ...props(stack, app) }));

  expect(faults).toEqual([expect.stringContaining(fault)]);
});

it('a bridge may run in isolated subnets when they are allowed', () => {
  const stack = new Stack(bareApp(), 'Shop', { env });
  const vpcSubnets = { subnetType: SubnetType.PRIVATE_ISOLATED };
  const props = { partnerBaseUrl, vpc: isolated(stack), vpcSubnets, allowIsolatedSubnets: true };

  expect(faultsOf(() => new AdvertBridge(stack, 'Bridge', props))).toEqual([]);
});

const bus = (stack: Stack) => EventBus.fromEventBusName(stack, 'Adverts', 'adverts');
const aFunction = (stack: Stack, props: Partial<FunctionProps> = {}, id = 'Function') =>
  new LambdaFunction(stack, id, {
    ...props,
    ...{ runtime: Runtime.NODEJS_24_X, handler: 'index.handler' },
    code: Code.fromInline('exports.handler = () => {}'),
  });
const withPositions = (stack: Stack, positions: AdvertSubscriptionProps['positions']) => ({
  ...{ bus: bus(stack), consumer: aFunction(stack) },
  ...(positions && { positions }),
});
const key = (name: string, type = AttributeType.STRING) => ({ name, type });

type Subscriptions = (stack: Stack) => AdvertSubscriptionProps;

it.each<[what: string, props: Subscriptions, fault: string]>([
  [
    'a table of another region',
    (stack) => withPositions(stack, Table.fromTableArn(stack, 'Far', arn('dynamodb', 'table/mine'))),
    'positions: expected a table in the region and AWS account of the stack: this one is in eu-west-1 of account 111122223333',
  ],
  [
    'a table of another account',
    (stack) =>
      withPositions(
        stack,
        Table.fromTableArn(stack, 'Far', arn('dynamodb', 'table/mine', env.region, '444455556666')),
      ),
    'positions: expected a table in the region and AWS account of the stack: this one is in eu-central-1 of account 4444',
  ],
  [
    'a table with another key',
    (stack) => withPositions(stack, new Table(stack, 'Mine', { partitionKey: key('advert') })),
    'positions: expected a table with the partition key pk (S) and no sort key: this one has advert (S)',
  ],
  [
    'a table whose key is a number',
    (stack) =>
      withPositions(stack, new TableV2(stack, 'Mine', { partitionKey: key('pk', AttributeType.NUMBER) })),
    'positions: expected a table with the partition key pk (S) and no sort key: this one has pk (N)',
  ],
  [
    'a table with a sort key',
    (stack) =>
      withPositions(stack, new Table(stack, 'Mine', { partitionKey: key('pk'), sortKey: key('sk') })),
    'no sort key: this one has pk (S) and sk (S)',
  ],
  ...[0, 1].map((reservedConcurrentExecutions): [string, Subscriptions, string] => [
    `a consumer with a reserved concurrency of ${reservedConcurrentExecutions}`,
    (stack) => ({ bus: bus(stack), consumer: aFunction(stack, { reservedConcurrentExecutions }) }),
    `consumer: expected reservedConcurrentExecutions of at least 2, or none: with ${reservedConcurrentExecutions},`,
  ]),
  [
    'a function as target that may not run',
    (stack) => ({ bus: bus(stack), target: aFunction(stack, { reservedConcurrentExecutions: 0 }) }),
    'target: expected a function that may run: its reservedConcurrentExecutions are 0',
  ],
  [
    "a queue with AWS's own key",
    (stack) => ({
      bus: bus(stack),
      target: new Queue(stack, 'Mine', { encryption: QueueEncryption.KMS_MANAGED }),
    }),
    "target: expected a queue encrypted by SQS itself (QueueEncryption.SQS_MANAGED) or with a key of your own: AWS's cannot",
  ],
  [
    'a function whose failures go to another subscription',
    (stack) => {
      const both = { bus: bus(stack), target: aFunction(stack, { retryAttempts: 1 }) };
      new AdvertSubscription(stack, 'First', both);
      return both;
    },
    'target: expected a function of its own: what it fails to handle goes to the dead letters of Search/First. Create',
  ],
  [
    'a path that is none',
    () => ({ bridgeAccount: '444455556666', senderPath: 'org' }),
    'senderPath: expected the path of a role, such as /advert-bridge/',
  ],
])('a subscription is refused when it has %s', (_what, props, fault) => {
  const stack = new Stack(bareApp(), 'Search', { env });

  const faults = faultsOf(() => new AdvertSubscription(stack, 'Adverts2', props(stack)));

  expect(faults).toEqual([expect.stringContaining(fault)]);
});

const rewriting = (path: string) => ({
  visit: (node: IConstruct) => node instanceof CfnRole && node.addPropertyOverride('Path', path),
});
const reserving = (reserved: number) => ({
  visit: (node: IConstruct) => {
    if (node instanceof CfnFunction) node.reservedConcurrentExecutions = reserved;
  },
});
const encrypting = (key = 'alias/aws/sqs') => ({
  visit: (node: IConstruct) => {
    if (node instanceof CfnQueue) node.kmsMasterKeyId = key;
    if (node instanceof CfnSecret) node.kmsKeyId = key;
  },
});

/** What an organization's Aspects, or the app, change after the constructs were made. */
it.each<[what: string, make: (stack: Stack) => unknown, says: string]>([
  [
    'the deletion of tables that are protected',
    (stack) => {
      new AdvertBridge(stack, 'Bridge', { partnerBaseUrl });
      RemovalPolicies.of(stack).destroy();
    },
    'deletion protection forbids it. Give the bridge removalPolicy: RemovalPolicy.DESTROY',
  ],
  [
    "a topic's policy to one without CloudWatch",
    (stack) =>
      new AdvertBridge(stack, 'Bridge', {
        ...{ partnerBaseUrl, alarmTopic: new Topic(stack, 'Pager', { enforceSSL: true }) },
      }),
    "alarmTopic: the topic's policy does not let cloudwatch.amazonaws.com publish, so nobody would get the alarms. Allow",
  ],
  [
    'the concurrency of a consumer to 1',
    (stack) => {
      new AdvertSubscription(stack, 'Adverts2', { bus: bus(stack), consumer: aFunction(stack) });
      Aspects.of(stack).add(reserving(1));
    },
    'consumer: expected reservedConcurrentExecutions of at least 2, or none: with 1, Lambda throttles',
  ],
  ...['ChangedAdverts/Queue/Resource', 'RefreshToken/Application'].map(
    (path): [string, (stack: Stack) => unknown, string] => [
      `the key of ${path}`,
      (stack) => {
        new AdvertBridge(stack, 'Bridge', { partnerBaseUrl });
        Aspects.of(stack).add(encrypting(new Key(stack, 'Key').keyArn));
      },
      `that the roles of the bridge may not use. Give the bridge that key, or exempt Search/Bridge/${path}`,
    ],
  ),
  [
    'the concurrency of fan-out to 1',
    (stack) => {
      new AdvertBridge(stack, 'Bridge', { partnerBaseUrl });
      Aspects.of(stack).add(reserving(1));
    },
    'reservedConcurrency.fanOut: expected at least 2, which is the least of SQS: an Aspect reserves fewer. Exempt Search/',
  ],
  [
    'the path of a role that sends to another account',
    (stack) => {
      const target = Queue.fromQueueArn(stack, 'Theirs', arn('sqs', 'theirs', env.region, '444455556666'));
      new AdvertSubscription(stack, 'Adverts2', { bus: bus(stack), target });
      Aspects.of(stack).add(rewriting('/org/'));
    },
    "accepts only /advert-bridge/. Give both halves senderPath: '/org/', or exempt Search/Adverts2/Sender",
  ],
  [
    'a sender to a role without a path',
    (stack) => {
      Role.customizeRoles(stack, { usePrecreatedRoles: { 'Search/Adverts2/Sender': 'org-sender' } });
      const target = Queue.fromQueueArn(stack, 'Theirs', arn('sqs', 'theirs', env.region, '444455556666'));
      new AdvertSubscription(stack, 'Adverts2', { bus: bus(stack), target });
    },
    'the path /, and the queue of the other AWS account accepts only /advert-bridge/. Give it that path, or exempt Search/',
  ],
  [
    "the key of a subscription's queue to AWS's own",
    (stack) => {
      new AdvertSubscription(stack, 'Adverts2', { bus: bus(stack) });
      Aspects.of(stack).add(encrypting());
    },
    'an Aspect encrypts this queue with alias/aws/sqs, which EventBridge cannot use: every event would be lost. Exempt it',
  ],
])('synth fails when the app changes %s', (_what, make, says) => {
  const app = bareApp();
  const stack = new Stack(app, 'Search', { env });
  make(stack);

  expect(() => app.synth()).toThrow(says);
});

it('mappings hand over no more batches than an Aspect lets functions run', () => {
  const stack = new Stack(bareApp(), 'Search', { env });
  const bridge = new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, maxRequestsPerSecond: 100 });
  bridge.subscribe(stack, 'Adverts2', { consumer: aFunction(stack) });
  Aspects.of(stack).add(reserving(5));

  const mappings = templateOf(stack).ofType('AWS::Lambda::EventSourceMapping');

  expect(mappings.map(([, { Properties }]) => Properties.ScalingConfig.MaximumConcurrency)).toEqual([5, 5]);
});

it('a warning names what a key must allow when an Aspect encrypts a queue', () => {
  const app = bareApp();
  const stack = new Stack(app, 'Search', { env });
  new AdvertSubscription(stack, 'Adverts2', { bus: bus(stack) });
  Aspects.of(stack).add(encrypting(new Key(stack, 'Key').keyArn));

  const warnings = app.synth().stacks[0]?.messages.map(({ id, entry }) => `${id} ${entry.data}`);

  expect(warnings).toEqual(
    ['DeadLetters', 'Queue'].map((queue) =>
      expect.stringMatching(
        `/Search/Adverts2/${queue}/Resource An Aspect .+ allow events.amazonaws.com kms:`,
      ),
    ),
  );
});

it('a bridge may have the key that an Aspect sets when it was given that', () => {
  const app = bareApp();
  const stack = new Stack(app, 'Search', { env });
  const encryptionKey = new Key(stack, 'Key');
  new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, encryptionKey });
  Aspects.of(stack).add(encrypting(encryptionKey.keyArn));

  expect(app.synth().stacks).toHaveLength(1);
});

it('a subscription sends across accounts when both halves share a path', () => {
  const app = bareApp();
  const senderPath = '/org/';
  const stack = new Stack(app, 'Rule', { env });
  const target = Queue.fromQueueArn(stack, 'Theirs', arn('sqs', 'theirs', env.region, '444455556666'));
  new AdvertSubscription(stack, 'Adverts2', { bus: bus(stack), target, senderPath });
  Aspects.of(stack).add(rewriting(senderPath));
  const theirs = new Stack(app, 'Theirs', { env: { ...env, account: '444455556666' } });
  new AdvertSubscription(theirs, 'Adverts2', { bridgeAccount: env.account, senderPath });

  const [, half] = app.synth().stacks;

  expect(JSON.stringify(half?.template)).toContain(':iam::111122223333:role/org/*');
});

it('resources whose place is not known are accepted', () => {
  const stack = new Stack(bareApp(), 'Shop');
  const positions = Table.fromTableArn(stack, 'Mine', arn('dynamodb', 'table/mine'));
  const alarmTopic = Topic.fromTopicArn(stack, 'Pager', arn('sns', 'pager'));

  expect(faultsOf(() => new AdvertSubscription(stack, 'Adverts2', withPositions(stack, positions)))).toEqual(
    [],
  );
  expect(faultsOf(() => new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, alarmTopic }))).toEqual([]);
});
