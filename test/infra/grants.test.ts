// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation in short.
import { describe, expect, it } from 'vitest';
import { functions, inShort, synthesized } from '../helpers/synthesized.ts';

const { ofType, one, resources } = synthesized({ organizationId: 'o-a1b2c3d4e5' });

type Statement = { Action: string | string[] };

const listed = <T>(value: T | T[]): T[] => (Array.isArray(value) ? value : [value]);

// That each grant is needed, and all of them together suffice, is shown by the calls (iam/grants-used.test.ts).
describe('what the stack’s roles may do', () => {
  it('is to read the application’s credentials for the two that request tokens alone, whatever others are allowed', () => {
    const [[, policy] = ['', undefined], ...others] = ofType('AWS::SecretsManager::ResourcePolicy');

    expect(others).toEqual([]);
    expect(inShort(policy?.Properties)).toEqual({
      SecretId: '${RefreshTokenApplication}',
      BlockPublicPolicy: true,
      ResourcePolicy: {
        Version: '2012-10-17',
        Statement: [
          {
            Sid: 'ReadOnlyByTokenFunctions',
            Effect: 'Deny',
            Principal: { AWS: '*' },
            // Not PutSecretValue: `advert-bridge application` writes the credentials with the operator's own role.
            Action: 'secretsmanager:GetSecretValue',
            Resource: '*',
            Condition: {
              ArnNotEquals: {
                'aws:PrincipalArn': ['${RefreshTokenRole.Arn}', '${ConnectRole.Arn}'],
              },
            },
          },
        ],
      },
    });
  });

  it('is to read tokens for drain, fan-out, refresh-token and who catches up alone, whatever others are allowed', () => {
    const { Variables } = one('AWS::Lambda::Function', functions.connect).Properties.Environment;

    expect(JSON.parse(String(inShort(Variables.PARTNER_SECRET_POLICY)))).toEqual({
      Version: '2012-10-17',
      Statement: [
        {
          Sid: 'ReadOnlyByTokenReaders',
          Effect: 'Deny',
          Principal: { AWS: '*' },
          Action: 'secretsmanager:GetSecretValue',
          Resource: '*',
          Condition: {
            ArnNotLike: {
              'aws:PrincipalArn':
                'arn:${AWS::Partition}:iam::${AWS::AccountId}:role/advert-bridge/token-readers/*',
            },
          },
        },
      ],
    });
    const readers = ofType('AWS::IAM::Role').filter(
      ([, { Properties }]) => Properties.Path === '/advert-bridge/token-readers/',
    );
    expect(readers.map(([id]) => inShort({ Ref: id })).sort()).toEqual([
      '${CatchUpRole}',
      '${DrainRole}',
      '${FanOutRole}',
      '${RefreshTokenRole}',
    ]);
  });

  it('is all there is: no other policy, none of AWS, no wildcard action', () => {
    const statements = ofType('AWS::IAM::Policy').flatMap(
      ([, { Properties }]) => Properties.PolicyDocument.Statement as Statement[],
    );

    // One for each function, schedule and the role for people, and one about secrets for each function.
    expect(ofType('AWS::IAM::Policy')).toHaveLength(7 + 4);
    expect(
      statements.flatMap(({ Action }) => listed(Action)).filter((action) => action.includes('*')),
    ).toEqual([]);
    for (const [, { Properties }] of ofType('AWS::IAM::Role')) {
      expect(Properties.ManagedPolicyArns).toBeUndefined();
      expect(Properties.Policies).toBeUndefined();
    }
    expect(Object.values(resources).map(({ Type }) => Type)).not.toContain('AWS::IAM::ManagedPolicy');
  });

  it('is for people to catch up where their own policies in this AWS account let them assume the role', () => {
    const [, { Properties }] = ofType('AWS::IAM::Role').find(([id]) => id.startsWith('CatchUpRole')) ?? [
      '',
      { Properties: undefined },
    ];
    // The principal is the account itself, which alone allows nobody access.
    expect(inShort(Properties.AssumeRolePolicyDocument.Statement)).toEqual([
      {
        Action: 'sts:AssumeRole',
        Effect: 'Allow',
        Principal: { AWS: 'arn:${AWS::Partition}:iam::${AWS::AccountId}:root' },
      },
    ]);
  });

  it('is for the scheduler only on behalf of schedules of this AWS account', () => {
    const [, { Properties }] = ofType('AWS::IAM::Role').find(([id]) =>
      id.startsWith('DrainScheduleRole'),
    ) ?? ['', { Properties: undefined }];
    expect(inShort(Properties.AssumeRolePolicyDocument.Statement)).toEqual([
      {
        Action: 'sts:AssumeRole',
        Effect: 'Allow',
        Principal: { Service: 'scheduler.amazonaws.com' },
        Condition: {
          StringEquals: { 'aws:SourceAccount': '${AWS::AccountId}' },
          ArnEquals: {
            'aws:SourceArn':
              'arn:${AWS::Partition}:scheduler:${AWS::Region}:${AWS::AccountId}:schedule-group/default',
          },
        },
      },
    ]);
  });
});
