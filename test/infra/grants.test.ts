// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation in short.
import { describe, expect, it } from 'vitest';
import { functions, inShort, synthesized } from './synthesized.ts';

const { ofType, resources } = synthesized({ organizationId: 'o-a1b2c3d4e5' });

type Statement = { Sid?: string; Action: string | string[]; Resource: unknown; Condition?: unknown };

const listed = <T>(value: T | T[]): T[] => (Array.isArray(value) ? value : [value]);

/** `Sid: actions on resources`, and of which items of a table. */
function line({ Sid = '', Action, Resource, Condition }: Statement): string {
  const kinds = JSON.stringify(Condition ?? '')
    .match(/LeadingKeys":\[([^\]]+)\]/)?.[1]
    ?.replaceAll('"', '');
  const actions = listed(Action).map((action) => action.replace(/^(dynamodb|secretsmanager|sqs|logs):/, ''));
  const where = listed(inShort(Resource)).join(', ');
  return `${Sid}: ${actions.sort().join(' ')} on ${where}${kinds ? ` where ${kinds}` : ''}`;
}

const grantsOf = (prefix: string): string[] =>
  ofType('AWS::IAM::Policy')
    .filter(([id]) => id.startsWith(prefix))
    .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement as Statement[])
    .map(line)
    .sort();

const feedState = '${FeedState.Arn}';
const partnerSecrets =
  'arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:advert-bridge/partner-accounts/*';
const refreshToken = 'RefreshToken: lambda:InvokeFunction on ${RefreshTokenKeeperFunction.Arn}';
const deadLetters = 'DeadLetters: SendMessage on ${ChangedAdvertsDeadLetters.Arn}';

describe('what each function may do', () => {
  it('is for the drain: feeds, the queue, and tokens to read', () => {
    expect(grantsOf(functions.drain)).toEqual([
      'ChangedAdverts: GetQueueAttributes SendMessage on ${ChangedAdvertsQueue.Arn}',
      deadLetters,
      `FeedStateAccount: GetItem Query on ${feedState} where account`,
      `FeedStateBooks: GetItem on ${feedState} where books`,
      `FeedStateBridge: GetItem UpdateItem on ${feedState} where bridge`,
      `FeedStateFeed: GetItem Query UpdateItem on ${feedState} where feed`,
      `FeedStateParked: DeleteItem GetItem Query on ${feedState} where parked`,
      `FeedStateParkedMessages: BatchWriteItem Query on ${feedState} where parked/*`,
      'Logs: CreateLogStream PutLogEvents on ${DrainReaderLogs.Arn}',
      `PartnerAccountSecrets: GetSecretValue on ${partnerSecrets}`,
      refreshToken,
    ]);
  });

  it('is for the fan-out: histories, events, and tokens to read', () => {
    expect(grantsOf(functions.fanOut)).toEqual([
      'AdvertStatus: BatchGetItem GetItem PutItem on ${FanOutAdvertStatus.Arn}',
      'ChangedAdverts: ChangeMessageVisibility DeleteMessage GetQueueAttributes ReceiveMessage on ${ChangedAdvertsQueue.Arn}',
      deadLetters,
      'Events: events:PutEvents on ${EventsBus.Arn}',
      `FeedStateAccount: GetItem on ${feedState} where account`,
      `FeedStateBooks: GetItem UpdateItem on ${feedState} where books`,
      `FeedStateBridge: GetItem UpdateItem on ${feedState} where bridge`,
      `FeedStateParked: PutItem on ${feedState} where parked`,
      `FeedStateParkedMessages: BatchWriteItem on ${feedState} where parked/*`,
      'Logs: CreateLogStream PutLogEvents on ${FanOutWorkerLogs.Arn}',
      `PartnerAccountSecrets: GetSecretValue on ${partnerSecrets}`,
      refreshToken,
    ]);
  });

  it('is for refresh-token: accounts, and the only one that writes secrets', () => {
    expect(grantsOf(functions.refreshToken)).toEqual([
      'AdvertStatus: BatchGetItem on ${FanOutAdvertStatus.Arn}',
      'ApplicationSecret: GetSecretValue on ${RefreshTokenApplication}',
      'Events: events:PutEvents on ${EventsBus.Arn}',
      `FeedStateAccount: DeleteItem GetItem PutItem Query on ${feedState} where account`,
      `FeedStateBooks: BatchWriteItem GetItem Query on ${feedState} where books`,
      `FeedStateBridge: GetItem UpdateItem on ${feedState} where bridge`,
      `FeedStateFeed: BatchWriteItem GetItem Query UpdateItem on ${feedState} where feed`,
      'Logs: CreateLogStream PutLogEvents on ${RefreshTokenKeeperLogs.Arn}',
      `PartnerAccountSecrets: CreateSecret DeleteSecret GetSecretValue PutSecretValue RestoreSecret on ${partnerSecrets}`,
    ]);
  });

  it('is to read the application’s credentials for refresh-token alone, whatever others are allowed', () => {
    const [[, policy] = ['', undefined], ...others] = ofType('AWS::SecretsManager::ResourcePolicy');

    expect(others).toEqual([]);
    expect(inShort(policy?.Properties)).toEqual({
      SecretId: '${RefreshTokenApplication}',
      BlockPublicPolicy: true,
      ResourcePolicy: {
        Version: '2012-10-17',
        Statement: [
          {
            Sid: 'ReadOnlyByRefreshToken',
            Effect: 'Deny',
            Principal: { AWS: '*' },
            // Not PutSecretValue: `advert-bridge application` writes them with the role of whoever runs it.
            Action: 'secretsmanager:GetSecretValue',
            Resource: '*',
            Condition: { ArnNotEquals: { 'aws:PrincipalArn': '${RefreshTokenKeeperRole.Arn}' } },
          },
        ],
      },
    });
  });

  it('is for the schedules: to invoke their function', () => {
    expect(grantsOf('DrainEveryMinute')).toEqual([': lambda:InvokeFunction on ${DrainReaderFunction.Arn}']);
    expect(grantsOf('RefreshTokenEveryQuarter')).toEqual([
      ': lambda:InvokeFunction on ${RefreshTokenKeeperFunction.Arn}',
    ]);
  });

  it('is all there is: no other policy, none of AWS, no wildcard action', () => {
    const statements = ofType('AWS::IAM::Policy').flatMap(
      ([, { Properties }]) => Properties.PolicyDocument.Statement as Statement[],
    );

    expect(ofType('AWS::IAM::Policy')).toHaveLength(5);
    expect(
      statements.flatMap(({ Action }) => listed(Action)).filter((action) => action.includes('*')),
    ).toEqual([]);
    for (const [, { Properties }] of ofType('AWS::IAM::Role')) {
      expect(Properties.ManagedPolicyArns).toBeUndefined();
      expect(Properties.Policies).toBeUndefined();
    }
    expect(Object.values(resources).map(({ Type }) => Type)).not.toContain('AWS::IAM::ManagedPolicy');
  });

  it('is for the scheduler only on behalf of this AWS account', () => {
    const [, { Properties }] = ofType('AWS::IAM::Role').find(([id]) => id.startsWith('DrainEveryMinute')) ?? [
      '',
      { Properties: undefined },
    ];
    expect(inShort(Properties.AssumeRolePolicyDocument.Statement)).toEqual([
      {
        Action: 'sts:AssumeRole',
        Effect: 'Allow',
        Principal: { Service: 'scheduler.amazonaws.com' },
        Condition: { StringEquals: { 'aws:SourceAccount': '${AWS::AccountId}' } },
      },
    ]);
  });
});
