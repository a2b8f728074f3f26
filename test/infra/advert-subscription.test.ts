// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation.
import { App, Duration, type Environment, Stack, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AttributeType, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Code, type FunctionProps, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it, vi } from 'vitest';
import { AdvertSubscription, type AdvertSubscriptionProps, SubscriptionError } from '../../infra/cdk.ts';
import { SearchStack } from '../docs/subscription.ts';
import '../docs/subscription-elsewhere.ts';
import { inShort, type Resource } from '../helpers/synthesized.ts';

const ours = { account: '222222222222', region: 'eu-central-1' };
const theirBus = 'arn:aws:events:eu-central-1:111111111111:event-bus/adverts';

type Props = (stack: Stack) => AdvertSubscriptionProps;
const bus = (stack: Stack) => EventBus.fromEventBusName(stack, 'Adverts', 'adverts');

/** Another team's app with one subscription. */
function subscribed(props: Props, env: Environment = {}) {
  const app = new App({ analyticsReporting: false });
  const stack = new Stack(app, 'Search', { env });
  const subscription = new AdvertSubscription(stack, 'Adverts2', props(stack));
  const template = Template.fromStack(stack);
  const resources = template.toJSON().Resources as Readonly<Record<string, Resource>>;
  const all = (type: string, prefix = '') =>
    Object.entries(resources)
      .filter(([id, { Type }]) => Type === type && id.startsWith(prefix))
      .map(([, { Properties }]) => inShort(Properties) as Record<string, unknown>);
  return { app, stack, subscription, template, all };
}

function faultsOf(props: Props, env: Environment = {}): readonly string[] {
  try {
    subscribed(props, env);
  } catch (error) {
    if (error instanceof SubscriptionError) return error.faults;
    throw error;
  }
  return [];
}

const aFunction = (stack: Stack, more: Partial<FunctionProps> = {}) =>
  new LambdaFunction(stack, 'Function', {
    ...more,
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = () => {}'),
  });
const retryPolicy = { RetryPolicy: { MaximumEventAgeInSeconds: 86_400, MaximumRetryAttempts: 185 } };
const undelivered = { DeadLetterConfig: { Arn: '${Adverts2DeadLetters.Arn}' } };

describe('a subscription', () => {
  const { all, subscription } = subscribed((stack) => ({ bus: bus(stack), statuses: ['sold'] }));

  it('has a rule on the bus with its pattern, its queue, retries and dead letters', () => {
    expect(all('AWS::Events::Rule')).toEqual([
      {
        Description: expect.any(String),
        EventBusName: 'adverts',
        EventPattern: {
          source: ['advert-bridge'],
          'detail-type': ['AdvertStatusChanged'],
          detail: { data: { status: ['sold'] } },
        },
        State: undefined,
        Targets: [{ Id: 'Target', Arn: '${Adverts2Queue.Arn}', ...retryPolicy, ...undelivered }],
      },
    ]);
  });

  it('has encrypted queues to which only its rule may send, over TLS', () => {
    expect(all('AWS::SQS::Queue', 'Adverts2Queue')).toEqual([
      {
        SqsManagedSseEnabled: true,
        MessageRetentionPeriod: 604_800,
        VisibilityTimeout: 180,
        RedrivePolicy: { deadLetterTargetArn: '${Adverts2DeadLetters.Arn}', maxReceiveCount: 10 },
      },
    ]);
    expect(all('AWS::SQS::Queue', 'Adverts2DeadLetters')).toEqual([
      { SqsManagedSseEnabled: true, MessageRetentionPeriod: 1_209_600 },
    ]);
    const policies = all('AWS::SQS::QueuePolicy') as unknown as {
      PolicyDocument: { Statement: Record<string, unknown>[] };
    }[];
    expect(policies).toHaveLength(2);
    for (const { PolicyDocument } of policies) {
      const [deny, ...allowed] = PolicyDocument.Statement;
      expect(deny).toMatchObject({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } });
      expect(allowed).toEqual([
        {
          Effect: 'Allow',
          Principal: { Service: 'events.amazonaws.com' },
          Action: 'sqs:SendMessage',
          Resource: expect.stringMatching(/^\$\{Adverts2(Queue|DeadLetters)\.Arn\}$/),
          Condition: { ArnEquals: { 'aws:SourceArn': ['${Adverts2Rule.Arn}'] } },
        },
      ]);
    }
  });

  it('has an alarm that the first dead letter raises', () => {
    expect(all('AWS::CloudWatch::Alarm')).toEqual([
      expect.objectContaining({
        MetricName: 'ApproximateNumberOfMessagesVisible',
        Dimensions: [{ Name: 'QueueName', Value: '${Adverts2DeadLetters.QueueName}' }],
        Threshold: 0,
        ComparisonOperator: 'GreaterThanThreshold',
      }),
    ]);
  });

  it('has a queue with the given visibility timeout and receive count', () => {
    const tuned = subscribed((stack) => ({
      bus: bus(stack),
      visibilityTimeout: Duration.minutes(30),
      maxReceiveCount: 3,
    }));
    expect(tuned.all('AWS::SQS::Queue', 'Adverts2Queue')).toMatchObject([
      { VisibilityTimeout: 1800, RedrivePolicy: { maxReceiveCount: 3 } },
    ]);
    expect(subscription.queue.queueArn).toBeTypeOf('string');
    expect(
      () => subscribed((stack) => ({ bus: bus(stack), target: new Queue(stack, 'Q') })).subscription.queue,
    ).toThrow('was given a target');
  });

  it('has a rule for each set of fields that its detail types have', () => {
    const { all: allOf } = subscribed((stack) => ({
      bus: bus(stack),
      statuses: ['sold'],
      detailTypes: ['AdvertStatusChanged', 'AdvertUnavailable'],
    }));
    const rules = allOf('AWS::Events::Rule');
    expect(rules.map(({ EventPattern }) => (EventPattern as Record<string, unknown>)['detail-type'])).toEqual(
      [['AdvertStatusChanged'], ['AdvertUnavailable']],
    );
    expect(JSON.stringify(allOf('AWS::SQS::QueuePolicy'))).toContain(
      '["${Adverts2Rule.Arn}","${Adverts2Rule2.Arn}"]',
    );
  });
});

describe('a subscription with a target of its own', () => {
  it('allows only its rule to send to the queue', () => {
    const { all } = subscribed((stack) => ({ bus: bus(stack), target: new Queue(stack, 'Mine') }));
    expect(all('AWS::Events::Rule')).toMatchObject([{ Targets: [{ Arn: '${Mine.Arn}', ...undelivered }] }]);
    expect(JSON.stringify(all('AWS::SQS::QueuePolicy', 'Mine'))).toContain(
      '"aws:SourceArn":["${Adverts2Rule.Arn}"]',
    );
    expect(all('AWS::SQS::Queue', 'Adverts2Queue')).toEqual([]);
  });

  it('warns when it cannot change the policy of the queue', () => {
    const { app } = subscribed((stack) => ({
      bus: bus(stack),
      target: Queue.fromQueueArn(stack, 'Mine', 'arn:aws:sqs:eu-central-1:222222222222:mine'),
    }));
    const messages = app.synth().stacks[0]?.messages ?? [];
    expect(messages.map(({ entry }) => String(entry.data))).toEqual([
      expect.stringContaining('every event becomes a dead letter'),
    ]);
  });

  it('allows only its rule to invoke the function, whose failures become dead letters', () => {
    const { all } = subscribed((stack) => ({ bus: bus(stack), target: aFunction(stack) }));
    expect(all('AWS::Lambda::Permission')).toEqual([
      {
        Action: 'lambda:InvokeFunction',
        FunctionName: '${Function.Arn}',
        Principal: 'events.amazonaws.com',
        SourceArn: '${Adverts2Rule.Arn}',
      },
    ]);
    expect(all('AWS::Lambda::EventInvokeConfig')).toMatchObject([
      { DestinationConfig: { OnFailure: { Destination: '${Adverts2DeadLetters.Arn}' } } },
    ]);
    expect(all('AWS::Events::Rule')).toMatchObject([
      { Targets: [{ Arn: '${Function.Arn}', ...retryPolicy }] },
    ]);
  });

  it('warns when it cannot receive the failures of the function', () => {
    const { app } = subscribed((stack) => ({
      bus: bus(stack),
      target: LambdaFunction.fromFunctionAttributes(stack, 'Theirs', {
        functionArn: 'arn:aws:lambda:eu-central-1:222222222222:function:theirs',
        sameEnvironment: true,
      }),
    }));
    const messages = app.synth().stacks[0]?.messages ?? [];
    expect(messages.map(({ entry }) => String(entry.data))).toEqual([
      expect.stringContaining('add a destination for failures to the function yourself'),
    ]);
  });

  it('shares it with another subscription', () => {
    const { all } = subscribed((stack) => {
      const both = { bus: bus(stack), target: new Queue(stack, 'Mine') };
      new AdvertSubscription(stack, 'More', { ...both, advertIds: ['2'] });
      return { ...both, advertIds: ['1'] };
    });
    const [policy, ...others] = all('AWS::SQS::QueuePolicy', 'Mine');
    expect(others).toEqual([]);
    expect(JSON.stringify(policy)).toMatch(/MoreRule\.Arn.*Adverts2Rule\.Arn/);
  });

  it('keeps the destination that the function has for failures', () => {
    const { all } = subscribed((stack) => {
      const target = aFunction(stack);
      target.configureAsyncInvoke({ retryAttempts: 0 });
      return { bus: bus(stack), target };
    });
    expect(all('AWS::Lambda::EventInvokeConfig')).toMatchObject([{ MaximumRetryAttempts: 0 }]);
  });
});

describe('a subscription to a bridge of another AWS account', () => {
  const theirs = { account: '111111111111', region: 'eu-central-1' };
  const target = (stack: Stack) =>
    Queue.fromQueueArn(stack, 'Theirs', 'arn:aws:sqs:eu-central-1:222222222222:search-adverts');
  const bridgeSide = subscribed((stack) => ({ bus: bus(stack), target: target(stack) }), theirs);
  const subscriberSide = subscribed(() => ({ bridgeAccount: '111111111111' }), ours);

  it('has a rule in the account of the bridge, which sends with a role', () => {
    expect(bridgeSide.all('AWS::Events::Rule')).toMatchObject([
      {
        EventBusName: 'adverts',
        Targets: [
          {
            Arn: 'arn:aws:sqs:eu-central-1:222222222222:search-adverts',
            RoleArn: '${Adverts2Sender.Arn}',
            ...retryPolicy,
            ...undelivered,
          },
        ],
      },
    ]);
    expect(bridgeSide.all('AWS::IAM::Policy', 'Adverts2Sender')).toMatchObject([
      {
        PolicyDocument: {
          Statement: [
            {
              Effect: 'Allow',
              Action: 'sqs:SendMessage',
              Resource: 'arn:aws:sqs:eu-central-1:222222222222:search-adverts',
            },
          ],
        },
      },
    ]);
    expect(bridgeSide.app.synth().stacks[0]?.messages).toEqual([]);
  });

  it('allows only rules on the bus to use the role', () => {
    const [role] = bridgeSide.all('AWS::IAM::Role', 'Adverts2Sender');
    expect(role).toMatchObject({
      Path: '/advert-bridge/',
      AssumeRolePolicyDocument: {
        Statement: [
          {
            Principal: { Service: 'events.amazonaws.com' },
            Condition: {
              StringEquals: { 'aws:SourceAccount': '111111111111' },
              ArnLike: {
                'aws:SourceArn': 'arn:${AWS::Partition}:events:eu-central-1:111111111111:rule/adverts/*',
              },
            },
          },
        ],
      },
    });
  });

  it('has no rule in the account of the subscriber, and a queue for such roles only', () => {
    expect(subscriberSide.all('AWS::Events::Rule')).toEqual([]);
    expect(subscriberSide.subscription.rules).toEqual([]);
    const [policy] = subscriberSide.all('AWS::SQS::QueuePolicy', 'Adverts2Queue') as unknown as {
      PolicyDocument: { Statement: object[] };
    }[];
    expect(policy?.PolicyDocument.Statement.slice(1)).toEqual([
      {
        Effect: 'Allow',
        Principal: { AWS: 'arn:${AWS::Partition}:iam::111111111111:root' },
        Action: 'sqs:SendMessage',
        Resource: '${Adverts2Queue.Arn}',
        Condition: {
          ArnLike: { 'aws:PrincipalArn': 'arn:${AWS::Partition}:iam::111111111111:role/advert-bridge/*' },
        },
      },
    ]);
  });
});

describe('a subscription with a consumer', () => {
  const consumed = (props: Partial<AdvertSubscriptionProps> = {}, timeout = Duration.seconds(20)) =>
    subscribed(
      (stack) =>
        ({ bus: bus(stack), consumer: aFunction(stack, { timeout }), ...props }) as AdvertSubscriptionProps,
    );
  const { all, subscription, app } = consumed();

  it('invokes the function with partial batch responses and enough time', () => {
    expect(all('AWS::Lambda::EventSourceMapping')).toEqual([
      {
        EventSourceArn: '${Adverts2Queue.Arn}',
        FunctionName: '${Function}',
        FunctionResponseTypes: ['ReportBatchItemFailures'],
      },
    ]);
    expect(all('AWS::SQS::Queue', 'Adverts2Queue')).toMatchObject([{ VisibilityTimeout: 120 }]);
  });

  it('has a table of positions, kept with the stack gone, that the function knows', () => {
    expect(all('AWS::DynamoDB::Table')).toEqual([
      {
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        BillingMode: 'PAY_PER_REQUEST',
      },
    ]);
    const [table] = Object.values(
      app.synth().stacks[0]?.template.Resources as Record<string, Resource>,
    ).filter(({ Type }) => Type === 'AWS::DynamoDB::Table');
    expect(table).toMatchObject({ DeletionPolicy: 'Retain' });
    expect(subscription.positions?.tableName).toBeTypeOf('string');
    expect(all('AWS::Lambda::Function')).toMatchObject([
      {
        Environment: {
          Variables: {
            POSITIONS_TABLE_NAME: '${Adverts2Positions}',
            DEAD_LETTER_QUEUE_URL: '${Adverts2DeadLetters}',
          },
        },
      },
    ]);
  });

  it('grants the function exactly what the kit needs', () => {
    const [policy] = all('AWS::IAM::Policy', 'FunctionServiceRole') as unknown as {
      PolicyDocument: { Statement: { Action: string | string[]; Resource: string }[] };
    }[];
    const byResource = Object.fromEntries(
      (policy?.PolicyDocument.Statement ?? []).map(({ Action, Resource }) => [
        Resource,
        [Action].flat().sort(),
      ]),
    );
    expect(byResource['${Adverts2Positions.Arn}']).toEqual(['dynamodb:UpdateItem']);
    expect(byResource['${Adverts2DeadLetters.Arn}']).toContain('sqs:SendMessage');
    expect(byResource['${Adverts2Queue.Arn}']).toContain('sqs:ReceiveMessage');
    expect(Object.keys(byResource)).toHaveLength(3);
  });

  it('uses a given table of positions, or none', () => {
    const mine = subscribed((stack) => ({
      bus: bus(stack),
      consumer: aFunction(stack),
      positions: Table.fromTableName(stack, 'Mine', 'mine'),
    }));
    expect(mine.all('AWS::DynamoDB::Table')).toEqual([]);
    expect(JSON.stringify(mine.all('AWS::Lambda::Function'))).toContain('"POSITIONS_TABLE_NAME":"mine"');
    expect(mine.all('AWS::SQS::Queue', 'Adverts2Queue')).toMatchObject([{ VisibilityTimeout: 180 }]);

    const own = consumed({ positions: 'own-write' });
    expect(own.all('AWS::DynamoDB::Table')).toEqual([]);
    expect(own.subscription.positions).toBeUndefined();
    expect(JSON.stringify(own.all('AWS::IAM::Policy'))).not.toContain('dynamodb');
  });

  it('may use the key of a given table', () => {
    const mine = subscribed((stack) => ({
      bus: bus(stack),
      consumer: aFunction(stack),
      positions: new Table(stack, 'Mine', {
        partitionKey: { name: 'pk', type: AttributeType.STRING },
        encryption: TableEncryption.CUSTOMER_MANAGED,
      }),
    }));
    expect(JSON.stringify(mine.all('AWS::IAM::Policy', 'FunctionServiceRole'))).toContain('kms:Decrypt');
  });
});

describe('faults of the properties', () => {
  const queueAt = (region: string) => (stack: Stack) =>
    Queue.fromQueueArn(stack, 'Far', `arn:aws:sqs:${region}:222222222222:far`);
  const busOfArn = (stack: Stack) => EventBus.fromEventBusArn(stack, 'Bus', theirBus);
  const noBus = "bus: expected the bridge's bus, EventBus.fromEventBusName(…), or bridgeAccount for a bridge";
  const there = { bridgeAccount: '111111111111', statuses: ['sold'], advertIds: ['1'] };

  it.each<[what: string, props: (stack: Stack) => unknown, faults: readonly string[], env?: Environment]>([
    ['no properties', () => undefined, [noBus]],
    ['no bus', () => ({}), [noBus]],
    ['a name as the bus', () => ({ bus: 'adverts' }), ['bus: expected an event bus: EventBus.from']],
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
    [
      'a filter for a bridge of another account',
      () => there,
      ['statuses: expected none with bridgeAccount', 'advertIds: expected none with bridgeAccount'],
      ours,
    ],
    [
      'a number as an account',
      () => ({ bridgeAccount: 111111111111 }),
      ['bridgeAccount: expected the ID of an AWS account, as text'],
    ],
    [
      'wrong lists and numbers',
      (stack) => ({
        ...{ bus: bus(stack), partnerAccounts: [], statuses: [''], advertIds: ['1001', '../2', 3] },
        ...{ detailTypes: ['AdvertStatusChange'], status: ['sold'], maxReceiveCount: 0 },
        ...{ visibilityTimeout: Duration.hours(13), target: 'queue' },
      }),
      [
        'partnerAccounts: expected at least one; omit the property for all partner accounts',
        'statuses.0: expected 1 to 256 characters',
        'advertIds.1: expected 1 to 20 digits',
        'advertIds.2: expected 1 to 20 digits, as text',
        'detailTypes.0: expected one of AdvertStatusChanged, AdvertUnavailable',
        'target: expected a queue or a function; for anything else, send to a queue',
        'visibilityTimeout: expected a Duration from 1 second to 12 hours',
        'maxReceiveCount: expected a whole number from 1 to 1000',
        'status: there is no such property: did you mean statuses?',
      ],
    ],
    [
      'text instead of lists and numbers',
      (stack) => ({ bus: bus(stack), statuses: 'active', partnerAccounts: ['a,b'], maxReceiveCount: '3' }),
      [
        'partnerAccounts.0: expected 1 to 64 letters',
        "statuses: expected a list of statuses, such as ['active']",
        'maxReceiveCount: expected a whole number from 1 to 1000',
      ],
    ],
    [
      'a comma in a list',
      (stack) => ({ bus: bus(stack), statuses: ['active,sold'] }),
      ["statuses.0: expected one value without a comma: a list is ['active', '…']"],
    ],
    [
      'a FIFO queue',
      (stack) => ({ bus: bus(stack), target: new Queue(stack, 'Fifo', { fifo: true }) }),
      ['target: expected a standard queue'],
    ],
    [
      'a target of another region',
      (stack) => ({ bus: bus(stack), target: queueAt('eu-west-1')(stack) }),
      ['target: expected one in eu-central-1, the region of the stack'],
      ours,
    ],
    [
      'properties of the own queue with a target',
      (stack) => ({
        ...{ bus: bus(stack), target: aFunction(stack), maxReceiveCount: 3 },
        visibilityTimeout: Duration.minutes(1),
      }),
      ['visibilityTimeout: expected no target with it', 'maxReceiveCount: expected no target with it'],
    ],
    [
      'a consumer with a target',
      (stack) => ({ bus: bus(stack), target: new Queue(stack, 'Mine'), consumer: aFunction(stack) }),
      ['consumer: expected no target with it'],
    ],
    [
      'positions without a consumer',
      (stack) => ({ bus: bus(stack), positions: 'own-write' }),
      ['positions: expected a consumer'],
    ],
    [
      'a visibility below the timeout of the consumer',
      (stack) => ({
        bus: bus(stack),
        consumer: aFunction(stack, { timeout: Duration.minutes(2) }),
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
    [
      'an ARN as a consumer and a name as positions',
      (stack) => ({ bus: bus(stack), consumer: { functionArn: 'arn' }, positions: 'positions' }),
      [
        'consumer: expected a Lambda function that is made in this app',
        "positions: expected a table, or 'own-write'",
      ],
    ],
  ])('are found in %s', (_what, props, faults, env) => {
    expect(faultsOf(props as Props, env)).toEqual(faults.map((fault) => expect.stringContaining(fault)));
  });

  it('are one message with the path of the subscription', () => {
    expect(() => subscribed((stack) => ({ bus: bus(stack), statuses: [], advertIds: ['x'] }))).toThrow(
      /^The subscription Search\/Adverts2 has faults\.\n {2}statuses: .+\n {2}advertIds\.0: expected 1 to 20 digits$/,
    );
  });
});

describe('the checks of cdk-nag', () => {
  it.each<[string, Props, Environment?]>([
    ['a queue of its own', (stack) => ({ bus: bus(stack) })],
    [
      'a consumer whose role is of its own team',
      (stack) => {
        const role = new Role(stack, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
        return { bus: bus(stack), consumer: aFunction(stack, { role }) };
      },
    ],
    ['a bridge of another account', () => ({ bridgeAccount: '111111111111' }), ours],
    [
      'a queue of another account',
      (stack) => ({
        bus: bus(stack),
        target: Queue.fromQueueArn(stack, 'Far', 'arn:aws:sqs:eu-central-1:333333333333:far'),
      }),
      ours,
    ],
    [
      'a function',
      (stack) => ({
        bus: bus(stack),
        target: LambdaFunction.fromFunctionAttributes(stack, 'F', {
          functionArn: 'arn:aws:lambda:eu-central-1:222222222222:function:f',
          sameEnvironment: true,
        }),
      }),
    ],
  ])('find nothing in a subscription with %s', (_what, props, env) => {
    const { app } = subscribed(props, env);
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    vi.stubEnv('JSII_DEPRECATED', 'quiet');

    // The template was made before the checks were added.
    expect(app.synth({ force: true }).stacks).toHaveLength(1);
  });

  it('are made: they find the managed policy of a function that CDK gave its role', () => {
    const { app } = subscribed((stack) => ({ bus: bus(stack), consumer: aFunction(stack) }));
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    vi.stubEnv('JSII_DEPRECATED', 'quiet');

    expect(() => app.synth({ force: true })).toThrow('AwsSolutions-IAM4');
  });
});

it('is used in docs/subscribe/cdk.md in a way that synthesizes', () => {
  Template.fromStack(new SearchStack(new App(), 'Search')).resourceCountIs('AWS::Events::Rule', 1);
});
