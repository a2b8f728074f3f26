// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation.
import { App, Duration, type Environment, Fn, Stack, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AttributeType, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Code, type FunctionProps, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { DefinitionBody, Pass, StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it, vi } from 'vitest';
import { AdvertSubscription, type AdvertSubscriptionProps, SubscriptionError } from '../../infra/cdk.ts';
import { inShort, type Resource } from '../helpers/synthesized.ts';

const ours = { account: '222222222222', region: 'eu-central-1' };
const ourBus = 'arn:aws:events:eu-central-1:222222222222:event-bus/adverts';
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
const aStateMachine = (stack: Stack) =>
  new StateMachine(stack, 'Machine', {
    definitionBody: DefinitionBody.fromChainable(new Pass(stack, 'Pass')),
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

  it.each([
    ['state machine', aStateMachine, 'states:StartExecution', '${Machine}'],
    [
      'bus of another AWS account',
      (stack: Stack) => EventBus.fromEventBusArn(stack, 'Theirs', theirBus.replace('adverts', 'orders')),
      'events:PutEvents',
      theirBus.replace('adverts', 'orders'),
    ],
  ])('sends to a %s as a role that can do that alone', (_what, target, action, arn) => {
    const { all } = subscribed((stack) => ({ bus: bus(stack), target: target(stack) }));
    expect(all('AWS::Events::Rule')).toMatchObject([
      { Targets: [{ Arn: arn, RoleArn: '${Adverts2Sender.Arn}', ...retryPolicy, ...undelivered }] },
    ]);
    expect(all('AWS::IAM::Role', 'Adverts2Sender')).toMatchObject([
      {
        AssumeRolePolicyDocument: {
          Statement: [
            {
              Principal: { Service: 'events.amazonaws.com' },
              Condition: {
                StringEquals: { 'aws:SourceAccount': '${AWS::AccountId}' },
                ArnLike: {
                  'aws:SourceArn': [
                    'arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:rule/adverts/*',
                  ],
                },
              },
            },
          ],
        },
      },
    ]);
    const statements = all('AWS::IAM::Policy', 'Adverts2Sender').map(({ PolicyDocument }) => PolicyDocument);
    expect(statements).toMatchObject([
      { Statement: [{ Sid: 'Send', Effect: 'Allow', Action: action, Resource: arn }] },
    ]);
  });
});

describe('a subscription to a bus of another AWS account', () => {
  const { all } = subscribed(() => ({ busArn: theirBus, statuses: ['sold'] }), ours);
  const pattern = {
    source: ['advert-bridge'],
    'detail-type': ['AdvertStatusChanged'],
    detail: { data: { status: ['sold'] } },
  };

  it('forwards to a relay bus, the only target that EventBridge lets another account set', () => {
    expect(all('AWS::Events::Rule', 'Adverts2Forward')).toEqual([
      {
        Name: expect.stringMatching(/^.{1,51}-222222222222$/),
        Description: expect.any(String),
        EventBusName: theirBus,
        EventPattern: pattern,
        Targets: [
          {
            Id: 'Target',
            Arn: '${Adverts2Relay.Arn}',
            RoleArn: '${Adverts2Forwarder.Arn}',
            ...retryPolicy,
            ...undelivered,
          },
        ],
      },
    ]);
    expect(all('AWS::IAM::Policy', 'Adverts2Forwarder')).toMatchObject([
      {
        PolicyDocument: {
          Statement: [{ Effect: 'Allow', Action: 'events:PutEvents', Resource: '${Adverts2Relay.Arn}' }],
        },
      },
    ]);
    expect(all('AWS::Events::EventBusPolicy')).toEqual([]);
  });

  it('forwards as a role that only its own rules may use', () => {
    const names = all('AWS::Events::Rule', 'Adverts2Forward').map(({ Name }) => Name);
    expect(all('AWS::IAM::Role', 'Adverts2Forwarder')).toMatchObject([
      {
        AssumeRolePolicyDocument: {
          Statement: [
            {
              Condition: {
                StringEquals: { 'aws:SourceAccount': '111111111111' },
                ArnLike: {
                  'aws:SourceArn': names.map(
                    (name) => `arn:aws:events:eu-central-1:111111111111:rule/adverts/${name}`,
                  ),
                },
              },
            },
          ],
        },
      },
    ]);
  });

  it('has the rule for its queue on the relay bus', () => {
    expect(all('AWS::Events::Rule', 'Adverts2Rule')).toMatchObject([
      { EventBusName: '${Adverts2Relay}', EventPattern: pattern, Targets: [{ Arn: '${Adverts2Queue.Arn}' }] },
    ]);
  });

  it('takes what could not be forwarded as dead letters, from the rule in the other account', () => {
    const [rule] = all('AWS::Events::Rule', 'Adverts2Forward');
    expect(JSON.stringify(all('AWS::SQS::QueuePolicy', 'Adverts2DeadLetters'))).toContain(
      `"aws:SourceArn":["arn:aws:events:eu-central-1:111111111111:rule/adverts/${rule?.Name}"]`,
    );
  });

  it('names its rules so that those of another account with the same stack are others', () => {
    const other = subscribed(() => ({ busArn: theirBus }), { ...ours, account: '333333333333' });
    const nameOf = ([rule]: Record<string, unknown>[]) => rule?.Name;
    expect(nameOf(other.all('AWS::Events::Rule', 'Adverts2Forward'))).not.toBe(
      nameOf(all('AWS::Events::Rule', 'Adverts2Forward')),
    );
  });

  it('asks only for what the bridge’s policy allows', () => {
    const [{ EventPattern } = {}] = all('AWS::Events::Rule', 'Adverts2Forward');
    expect(EventPattern).toMatchObject({ source: ['advert-bridge'], 'detail-type': expect.any(Array) });
  });

  it('needs no relay where the target is a bus', () => {
    const direct = subscribed((stack) => ({ busArn: theirBus, target: new EventBus(stack, 'Mine') }), ours);
    expect(direct.all('AWS::Events::Rule')).toMatchObject([
      { EventBusName: theirBus, Targets: [{ Arn: '${Mine.Arn}', RoleArn: '${Adverts2Forwarder.Arn}' }] },
    ]);
    expect(direct.all('AWS::Events::EventBus')).toHaveLength(1);
  });

  it('is told from one of the same account, by ARN or as a construct', () => {
    const same = subscribed((stack) => ({ bus: EventBus.fromEventBusArn(stack, 'Bus', ourBus) }), ours);
    expect(same.all('AWS::Events::Rule')).toMatchObject([{ EventBusName: 'adverts' }]);
    const other = subscribed((stack) => ({ bus: EventBus.fromEventBusArn(stack, 'Bus', theirBus) }), ours);
    expect(other.all('AWS::Events::EventBus')).toHaveLength(1);
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
        busArn: 'adverts',
        target: 'queue',
      }),
    ).toEqual([
      'partnerAccounts: expected at least one; omit the property for all partner accounts, because an empty list matches nothing',
      'statuses.0: expected 1 to 256 characters',
      'advertIds.1: expected 1 to 20 digits',
      'advertIds.2: expected 1 to 20 digits, as text',
      'detailTypes.0: expected one of AdvertStatusChanged, AdvertUnavailable, PartnerAuthorizationRequired, PartnerAuthorizationRestored',
      'target: expected a queue, function, state machine or event bus',
      'visibilityTimeout: expected a Duration from 1 second to 12 hours',
      'maxReceiveCount: expected a whole number from 1 to 1000',
      'status: expected no such field',
      'bus: expected either bus or busArn',
    ]);
  });

  it('tells of the bus', () => {
    const example = 'arn:aws:events:eu-central-1:111122223333:event-bus/adverts';
    const withArn = (busArn: string, env?: Environment) => faultsOf(() => ({ busArn }), env);
    expect(faultsOf(() => ({}) as AdvertSubscriptionProps)).toEqual(['bus: expected either bus or busArn']);
    expect(withArn('adverts')).toEqual([`busArn: expected the ARN of an event bus, such as ${example}`]);
    expect(withArn(Fn.importValue('EventBusArn'))).toEqual([
      `busArn: expected an ARN known at synth, such as ${example}`,
    ]);
    expect(withArn(theirBus)).toEqual([
      expect.stringMatching(/^busArn: expected a stack with env: \{ account, region \}/),
    ]);
    expect(withArn(theirBus, { ...ours, region: 'eu-west-1' })).toEqual([
      expect.stringMatching(/^busArn: expected a stack in eu-central-1/),
    ]);
    expect(withArn(ourBus.replace('adverts', 'default'), ours)).toEqual([
      expect.stringMatching(/default bus$/),
    ]);
    expect(faultsOf((stack) => ({ bus: EventBus.fromEventBusName(stack, 'Default', 'default') }))).toEqual([
      expect.stringMatching(/default bus$/),
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
      faultsOf((stack) => {
        const same = bus(stack);
        return { bus: same, target: same };
      }),
    ).toEqual([expect.stringMatching(/^target: expected another bus/)]);
    expect(
      faultsOf(
        (stack) => ({
          bus: bus(stack),
          target: Queue.fromQueueArn(stack, 'Far', 'arn:aws:sqs:eu-central-1:333333333333:far'),
        }),
        ours,
      ),
    ).toEqual([expect.stringMatching(/^target: expected one in the AWS account of the stack, 222222222222/)]);
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
    ['a bus of another account', () => ({ busArn: theirBus }), ours],
    ['a bus', (stack) => ({ bus: bus(stack), target: EventBus.fromEventBusArn(stack, 'Theirs', theirBus) })],
    [
      'a state machine',
      (stack) => ({
        bus: bus(stack),
        target: StateMachine.fromStateMachineArn(
          stack,
          'M',
          'arn:aws:states:eu-central-1:222222222222:stateMachine:m',
        ),
      }),
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
