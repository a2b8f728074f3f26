/** What is known at synth of resources that were given, or that Aspects may have changed. */
import { CfnResource, type IResource, Stack, Token } from 'aws-cdk-lib';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { RegionInfo } from 'aws-cdk-lib/region-info';
import type { IConstruct } from 'constructs';

export const isKnown = (value: string): boolean => !Token.isUnresolved(value);

const arnNames = ['tableArn', 'keyArn', 'topicArn', 'queueArn', 'functionArn', 'eventBusArn'];

/**
 * Region and account of a resource, where they are known. CDK gives some imported resources those of the importing
 * stack, whatever their ARN says.
 */
export function placeOf(resource: IConstruct | IResource): { region?: string; account?: string } {
  const arn = arnNames.map((name) => (resource as never)[name]).find((value) => typeof value === 'string');
  const [, , , region, account] = String(arn).split(':');
  const { env } = resource as Partial<IResource>;
  const known = (...values: (string | undefined)[]) => values.find((value) => value && isKnown(value));
  const places = { region: known(region, env?.region), account: known(account, env?.account) };
  return Object.fromEntries(Object.entries(places).filter(([, value]) => value !== undefined));
}

/** The region, or the AWS account, of a resource that is known to be in another one than the stack. */
const elsewhere = (what: 'region' | 'account') => (scope: IConstruct, resource: IResource) => {
  const [here, there] = [Stack.of(scope)[what], placeOf(resource)[what]];
  return there !== undefined && isKnown(here) && here !== there ? there : undefined;
};
export const [otherRegion, otherAccount] = [elsewhere('region'), elsewhere('account')];

/** What keeps an ARN from being that of a classic bus; undefined for one that is not known at synth. */
export function notClassicBus(arn: string): string | undefined {
  const [, partition, service, region = '', , resource = ''] = isKnown(arn) ? arn.split(':') : [];
  if (service === undefined) return undefined;
  if (service !== 'events') return `expected the ARN of an event bus: this one is of ${service}`;
  if (resource.startsWith('event-busv2/'))
    return 'expected a classic bus: a Custom Event Bus is made by the bridge itself, and subscribed to by customBusArn';
  const right = RegionInfo.get(region).partition;
  if (right === undefined || right === partition || !isKnown(`${partition}`)) return undefined;
  return `expected a bus in the partition ${right}, not in ${partition}`;
}

interface Rendered {
  readonly DeletionPolicy?: string;
  // biome-ignore lint/suspicious/noExplicitAny: CloudFormation's own shape.
  readonly Properties: Readonly<Record<string, any>>;
}

/**
 * A resource as the template contains it, with everything that Aspects have set or overridden so far; undefined if it is
 * not made in this app.
 */
export function rendered(construct: IConstruct | undefined): Rendered | undefined {
  const resource = construct?.node.defaultChild ?? construct;
  if (!resource || !CfnResource.isCfnResource(resource)) return undefined;
  const { Resources } = Stack.of(resource).resolve(
    // Public, although left out of the types: no other way shows overrides.
    (resource as unknown as { _toCloudFormation(): object })._toCloudFormation(),
  );
  const [{ Properties = {}, ...others } = {}] = Object.values(Resources ?? {}) as Partial<Rendered>[];
  return { ...others, Properties };
}

const keyProperties: Readonly<Record<string, (properties: Rendered['Properties']) => unknown>> = {
  'AWS::SQS::Queue': ({ KmsMasterKeyId }) => KmsMasterKeyId,
  'AWS::DynamoDB::Table': ({ SSESpecification }) => SSESpecification?.KMSMasterKeyId,
  'AWS::SecretsManager::Secret': ({ KmsKeyId }) => KmsKeyId,
};

/** Whether a queue, table or secret has a key other than AWS's own, which every role of the account may use. */
export function hasCustomerKey(construct: IConstruct): boolean {
  if (!CfnResource.isCfnResource(construct)) return false;
  const key = keyProperties[construct.cfnResourceType]?.(rendered(construct)?.Properties ?? {});
  return key !== undefined && !/alias\/aws\//.test(JSON.stringify(key));
}

/** Whether a queue or topic is encrypted with a key such as `alias/aws/sqs`, whose policy allows no service of AWS. */
export const hasAwsKey = (construct: IConstruct): boolean =>
  /alias\/aws\//.test(JSON.stringify(rendered(construct)?.Properties.KmsMasterKeyId ?? ''));

/**
 * Whether a topic has a policy by which CloudWatch may not publish: it replaces the policy that a topic without one has.
 * With `enforceSSL` alone, for example, it allows nobody.
 */
export function refusesAlarms(topic: IConstruct): boolean {
  const policy = rendered(topic.node.tryFindChild('Policy'))?.Properties.PolicyDocument;
  const allows = ({ Effect, Principal }: { Effect: string; Principal: unknown }) =>
    Effect === 'Allow' && /cloudwatch\.amazonaws\.com|"\*"/.test(JSON.stringify(Principal));
  return policy !== undefined && !policy.Statement.some(allows);
}

/** The path of a role, also of one that `Role.customizeRoles` replaced by a role that exists. */
export function rolePathOf(role: IRole): string {
  const { Path = '/' } = rendered(role)?.Properties ?? {
    Path: /:role(\/(?:[^:]*\/)?)[^/:]*$/.exec(role.roleArn)?.[1],
  };
  return String(Path);
}

/** Reserved concurrency, where it is known at synth. */
export function reservedOf(fn: IFunction): number | undefined {
  const reserved = rendered(fn)?.Properties.ReservedConcurrentExecutions;
  return typeof reserved === 'number' ? reserved : undefined;
}

/** On a function and not in a variable of a module, because an app may load the module twice: paths of subscriptions. */
export type Mark = 'advert-bridge:subscription' | 'advert-bridge:failures';

export const markOf = (construct: IConstruct, mark: Mark): string | undefined =>
  construct.node.metadata.find(({ type }) => type === mark)?.data;

export const addMark = (construct: IConstruct, mark: Mark, { node }: IConstruct): void =>
  construct.node.addMetadata(mark, node.path);
