import { isDeepStrictEqual } from 'node:util';
import { App, Duration, type Environment, Stack, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AttributeType, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Code, type FunctionProps, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, it, vi } from 'vitest';
import { AdvertSubscription, type AdvertSubscriptionProps } from '../../infra/cdk.ts';
import { SearchStack } from '../docs/subscription.ts';
import '../docs/subscription-elsewhere.ts';
import { faultsOf, inShort } from '../helpers/synthesized.ts';

const ours = { account: '222222222222', region: 'eu-central-1' };
const theirBus = 'arn:aws:events:eu-central-1:111111111111:event-bus/adverts';

type Props = (stack: Stack) => AdvertSubscriptionProps;
const bus = (stack: Stack) => EventBus.fromEventBusName(stack, 'Adverts', 'adverts');

/** Another team's app with one subscription. */
function subscribed(props: Props, env: Environment = {}) {
  const app = new App({ analyticsReporting: false });
  const stack = new Stack(app, 'Search', { env });
  const subscription = new AdvertSubscription(stack, 'Adverts2', props(stack));
  const resources = Template.fromStack(stack).toJSON().Resources;
  return { app, subscription, resources };
}

const aFunction = (stack: Stack, more: Partial<FunctionProps> = {}) =>
  new LambdaFunction(stack, 'Function', {
    ...more,
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = () => {}'),
  });

/** A subscription in each shape: the snapshot is the assertion, so read its difference. */
const shapes: Readonly<Record<string, readonly [props: Props, env?: Environment, warning?: string]>> = {
  statuses: [(stack) => ({ bus: bus(stack), statuses: ['sold'] })],
  'a tuned queue': [
    (stack) => ({ bus: bus(stack), visibilityTimeout: Duration.minutes(30), maxReceiveCount: 3 }),
  ],
  'detail types with different fields': [
    (stack) => ({
      ...{ bus: bus(stack), statuses: ['sold'] },
      detailTypes: ['AdvertStatusChanged', 'AdvertUnavailable'],
    }),
  ],
  'two subscriptions to a given queue': [
    (stack) => {
      const both = { bus: bus(stack), target: new Queue(stack, 'Mine') };
      new AdvertSubscription(stack, 'More', { ...both, advertIds: ['2'] });
      return { ...both, advertIds: ['1'] };
    },
  ],
  'a queue whose policy is not ours': [
    (stack) => ({
      bus: bus(stack),
      target: Queue.fromQueueArn(stack, 'Mine', 'arn:aws:sqs:eu-central-1:222222222222:mine'),
    }),
    {},
    'every event becomes a dead letter',
  ],
  'a function': [(stack) => ({ bus: bus(stack), target: aFunction(stack) })],
  'a function whose failures are not ours': [
    (stack) => ({
      bus: bus(stack),
      target: LambdaFunction.fromFunctionAttributes(stack, 'Theirs', {
        functionArn: 'arn:aws:lambda:eu-central-1:222222222222:function:theirs',
        sameEnvironment: true,
      }),
    }),
    {},
    'add a destination for failures to the function yourself',
  ],
  'a function with a destination': [
    (stack) => {
      const failures = new SqsDestination(new Queue(stack, 'Failures'));
      return { bus: bus(stack), target: aFunction(stack, { retryAttempts: 0, onFailure: failures }) };
    },
  ],
  'a function with retries of its own': [
    (stack) => {
      const onSuccess = new SqsDestination(new Queue(stack, 'Successes'));
      return { bus: bus(stack), target: aFunction(stack, { retryAttempts: 0, onSuccess }) };
    },
  ],
  'a queue whose key is not ours': [
    (stack) => ({
      bus: bus(stack),
      target: new Queue(stack, 'Mine', {
        encryptionMasterKey: Key.fromKeyArn(stack, 'Key', 'arn:aws:kms:eu-central-1:222222222222:key/1'),
      }),
    }),
    {},
    'allow events.amazonaws.com kms:Decrypt and kms:GenerateDataKey* in it',
  ],
  'a queue whose key has an alias': [
    (stack) => ({
      bus: bus(stack),
      target: new Queue(stack, 'Mine', { encryptionMasterKey: new Key(stack, 'Key').addAlias('alias/team') }),
    }),
  ],
  "the bridge's side of another account": [
    (stack) => ({
      bus: bus(stack),
      target: Queue.fromQueueArn(stack, 'Theirs', 'arn:aws:sqs:eu-central-1:222222222222:search-adverts'),
    }),
    { ...ours, account: '111111111111' },
  ],
  "the subscriber's side of another account": [() => ({ bridgeAccount: '111111111111' }), ours],
  'a consumer': [
    (stack) => ({ bus: bus(stack), consumer: aFunction(stack, { timeout: Duration.seconds(20) }) }),
  ],
  'a consumer whose role is of its own team': [
    (stack) => {
      const role = new Role(stack, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
      return { bus: bus(stack), consumer: aFunction(stack, { role }) };
    },
  ],
  'a consumer with a reserved concurrency': [
    (stack) => ({ bus: bus(stack), consumer: aFunction(stack, { reservedConcurrentExecutions: 5 }) }),
  ],
  'a consumer with its own writes': [
    (stack) => ({ bus: bus(stack), consumer: aFunction(stack), positions: 'own-write' }),
  ],
  'a consumer with a given table': [
    (stack) => ({
      ...{ bus: bus(stack), consumer: aFunction(stack) },
      positions: new Table(stack, 'Mine', {
        partitionKey: { name: 'pk', type: AttributeType.STRING },
        encryption: TableEncryption.CUSTOMER_MANAGED,
      }),
    }),
  ],
};

const customBusArn = `arn:aws:events:eu-central-1:111111111111:event-busv2/adverts/${'a1b2c'.repeat(5)}`;
/** On the Custom Event Bus, which is of another AWS account. */
const customShapes: typeof shapes = {
  'the Custom Event Bus': [() => ({ customBusArn }), ours],
  'the Custom Event Bus, from a time, with a consumer': [
    (stack) => ({ customBusArn, from: '2026-11-20T12:00:00Z', consumer: aFunction(stack) }),
  ],
  'the Custom Event Bus, from the oldest, of different fields': [
    () => ({
      ...{ customBusArn, from: 'oldest', statuses: ['sold'] },
      detailTypes: ['AdvertStatusChanged', 'AdvertUnavailable'],
    }),
  ],
  'the Custom Event Bus, and a standard queue with a key': [
    (stack) => {
      const target = new Queue(stack, 'Mine', { encryptionMasterKey: new Key(stack, 'Key') });
      new AdvertSubscription(stack, 'More', { customBusArn, target, advertIds: ['2'] });
      return { customBusArn, target, advertIds: ['1'] };
    },
  ],
};

const inTemplate = (resources: object) => inShort(resources) as Record<string, unknown>;
const plain = inTemplate(subscribed((stack) => ({ bus: bus(stack) })).resources);

it('a plain subscription to a bus', async () => {
  await expect(`${JSON.stringify(plain, null, 1)}\n`).toMatchFileSnapshot('subscriptions/plain.txt');
});

/** What the template has otherwise than that of a plain subscription to a bus; null: it lacks the resource. */
function besidesPlain(resources: object) {
  const found = inTemplate(resources);
  const ids = [...new Set([...Object.keys(plain), ...Object.keys(found)])];
  const others = ids.filter((id) => !isDeepStrictEqual(found[id], plain[id]));
  return Object.fromEntries(others.map((id) => [id, found[id] ?? null]));
}

it.each(Object.entries({ ...shapes, ...customShapes }))(
  'a subscription with %s',
  async (name, [props, env, warning]) => {
    const { app, resources } = subscribed(props, env);

    await expect(`${JSON.stringify(besidesPlain(resources), null, 1)}\n`).toMatchFileSnapshot(
      `subscriptions/${name.replaceAll(/\W+/g, '-')}.txt`,
    );
    const warnings = (app.synth().stacks[0]?.messages ?? []).map(({ entry }) => String(entry.data));
    expect(warnings).toEqual(warning === undefined ? [] : [expect.stringContaining(warning)]);
  },
);

it('a subscription has queue, positions table and rules, or says why not', () => {
  const { subscription } = subscribed((stack) => ({ bus: bus(stack), consumer: aFunction(stack) }));
  expect(subscription.queue.queueArn).toBeTypeOf('string');
  expect(subscription.positions?.tableName).toBeTypeOf('string');
  expect(subscription.rules).toHaveLength(1);
  const target = (stack: Stack) => ({ bus: bus(stack), target: new Queue(stack, 'Q') });
  expect(() => subscribed(target).subscription.queue).toThrow('was given a target');
});

const queueAt = (region: string) => (stack: Stack) =>
  Queue.fromQueueArn(stack, 'Far', `arn:aws:sqs:${region}:222222222222:far`);
const busOfArn = (stack: Stack) => EventBus.fromEventBusArn(stack, 'Bus', theirBus);
const noBus =
  "bus: expected the bridge's bus, EventBus.fromEventBusName(…), a customBusArn, or bridgeAccount";
const there = { bridgeAccount: '111111111111', statuses: ['sold'], advertIds: ['1'] };

it.each<[what: string, props: (stack: Stack) => unknown, faults: readonly string[], env?: Environment]>([
  ['no properties', () => undefined, [noBus]],
  [
    'a bus of another region',
    (stack) => ({ bus: busOfArn(stack) }),
    ['bus: expected a stack in eu-central-1'],
    { ...ours, region: 'eu-west-1' },
  ],
  [
    'a bus of another account',
    (stack) => ({ bus: busOfArn(stack) }),
    ['bus: expected a bus of AWS account 222222222222'],
    ours,
  ],
  [
    'a default bus',
    (stack) => ({ bus: EventBus.fromEventBusName(stack, 'Default', 'default') }),
    ["bus: expected the bridge's bus: it never publishes on a default bus"],
  ],
  ...(
    [
      [customBusArn, 'expected a classic bus: a Custom Event Bus is'],
      [theirBus.replace(':events:', ':sns:'), 'expected the ARN of an event bus: this one is of sns'],
      [theirBus.replace('aws', 'aws-cn'), 'expected a bus in the partition aws, not in aws-cn'],
    ] as const
  ).map(([arn, fault]): [string, (stack: Stack) => unknown, string[], Environment] => [
    `a classic bus ${arn}`,
    (stack) => ({ bus: EventBus.fromEventBusArn(stack, 'Bus', arn) }),
    [`bus: ${fault}`],
    ours,
  ]),
  [
    'a start on a classic bus',
    (stack) => ({ bus: bus(stack), from: 'oldest' }),
    ['from: expected a customBusArn'],
  ],
  [
    'two buses',
    (stack) => ({ bus: bus(stack), bridgeAccount: '111111111111', customBusArn, senderPath: '/a/' }),
    [
      'bus: expected no customBusArn with it',
      'bridgeAccount: expected no customBusArn with it',
      'senderPath: expected none with customBusArn',
    ],
  ],
  ...(
    [
      [theirBus, 'expected no classic bus, as this one is: give it as bus'],
      [customBusArn.slice(0, -26), 'expected the ID behind the name, too'],
      [customBusArn.slice(0, -1), 'expected the ID behind the name, too'],
      [customBusArn.replace(':events:', ':sqs:'), 'expected the ARN of a Custom Event Bus, as in the output'],
      ['adverts', 'expected the ARN of a Custom Event Bus, as in the output CustomEventBusArn'],
      [customBusArn.replace('central', 'west'), 'expected a stack in eu-west-1, the region of the bus'],
      [customBusArn.replace('aws', 'aws-cn'), 'expected a bus in the partition aws, not in aws-cn'],
    ] as const
  ).map(([arn, fault]): [string, () => unknown, string[], Environment] => [
    `a custom bus ${arn}`,
    () => ({ customBusArn: arn }),
    [`customBusArn: ${fault}`],
    ours,
  ]),
  ...['yesterday', '2026-11-20', '2126-11-20T12:00:00Z', ''].map(
    (from): [string, () => unknown, string[]] => [
      `a start ${from}`,
      () => ({ customBusArn, from }),
      ["from: expected 'now', 'oldest' or a past UTC time"],
    ],
  ),
  [
    'a function on the Custom Event Bus',
    (stack) => ({ customBusArn, target: aFunction(stack) }),
    ['target: expected a queue: this bus hands batches to functions'],
  ],
  [
    'a queue of another account on the Custom Event Bus',
    (stack) => ({ customBusArn, target: queueAt('eu-central-1')(stack) }),
    ['target: expected a queue of this AWS account'],
    { ...ours, account: '333333333333' },
  ],
  [
    'more adverts than a filter has room for',
    () => ({
      customBusArn,
      advertIds: Array.from({ length: 100 }, (_, index) => String(10 ** 15 + index)),
      detailTypes: ['AdvertStatusChanged', 'AdvertUnavailable'],
      statuses: Array.from({ length: 2 }, (_, index) => String(index).repeat(200)),
    }),
    ['advertIds: expected an event pattern of at most 4096 characters, this one has 4424'],
  ],
  [
    'a filter for a bridge of another account',
    () => there,
    ['statuses: expected none with bridgeAccount', 'advertIds: expected none with bridgeAccount'],
    ours,
  ],
  [
    'wrong values',
    () => ({
      ...{ bus: 'adverts', bridgeAccount: 111111111111, partnerAccounts: [], statuses: [''] },
      ...{ advertIds: ['1001', '../2', 3], detailTypes: ['AdvertStatusChange'], target: 'queue' },
      ...{ consumer: { functionArn: 'arn' }, positions: 'positions', maxReceiveCount: 0 },
      ...{ visibilityTimeout: Duration.hours(13), status: ['sold'] },
    }),
    [
      'bus: expected an event bus: EventBus.from',
      'bridgeAccount: expected the ID of an AWS account, as text',
      'partnerAccounts: expected at least one; omit the property for all partner accounts',
      'statuses.0: expected 1 to 256 characters',
      'advertIds.1: expected 1 to 20 digits',
      'advertIds.2: expected 1 to 20 digits, as text',
      'detailTypes.0: expected one of AdvertStatusChanged, AdvertUnavailable',
      'target: expected a queue or a function; for anything else, send to a queue',
      'consumer: expected a Lambda function that is made in this app',
      "positions: expected a table, or 'own-write'",
      'visibilityTimeout: expected a Duration from 1 second to 12 hours',
      'maxReceiveCount: expected a whole number from 1 to 1000',
      'status: there is no such property: did you mean statuses?',
    ],
  ],
  [
    'text instead of lists and numbers',
    (stack) => ({
      ...{ bus: bus(stack), partnerAccounts: 'main', statuses: ['active,sold'], maxReceiveCount: '3' },
    }),
    [
      "partnerAccounts: expected a list of partner accounts, such as ['main']",
      "statuses.0: expected one value without a comma: a list is ['active', '…']",
      'maxReceiveCount: expected a whole number from 1 to 1000',
    ],
  ],
  [
    'a target of another region',
    (stack) => ({ bus: bus(stack), target: queueAt('eu-west-1')(stack) }),
    ['target: expected one in eu-central-1, the region of the stack'],
    ours,
  ],
  [
    'a FIFO queue with properties of the own queue',
    (stack) => ({
      ...{ bus: bus(stack), target: new Queue(stack, 'Fifo', { fifo: true }), maxReceiveCount: 3 },
      ...{ consumer: aFunction(stack), visibilityTimeout: Duration.minutes(1) },
    }),
    [
      'consumer: expected no target with it',
      'visibilityTimeout: expected no target with it',
      'maxReceiveCount: expected no target with it',
      'target: expected a standard queue',
    ],
  ],
  [
    'positions without a consumer',
    (stack) => ({ bus: bus(stack), positions: 'own-write' }),
    ['positions: expected a consumer'],
  ],
  [
    'a visibility below the timeout of the consumer',
    (stack) => ({
      ...{ bus: bus(stack), consumer: aFunction(stack, { timeout: Duration.minutes(2) }) },
      visibilityTimeout: Duration.minutes(1),
    }),
    ['visibilityTimeout: expected at least 120 seconds'],
  ],
  [
    'a consumer of another subscription',
    (stack) => {
      const both = { bus: bus(stack), consumer: aFunction(stack) };
      new AdvertSubscription(stack, 'First', both);
      return both;
    },
    ['consumer: expected a function of its own: Search/First has set'],
  ],
])('a subscription is rejected when %s', (_what, props, faults, env) => {
  expect(faultsOf(() => subscribed(props as Props, env))).toEqual(
    faults.map((fault) => expect.stringContaining(fault)),
  );
});

it('faults of a subscription are one message with its path', () => {
  expect(() => subscribed((stack) => ({ bus: bus(stack), statuses: [], advertIds: ['x'] }))).toThrow(
    /^The subscription Search\/Adverts2 has faults\.\n {2}statuses: .+\n {2}advertIds\.0: expected 1 to 20 digits$/,
  );
});

const synth = ([props, env]: (typeof shapes)[string]) => {
  const { app } = subscribed(props, env);
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  vi.stubEnv('JSII_DEPRECATED', 'quiet');
  // The template was made before the checks were added.
  return app.synth({ force: true }).stacks;
};

it.each([
  'statuses',
  'a function whose failures are not ours',
  "the bridge's side of another account",
  "the subscriber's side of another account",
  'a consumer whose role is of its own team',
])('cdk-nag finds nothing in a subscription with %s', (name) => {
  expect(synth(shapes[name] as (typeof shapes)[string])).toHaveLength(1);
});

it('cdk-nag finds nothing in a subscription on the Custom Event Bus', () => {
  expect(synth(customShapes['the Custom Event Bus'] as (typeof shapes)[string])).toHaveLength(1);
});

it('cdk-nag finds the managed policy that CDK gave a role of a function', () => {
  expect(() => synth(shapes['a consumer'] as (typeof shapes)[string])).toThrow('AwsSolutions-IAM4');
});

it('the subscription of docs/subscribe/cdk.md synthesizes', () => {
  Template.fromStack(new SearchStack(new App(), 'Search')).resourceCountIs('AWS::Events::Rule', 1);
});
