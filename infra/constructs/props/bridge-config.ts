import { RemovalPolicy, Stack, Stage, Token } from 'aws-cdk-lib';
import type { ISecurityGroup, ISubnet, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import * as v from 'valibot';
import { resourceKeys, settingsKey } from '../../../shared/contract/environment.ts';
import { eventSource, namePrefixOf } from '../../../shared/contract/names.ts';
import { functionSettings, schemasOf } from '../../../shared/contract/settings.ts';
import type { AdvertBridgeProps } from './advert-bridge-props.ts';
import {
  type Fault,
  FaultsError,
  faultLines,
  givenOf,
  has,
  isObject,
  longestOf,
  made,
  unknownIn,
  wholeFrom,
} from './faults.ts';
import { hasAwsKey, isKnown, notClassicBus, otherRegion } from './resources.ts';
import { stackSettings } from './stack-settings.ts';

/** Thrown for properties with which the bridge could not work. */
export class AdvertBridgeError extends FaultsError {
  override readonly name = 'AdvertBridgeError';
  readonly code = 'wrong-props';
}

const expectedName =
  'expected 1 to 64 letters, digits and hyphens, beginning with a letter (default: the name of the stack)';
const name = v.pipe(
  v.string(expectedName),
  v.check((text) => !Token.isUnresolved(text), 'expected a name known at synth: give the bridge one'),
  v.regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, expectedName),
  // This name would give the same fixed names as `AdvertBridge`: see namePrefixOf.
  v.check((text) => text !== eventSource, `expected another name than ${eventSource}`),
);

const { alarmTopicArn: _alarmTopicArn, stackName: _stackName, ...settings } = stackSettings;

const shape = v.object({
  ...schemasOf(settings),
  name,
  bus: made<IEventBus>('eventBusArn', 'expected an event bus'),
  alarmTopic: made<ITopic>('topicArn', 'expected an SNS topic'),
  encryptionKey: made<IKey>('keyArn', 'expected a KMS key'),
  vpc: made<IVpc>('vpcId', 'expected a VPC'),
  vpcSubnets: v.optional(v.custom<SubnetSelection>(isObject, 'expected a selection of subnets')),
  allowIsolatedSubnets: v.optional(v.boolean('expected true or false'), false),
  securityGroups: v.optional(
    v.pipe(
      v.array(
        v.custom<ISecurityGroup>((value) => has(value, 'securityGroupId'), 'expected a security group'),
      ),
      v.minLength(1, 'expected at least one; omit the property for a new security group'),
    ),
  ),
  reservedConcurrency: v.optional(
    v.strictObject({
      drain: wholeFrom(1),
      fanOut: wholeFrom(2),
      refreshToken: wholeFrom(1),
      connect: wholeFrom(1),
    }),
    {},
  ),
  logRetention: v.optional(
    v.enum(RetentionDays, 'expected a value of RetentionDays'),
    RetentionDays.ONE_MONTH,
  ),
  logRemovalPolicy: v.optional(v.enum(RemovalPolicy, 'expected a RemovalPolicy'), RemovalPolicy.DESTROY),
  removalPolicy: v.optional(v.enum(RemovalPolicy, 'expected a RemovalPolicy'), RemovalPolicy.RETAIN),
} satisfies Record<keyof AdvertBridgeProps, unknown>);

export interface BridgeConfig extends v.InferOutput<typeof shape> {
  /** Prefix of the bridge's fixed names. */
  readonly namePrefix: string;
}

/**
 * Checks everything that is known at synth.
 *
 * @throws {AdvertBridgeError} with all faults
 */
export function checkedConfig(scope: Construct, props: AdvertBridgeProps): BridgeConfig {
  // Without the compiler, there may be no properties at all.
  const given: Partial<AdvertBridgeProps> = isObject(props) ? props : {};
  const { stackName } = Stack.of(scope);
  // A missing required property is reported with its own message.
  const all = { partnerBaseUrl: undefined, ...given, name: given.name ?? stackName };
  const { issues, output, success } = v.safeParse(shape, all);
  const config = success && { ...output, namePrefix: namePrefixOf(output.name) };
  const others = [
    ...unknownIn(given, Object.keys(shape.entries)),
    ...publishingFaults(given),
    ...placeFaults(scope, given),
    ...keyFaults(given),
    ...networkFaults(given),
    ...(config ? [...environmentFaults(config), ...collisions(scope, config)] : []),
  ];
  if (config && others.length === 0) return config;
  const heading = `The properties of the bridge ${scope.node.path} have faults.`;
  throw new AdvertBridgeError(heading, faultLines(issues, others));
}

function publishingFaults({ bus, eventBuses, target, ...props }: Partial<AdvertBridgeProps>): Fault[] {
  const kinds = Array.isArray(eventBuses) ? eventBuses : ['classic'];
  const isCustom = kinds.includes('custom');
  if (isCustom && target === 'emulator')
    return [['eventBuses', "expected ['classic'] with target emulator: none knows the Custom Event Bus"]];
  if (isCustom && /^[^A-Za-z0-9]/.test(String(props.busName ?? 'adverts')))
    return [['busName', 'expected a letter or digit at its beginning, as the Custom Event Bus needs it']];
  if (!bus) return [];
  const alone = 'expected no bus with it: the owner of the bus decides that';
  const faults = isCustom ? [] : givenOf(props, ['busName', 'subscriberAccounts', 'organizationId'], alone);
  if (!kinds.includes('classic'))
    faults.push(['bus', "expected 'classic' among the eventBuses with it: the bus given is a classic one"]);
  const notClassic = notClassicBus(bus.eventBusArn);
  if (notClassic !== undefined) faults.push(['bus', notClassic]);
  if (bus.eventBusName === 'default') faults.push(['bus', 'expected another one than the default bus']);
  return faults;
}

const placed = { bus: 'a bus', alarmTopic: 'a topic', encryptionKey: 'a key', vpc: 'a VPC' } as const;

function placeFaults(scope: Construct, props: Partial<AdvertBridgeProps>): Fault[] {
  return Object.entries(placed).flatMap(([name, what]): Fault[] => {
    const given = props[name as keyof typeof placed];
    const other = isObject(given) ? otherRegion(scope, given) : undefined;
    const expected = `expected ${what} in ${Stack.of(scope).region}, the region of the stack, not in ${other}`;
    return other === undefined ? [] : [[name, expected]];
  });
}

/** What is not reported by AWS either: IAM denies every call with such a key, and no alarm reaches such a topic. */
function keyFaults({ encryptionKey, alarmTopic }: Partial<AdvertBridgeProps>): Fault[] {
  const faults: Fault[] = [];
  const isAlias = (key: unknown) =>
    has(key, 'aliasName') || /:alias\//.test(String((key as IKey | undefined)?.keyArn));
  const lookup = "Key.fromLookup(this, 'Key', { aliasName: '…' })";
  if (isAlias(encryptionKey))
    faults.push([
      'encryptionKey',
      `expected the key itself, not an alias, for which grants do nothing: ${lookup}`,
    ]);
  const why = 'CloudWatch cannot publish there, so nobody would get the alarms';
  if (isObject(alarmTopic) && hasAwsKey(alarmTopic))
    faults.push(['alarmTopic', `expected a topic without encryption or with a key of your own: ${why}`]);
  else if (alarmTopic?.fifo) faults.push(['alarmTopic', `expected a standard topic, not a FIFO one: ${why}`]);
  return faults;
}

function networkFaults(props: Partial<AdvertBridgeProps>): Fault[] {
  const { vpc, vpcSubnets, allowIsolatedSubnets } = props;
  const without = ['vpcSubnets', 'securityGroups', 'allowIsolatedSubnets'] as const;
  if (!vpc) return givenOf(props, without, 'expected a vpc with it');
  const selected = vpcSubnets && vpc.selectSubnets(vpcSubnets).subnetIds;
  const isAmong = (subnets: ISubnet[] = []) => subnets.some(({ subnetId }) => selected?.includes(subnetId));
  if (isAmong(vpc.publicSubnets))
    return [
      ['vpcSubnets', 'expected private subnets: in public ones, functions have no address for the internet'],
    ];
  // CDK chooses isolated subnets where there are no private ones.
  const isIsolated = selected ? isAmong(vpc.isolatedSubnets) : vpc.privateSubnets?.length === 0;
  if (allowIsolatedSubnets || !isIsolated) return [];
  const why = 'the partner service is on the internet';
  const remedy = 'If they reach it in another way, such as a transit gateway: allowIsolatedSubnets: true';
  if (vpcSubnets)
    return [['vpcSubnets', `expected subnets with egress, not isolated ones: ${why}. ${remedy}`]];
  return [['vpc', `expected one with a private subnet with egress: ${why}. ${remedy}`]];
}

/** By app: the names in use, with the path of the bridge that uses each. */
const taken = new WeakMap<object, Map<string, string>>();

/** Faults for two bridges with the same name, or the same bus name, in one AWS account and region. */
function collisions(scope: Construct, { name, busName, bus, eventBuses }: BridgeConfig): Fault[] {
  const names = taken.get(scope.node.root) ?? new Map<string, string>();
  taken.set(scope.node.root, names);
  const faults: Fault[] = [];
  const take = (property: 'name' | 'busName', value: string, other: string) => {
    const key = `${accountAndRegion(scope)} ${property} ${value}`;
    const owner = names.get(key);
    const why = `expected another one than ${value}, which is that of the bridge ${owner}${other}`;
    if (owner === undefined) names.set(key, scope.node.path);
    else faults.push([property, why]);
  };
  take('name', name, '');
  if (!bus || eventBuses.includes('custom')) take('busName', busName, ': or hand its bus to both, as bus');
  return faults;
}

/** AWS account and region. For a stack without them, the stage, because another stage may be deployed elsewhere. */
function accountAndRegion(scope: Construct): string {
  const { account, region } = Stack.of(scope);
  if (isKnown(account) && isKnown(region)) return `${account}/${region}`;
  return `stage ${Stage.of(scope)?.node.path}`;
}

/**
 * Lambda's limit for the environment variables of one function, as JSON.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
const maxBytes = 4_096;
/** For the names of tables, queues, bus and functions, and the policy of secrets, whose lengths are not known at synth. */
const resourceBytes = 1_400;

const settingsOf = (config: BridgeConfig) =>
  Object.fromEntries(
    Object.keys(functionSettings.entries).map((name) => [name, config[name as keyof BridgeConfig]]),
  );

export const environmentOf = (config: BridgeConfig): Record<string, string> => ({
  [settingsKey]: JSON.stringify(settingsOf(config)),
  [resourceKeys.namePrefix]: config.namePrefix,
});

/** CloudFormation would report them only after other resources were created. */
function environmentFaults(config: BridgeConfig): Fault[] {
  const { eventBuses, busName } = config;
  const most = maxBytes - resourceBytes - (eventBuses.includes('custom') ? 150 + busName.length : 0);
  const bytes = Buffer.byteLength(JSON.stringify(environmentOf(config)));
  if (bytes <= most) return [];
  const expected = `expected less text: the settings of a function may have ${most} bytes in its environment, not ${bytes}`;
  return [[longestOf(settingsOf(config)), expected]];
}
