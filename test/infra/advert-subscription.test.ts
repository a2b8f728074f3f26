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

/** Faults in properties that only code without type checks could pass. */
const faultsOfAny = (props: object): readonly string[] =>
  faultsOf((stack) => ({ bus: bus(stack), ...props }) as unknown as AdvertSubscriptionProps);

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

  it('has queues that are encrypted, and that only its rule may send to, over TLS', () => {
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

  it('hands its queue to the function that reads it, with the visibility that the function needs', () => {
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
  it('lets its rule alone send to a queue', () => {
    const { all } = subscribed((stack) => ({ bus: bus(stack), target: new Queue(stack, 'Mine') }));
    expect(all('AWS::Events::Rule')).toMatchObject([{ Targets: [{ Arn: '${Mine.Arn}', ...undelivered }] }]);
    expect(JSON.stringify(all('AWS::SQS::QueuePolicy', 'Mine'))).toContain(
      '"aws:SourceArn":["${Adverts2Rule.Arn}"]',
    );
    expect(all('AWS::SQS::Queue', 'Adverts2Queue')).toEqual([]);
  });

  it('warns where it cannot change the policy of a queue', () => {
    const { app } = subscribed((stack) => ({
      bus: bus(stack),
      target: Queue.fromQueueArn(stack, 'Mine', 'arn:aws:sqs:eu-central-1:222222222222:mine'),
    }));
    const messages = app.synth().stacks[0]?.messages ?? [];
    expect(messages.map(({ entry }) => String(entry.data))).toEqual([
      expect.stringContaining('every event becomes a dead letter'),
    ]);
  });

  it('lets its rule alone call a function, whose own failures become dead letters too', () => {
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

  it('warns where it cannot take a function’s failures', () => {
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

  it('may share it with another: for more values than one pattern holds', () => {
    const { all } = subscribed((stack) => {
      const both = { bus: bus(stack), target: new Queue(stack, 'Mine') };
      new AdvertSubscription(stack, 'More', { ...both, advertIds: ['2'] });
      return { ...both, advertIds: ['1'] };
    });
    const [policy, ...others] = all('AWS::SQS::QueuePolicy', 'Mine');
    expect(others).toEqual([]);
    expect(JSON.stringify(policy)).toMatch(/MoreRule\.Arn.*Adverts2Rule\.Arn/);
  });

  it('leaves a function where its failures go already', () => {
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

  it('has a rule in the account of the bridge that sends to the queue with a role', () => {
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

  it('lets rules on the bus alone use the role', () => {
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

  it('has no rule in the account of the subscriber, and a queue that takes from such roles alone', () => {
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

  it('stops synth when only the other account can have what it asks for', () => {
    const there = { bridgeAccount: '111111111111', statuses: ['sold'], advertIds: ['1'] };
    expect(faultsOf(() => there, ours)).toEqual([
      expect.stringMatching(/^statuses: expected none with bridgeAccount/),
      expect.stringMatching(/^advertIds: expected none with bridgeAccount/),
    ]);
    expect(faultsOf((stack) => ({ bus: EventBus.fromEventBusArn(stack, 'Bus', theirBus) }), ours)).toEqual([
      expect.stringMatching(/^bus: expected a bus of .+ Use bridgeAccount: '111111111111'$/),
    ]);
    expect(faultsOfAny({ bus: undefined, bridgeAccount: 111111111111 })).toEqual([
      'bridgeAccount: expected the ID of an AWS account, as text',
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

  it('has the function read the queue, with partial failures and time enough', () => {
    expect(all('AWS::Lambda::EventSourceMapping')).toEqual([
      {
        EventSourceArn: '${Adverts2Queue.Arn}',
        FunctionName: '${Function}',
        FunctionResponseTypes: ['ReportBatchItemFailures'],
      },
    ]);
    expect(all('AWS::SQS::Queue', 'Adverts2Queue')).toMatchObject([{ VisibilityTimeout: 120 }]);
  });

  it('has a table of positions, which outlives the stack, and tells the function of it', () => {
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

  it('lets the function do what the kit needs, and no more', () => {
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

  it('takes a table of yours, or none', () => {
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

  it('may use the key of a table of yours', () => {
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

  it('stops synth where it could not work', () => {
    expect(
      faultsOf((stack) => ({
        bus: bus(stack),
        target: new Queue(stack, 'Mine'),
        consumer: aFunction(stack),
      })),
    ).toEqual([expect.stringMatching(/^consumer: expected no target with it/)]);
    expect(faultsOf((stack) => ({ bus: bus(stack), positions: 'own-write' }))).toEqual([
      expect.stringMatching(/^positions: expected a consumer/),
    ]);
    expect(
      faultsOf((stack) => ({
        bus: bus(stack),
        consumer: aFunction(stack, { timeout: Duration.minutes(2) }),
        visibilityTimeout: Duration.minutes(1),
      })),
    ).toEqual([expect.stringMatching(/^visibilityTimeout: expected at least 120 seconds/)]);
    expect(
      faultsOf((stack) => {
        const both = { bus: bus(stack), consumer: aFunction(stack) };
        new AdvertSubscription(stack, 'First', both);
        return both;
      }),
    ).toEqual([expect.stringMatching(/^consumer: expected a function of its own: Search\/First has set/)]);
    expect(faultsOfAny({ consumer: { functionArn: 'arn' }, positions: 'positions' })).toEqual([
      'consumer: expected a Lambda function that is made in this app',
      "positions: expected a table, or 'own-write'",
    ]);
  });
});

describe('a subscription that could never match or work', () => {
  it('stops synth with every fault, each with what it should be', () => {
    expect(
      faultsOfAny({
        partnerAccounts: [],
        statuses: [''],
        advertIds: ['1001', '../2', 3],
        detailTypes: ['AdvertStatusChange'],
        status: ['sold'],
        maxReceiveCount: 0,
        visibilityTimeout: Duration.hours(13),
        target: 'queue',
      }),
    ).toEqual([
      'partnerAccounts: expected at least one; omit the property for all partner accounts, because an empty list matches nothing',
      'statuses.0: expected 1 to 256 characters',
      'advertIds.1: expected 1 to 20 digits',
      'advertIds.2: expected 1 to 20 digits, as text',
      'detailTypes.0: expected one of AdvertStatusChanged, AdvertUnavailable, PartnerAuthorizationRequired, PartnerAuthorizationRestored: did you mean AdvertStatusChanged?',
      'target: expected a queue or a function; for anything else, send to a queue',
      'visibilityTimeout: expected a Duration from 1 second to 12 hours',
      'maxReceiveCount: expected a whole number from 1 to 1000',
      'status: there is no such property: did you mean statuses?',
    ]);
  });

  it('tells of the bus', () => {
    const none = "bus: expected the bridge's bus, EventBus.fromEventBusName(…), or bridgeAccount";
    expect(faultsOf(() => ({}) as AdvertSubscriptionProps)).toEqual([expect.stringContaining(none)]);
    expect(faultsOf(() => undefined as unknown as AdvertSubscriptionProps)).toEqual([
      expect.stringContaining(none),
    ]);
    expect(faultsOfAny({ bus: 'adverts' })).toEqual([
      'bus: expected an event bus: EventBus.fromEventBusName(…)',
    ]);
    expect(
      faultsOf((stack) => ({ bus: EventBus.fromEventBusArn(stack, 'Bus', theirBus) }), {
        ...ours,
        region: 'eu-west-1',
      }),
    ).toEqual([expect.stringMatching(/^bus: expected a stack in eu-central-1/)]);
    expect(faultsOf((stack) => ({ bus: EventBus.fromEventBusName(stack, 'Default', 'default') }))).toEqual([
      expect.stringMatching(/default bus$/),
    ]);
  });

  it('tells of lists and numbers that are written in another way', () => {
    expect(
      faultsOfAny({ statuses: 'active', partnerAccounts: ['main,second'], maxReceiveCount: '3' }),
    ).toEqual([
      'partnerAccounts.0: expected 1 to 64 letters, digits, ".", "_" or "-", beginning with a letter or digit',
      "statuses: expected a list of statuses, such as ['active']",
      'maxReceiveCount: expected a whole number from 1 to 1000',
    ]);
    expect(faultsOfAny({ statuses: ['active,sold'] })).toEqual([
      "statuses.0: expected one value without a comma: a list is ['active', '…']",
    ]);
  });

  it('tells of the target', () => {
    expect(
      faultsOf((stack) => ({ bus: bus(stack), target: new Queue(stack, 'Fifo', { fifo: true }) })),
    ).toEqual([expect.stringMatching(/^target: expected a standard queue/)]);
    expect(
      faultsOf((stack) => ({
        bus: bus(stack),
        target: aFunction(stack),
        maxReceiveCount: 3,
        visibilityTimeout: Duration.minutes(1),
      })),
    ).toEqual([
      expect.stringMatching(/^visibilityTimeout: expected no target with it/),
      expect.stringMatching(/^maxReceiveCount: expected no target with it/),
    ]);
    expect(
      faultsOf(
        (stack) => ({
          bus: bus(stack),
          target: Queue.fromQueueArn(stack, 'Far', 'arn:aws:sqs:eu-west-1:222222222222:far'),
        }),
        ours,
      ),
    ).toEqual(['target: expected one in eu-central-1, the region of the stack']);
  });

  it('says so in a message that a person can act on', () => {
    expect(() => subscribed((stack) => ({ bus: bus(stack), statuses: [], advertIds: ['x'] }))).toThrow(
      [
        'The subscription Search/Adverts2 has faults.',
        '  statuses: expected at least one; omit the property for all statuses, because an empty list matches nothing',
        '  advertIds.0: expected 1 to 20 digits',
      ].join('\n'),
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
