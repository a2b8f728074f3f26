/** The policies of a synthesized template, with every reference resolved as CloudFormation would in one AWS account. */
import { resourceKeys } from '../../../shared/contract/environment.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import type { Service } from '../../helpers/aws/wire.ts';
import type { Synthesized } from '../../helpers/synthesized.ts';

export const awsAccount = '111122223333';
export const region = 'eu-central-1';

export interface Statement {
  readonly Sid?: string;
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: string | readonly string[];
  readonly Resource?: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export interface RolePolicies {
  /** Logical ID of the role. */
  readonly id: string;
  readonly arn: string;
  readonly trust: readonly Statement[];
  readonly statements: readonly Statement[];
}

export type TemplatePolicies = ReturnType<typeof policiesOf>;

const arn = (service: Service | 'iam' | 'logs', rest: string, inRegion = region): string =>
  `arn:aws:${service}:${inRegion}:${awsAccount}:${rest}`;

/** ARN of a resource whose name is its logical ID, where it is given none. */
const arnByType: Readonly<Record<string, (id: string, properties: Record<string, string>) => string>> = {
  'AWS::DynamoDB::Table': (id) => arn('dynamodb', `table/${id}`),
  'AWS::SQS::Queue': (id) => arn('sqs', `${id}.fifo`),
  'AWS::Lambda::Function': (id) => arn('lambda', `function:${id}`),
  'AWS::Events::EventBus': (_id, { Name }) => arn('events', `event-bus/${Name}`),
  'AWS::EventsV2::EventBus': (_id, { Name }) => arn('events', `event-busv2/${Name}/${'a1b2c'.repeat(5)}`),
  'AWS::SecretsManager::Secret': (_id, { Name }) => arn('secretsmanager', `secret:${Name}-AbCdEf`),
  'AWS::IAM::Role': (id, { Path = '/' }) => arn('iam', `role${Path}${id}`, ''),
  'AWS::Logs::LogGroup': (id) => arn('logs', `log-group:${id}:*`),
};

/** ARN of the stack itself. */
export const stackArn = (name: string): string =>
  arn('cloudformation', `stack/${name}/00000000-0000-0000-0000-000000000000`);

/** ARN of a partner account's secret, which no template names. */
export const secretArn = (name: string): string => arn('secretsmanager', `secret:${name}-AbCdEf`);

export function policiesOf({ resources, ofType, one }: Synthesized) {
  const arnOfResource = (id: string): string => {
    const { Type = '', Properties = {} } = resources[id] ?? {};
    const make = arnByType[Type];
    if (!make) throw new Error(`${id} (${Type}): its ARN is not known here`);
    return make(id, Properties);
  };
  const reference = (id: string): string => {
    const pseudo: Record<string, string> = {
      'AWS::Partition': 'aws',
      'AWS::Region': region,
      'AWS::AccountId': awsAccount,
      'AWS::StackName': 'AdvertBridge',
      'AWS::URLSuffix': 'amazonaws.com',
    };
    const { Type, Properties } = resources[id] ?? {};
    // Of most types Ref is the name; of this one it is the ARN.
    if (Type === 'AWS::SecretsManager::Secret') return arnOfResource(id);
    if (Type === 'AWS::SQS::Queue') return `https://sqs.${region}.amazonaws.com/${awsAccount}/${id}.fifo`;
    return pseudo[id] ?? Properties?.Name ?? id;
  };
  function resolve(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    const { Ref, 'Fn::GetAtt': attribute, 'Fn::Join': joined, ...rest } = value as Record<string, unknown>;
    if (typeof Ref === 'string') return reference(Ref);
    if (Array.isArray(attribute)) {
      if (!/Arn$/.test(attribute[1])) throw new Error(`${attribute.join('.')} is not resolved here`);
      return arnOfResource(attribute[0]);
    }
    if (Array.isArray(joined)) return (resolve(joined[1]) as string[]).join(joined[0]);
    return Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, resolve(inner)]));
  }
  const statementsOf = (document: unknown) =>
    (resolve(document) as { Statement: readonly Statement[] }).Statement;

  const roles = ofType('AWS::IAM::Role').map(
    ([id, { Properties }]): RolePolicies => ({
      id,
      arn: arnOfResource(id),
      trust: statementsOf(Properties.AssumeRolePolicyDocument),
      statements: ofType('AWS::IAM::Policy')
        .filter(([, policy]) => policy.Properties.Roles.some(({ Ref }: { Ref: string }) => Ref === id))
        .flatMap(([, policy]) => statementsOf(policy.Properties.PolicyDocument)),
    }),
  );

  const byResource = new Map<string, Statement[]>();
  const add = (to: string, statements: readonly Statement[]) =>
    byResource.set(to, [...(byResource.get(to) ?? []), ...statements]);
  for (const [, { Properties }] of ofType('AWS::SQS::QueuePolicy')) {
    const arns = (resolve(Properties.Queues) as string[]).map((url) =>
      arn('sqs', url.split('/').at(-1) ?? ''),
    );
    for (const each of arns) add(each, statementsOf(Properties.PolicyDocument));
  }
  for (const [, { Properties }] of ofType('AWS::Events::EventBusPolicy')) {
    add(arn('events', `event-bus/${resolve(Properties.EventBusName)}`), [
      resolve(Properties.Statement) as Statement,
    ]);
  }
  for (const [, { Properties }] of ofType('AWS::EventsV2::ResourcePolicy'))
    add(resolve(Properties.EventBusArn) as string, statementsOf(Properties.PolicyDocument));
  for (const [, { Properties }] of ofType('AWS::SecretsManager::ResourcePolicy')) {
    add(resolve(Properties.SecretId) as string, statementsOf(Properties.ResourcePolicy));
  }
  const ofPartnerSecrets = ofType('AWS::Lambda::Function')
    .map(([, { Properties }]) => Properties.Environment?.Variables?.[resourceKeys.partnerSecretPolicy])
    .filter((policy) => policy !== undefined)
    .flatMap((policy) => statementsOf(JSON.parse(resolve(policy) as string)));

  const catchUpRole = roles.find(({ id }) => id.startsWith('CatchUpRole'));
  if (!catchUpRole) throw new Error('there is no role for catching up');
  return {
    roles,
    /** The role for people who run `backfill`, `resync` and `audit`. */
    catchUpRole,
    /** The role of a function, by the beginning of the function's logical ID. */
    roleOf(functionId: string): RolePolicies {
      const roleArn = resolve(one('AWS::Lambda::Function', functionId).Properties.Role);
      const role = roles.find((each) => each.arn === roleArn);
      if (!role) throw new Error(`${functionId} has no role of this stack`);
      return role;
    },
    /** The policy of a resource, if it has one. */
    resourcePolicy(of: string) {
      const isPartnerSecret = of.startsWith(
        arn('secretsmanager', `secret:${secretNames.partnerAccountPrefix}`),
      );
      const Statement = isPartnerSecret ? ofPartnerSecrets : (byResource.get(of) ?? []);
      return Statement.length === 0 ? undefined : { Version: '2012-10-17', Statement };
    },
    /** ARN of a resource by its logical ID, or the beginning of it. */
    arnOf: (type: string, id: string) => arnOfResource(one(type, id).id),
  };
}
