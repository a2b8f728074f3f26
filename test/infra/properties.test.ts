// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation in short.
import { RemovalPolicy, type Stack } from 'aws-cdk-lib';
import { SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { ManagedPolicy, PermissionsBoundary } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { expect, it } from 'vitest';
import type { AdvertBridgeProps } from '../../infra/cdk.ts';
import { bridgeWith, inShort, partnerBaseUrl, type Resource } from '../helpers/synthesized.ts';

const pager = 'arn:aws:sns:eu-central-1:111122223333:pager';
const keyArn = 'arn:aws:kms:eu-central-1:111122223333:key/1234';
const theirBus = 'arn:aws:events:eu-central-1:444455556666:event-bus/all';
const mail = '${BridgeAlarmsMailTopic}';
const vpcOf = (stack: Stack) => new Vpc(stack, 'Vpc', { maxAzs: 2, natGateways: 1 });
const alarmTopic = (stack: Stack) => Topic.fromTopicArn(stack, 'Pager', pager);
const alarmEmail = 'team@example.com';
const address = { Protocol: 'email', Endpoint: alarmEmail, TopicArn: mail };

type Props = (stack: Stack) => Partial<AdvertBridgeProps>;
/** By `Type path`, without `AWS::` and `Properties`: the different values in all resources of the type. */
type Wanted = Readonly<Record<string, readonly unknown[]>>;

const table: readonly (readonly [what: string, props: Props, wanted: Wanted])[] = [
  [
    'nothing else',
    () => ({}),
    {
      ...{ 'SNS::Topic TopicName': [], 'KMS::Key KeyPolicy': [], 'CloudWatch::Dashboard DashboardName': [] },
      // Nobody may put rules on the bus, and others may not publish.
      'Events::EventBusPolicy StatementId': ['PublishOnlyByBridge'],
      'CloudWatch::Alarm AlarmActions': [undefined],
      'Lambda::Function Runtime': ['nodejs24.x'],
      'Lambda::Function Architectures': [['arm64']],
      'Lambda::Function LoggingConfig.LogFormat': ['JSON'],
      'Lambda::Function LoggingConfig.ApplicationLogLevel': ['INFO'],
      'Lambda::Function ReservedConcurrentExecutions': [undefined],
      // A trace costs five times what its event does (docs/decisions/0006-own-code.md).
      'Lambda::Function TracingConfig': [undefined],
      'Logs::LogGroup RetentionInDays': [30],
    },
  ],
  [
    'a name',
    () => ({ name: 'Partner-2', dashboard: true }),
    {
      'CloudWatch::Dashboard DashboardName': ['Partner-2'],
      'EventSchemas::Registry RegistryName': ['Partner-2'],
      'SecretsManager::Secret Name': ['Partner-2/application'],
    },
  ],
  [
    'a bus that exists',
    (stack) => ({ bus: EventBus.fromEventBusName(stack, 'Theirs', 'all') }),
    {
      ...{
        'Events::EventBus Name': [],
        'Events::Archive ArchiveName': [],
        'Events::EventBusPolicy Action': [],
      },
    },
  ],
  [
    'a bus of another AWS account',
    (stack) => ({ bus: EventBus.fromEventBusArn(stack, 'Theirs', theirBus) }),
    { 'Lambda::Function Environment.Variables.EVENT_BUS_NAME': [undefined, theirBus] },
  ],
  [
    'a key',
    (stack) => ({ encryptionKey: Key.fromKeyArn(stack, 'Key', keyArn) }),
    {
      'DynamoDB::Table SSESpecification': [{ KMSMasterKeyId: keyArn, SSEEnabled: true, SSEType: 'KMS' }],
      'SQS::Queue KmsMasterKeyId': [keyArn],
      'SecretsManager::Secret KmsKeyId': [keyArn],
      'Lambda::Function Environment.Variables.PARTNER_SECRET_KEY': [undefined, keyArn],
    },
  ],
  [
    'the Custom Event Bus alone',
    () => ({ eventBuses: ['custom'], busName: 'shop' }),
    {
      ...{
        'Events::EventBus Name': [],
        'Events::Archive ArchiveName': [],
        'Events::EventBusPolicy Action': [],
      },
      'EventsV2::EventBus Name': ['shop'],
      'EventsV2::EventBus StorageConfiguration': [{ RetentionPeriodInDays: 90 }],
      'EventsV2::EventBus EncryptionConfiguration': [undefined],
      'EventsV2::ResourcePolicy EventBusArn': ['${BridgeCustomEventsBus.EventBusArn}'],
      'EventsV2::ResourcePolicy PolicyDocument.Version': ['2012-10-17'],
      'Lambda::Function Environment.Variables.EVENT_BUS_NAME': [undefined],
      'Lambda::Function Environment.Variables.CUSTOM_EVENT_BUS_ARN': [
        '${BridgeCustomEventsBus.EventBusArn}',
        undefined,
      ],
    },
  ],
  [
    'a bus that exists, beside the Custom Event Bus',
    (stack) => ({
      bus: EventBus.fromEventBusName(stack, 'Theirs', 'all'),
      ...{ eventBuses: ['classic', 'custom'], busName: 'shop', subscriberAccounts: ['444455556666'] },
    }),
    { 'Events::EventBusPolicy Action': [], 'EventsV2::EventBus Name': ['shop'] },
  ],
  [
    'a network',
    (stack) => ({ partnerBaseUrl: `${partnerBaseUrl}:8443`, vpc: vpcOf(stack) }),
    {
      'EC2::SecurityGroup SecurityGroupIngress': [undefined],
      'EC2::SecurityGroup SecurityGroupEgress.0.FromPort': [443],
      'EC2::SecurityGroup SecurityGroupEgress.1.FromPort': [8443],
      'Lambda::Function VpcConfig': [
        {
          SecurityGroupIds: ['${BridgeSecurityGroup.GroupId}'],
          SubnetIds: ['${VpcPrivateSubnet1Subnet}', '${VpcPrivateSubnet2Subnet}'],
        },
      ],
    },
  ],
  [
    'security groups',
    (stack) => ({
      vpc: vpcOf(stack),
      securityGroups: [SecurityGroup.fromSecurityGroupId(stack, 'Theirs', 'sg-1234')],
    }),
    { 'EC2::SecurityGroup GroupName': [], 'Lambda::Function VpcConfig.SecurityGroupIds': [['sg-1234']] },
  ],
  [
    'reserved concurrency',
    () => ({ maxRequestsPerSecond: 500, reservedConcurrency: { drain: 2, fanOut: 5, connect: 1 } }),
    {
      'Lambda::Function ReservedConcurrentExecutions': [1, 2, 5, undefined],
      'Lambda::EventSourceMapping ScalingConfig.MaximumConcurrency': [5],
    },
  ],
  ...(
    [
      [0.1, 2],
      [300, 30],
      [100_000, 100],
    ] as const
  ).map(
    ([maxRequestsPerSecond, most]) =>
      [
        `${maxRequestsPerSecond} requests a second`,
        () => ({ maxRequestsPerSecond }),
        { 'Lambda::EventSourceMapping ScalingConfig.MaximumConcurrency': [most] },
      ] as const,
  ),
  [
    'policies of retention',
    () => ({
      logRetention: RetentionDays.ONE_YEAR,
      logRemovalPolicy: RemovalPolicy.RETAIN,
      removalPolicy: RemovalPolicy.DESTROY,
    }),
    {
      'Logs::LogGroup RetentionInDays': [365],
      'Logs::LogGroup DeletionPolicy': ['Retain'],
      'DynamoDB::Table DeletionPolicy': ['Delete'],
      'DynamoDB::Table DeletionProtectionEnabled': [false],
      'SQS::Queue DeletionPolicy': ['Delete'],
      'SecretsManager::Secret DeletionPolicy': ['Delete'],
    },
  ],
  [
    'restored tables',
    () => ({ feedStateTable: 'restored-feeds', advertStatusTable: 'restored-adverts' }),
    {
      'DynamoDB::Table TableName': [],
      'Lambda::Function Environment.Variables.FEED_STATE_TABLE': ['restored-feeds'],
      'Lambda::Function Environment.Variables.ADVERT_STATUS_TABLE': ['restored-adverts', undefined],
    },
  ],
  [
    'a permissions boundary',
    (stack) => {
      PermissionsBoundary.of(stack).apply(ManagedPolicy.fromManagedPolicyName(stack, 'Boundary', 'team'));
      return {};
    },
    {
      'IAM::Role PermissionsBoundary': ['arn:${AWS::Partition}:iam::${AWS::AccountId}:policy/team'],
    },
  ],
  [
    'an address for alarms',
    () => ({ alarmEmail }),
    {
      'CloudWatch::Alarm AlarmActions': [[mail]],
      'CloudWatch::Alarm OKActions': [[mail]],
      'SNS::Subscription ': [address],
    },
  ],
  [
    'a topic for alarms',
    (stack) => ({ alarmTopic: alarmTopic(stack) }),
    { 'CloudWatch::Alarm AlarmActions': [[pager]], 'CloudWatch::Alarm OKActions': [[pager]] },
  ],
  [
    'an address and a topic for alarms',
    (stack) => ({ alarmEmail, alarmTopic: alarmTopic(stack) }),
    { 'CloudWatch::Alarm AlarmActions': [[mail, pager]] },
  ],
  [
    'a bound of the backlog',
    () => ({ backlogAlarmSeconds: 7200 }),
    { 'CloudWatch::Alarm Threshold': [0, 300, 7200] },
  ],
];

function valuesAt(resources: Readonly<Record<string, Resource>>, place: string): unknown[] {
  const [type, path = ''] = place.split(' ');
  const found = Object.values(resources).filter(({ Type }) => Type === `AWS::${type}`);
  const values = found.map(({ Properties, DeletionPolicy }) => {
    const keys = path.split('.').filter(Boolean);
    const root = path === 'DeletionPolicy' ? { DeletionPolicy } : Properties;
    return inShort(keys.reduce((value, key) => value?.[key], root));
  });
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

it.each(table)('a bridge with %s', (_what, props, wanted) => {
  const { resources } = bridgeWith(props);
  for (const [place, values] of Object.entries(wanted)) {
    const found = valuesAt(resources, place);
    expect(found, place).toHaveLength(values.length);
    expect(found, place).toEqual(expect.arrayContaining([...values]));
  }
});
