// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation in short.
import { App, Stack } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { Key } from 'aws-cdk-lib/aws-kms';
import { expect, it, vi } from 'vitest';
import { AdvertBridge, type AdvertBridgeProps, type SubscribeProps } from '../../infra/cdk.ts';
import {
  bareApp,
  bridgeWith,
  faultsOf,
  inShort,
  partnerBaseUrl,
  templateOf,
} from '../helpers/synthesized.ts';

const both = ['classic', 'custom'] as const;
const guests = { subscriberAccounts: ['444455556666'], organizationId: 'o-a1b2c3d4e5' };
const keyArn = 'arn:aws:kms:eu-central-1:111122223333:key/1234';
const busArn = 'arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-busv2/adverts/*';
const ofBus = { 'kms:EncryptionContext:aws:events:event-busv2:arn': busArn };

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Principal: unknown;
  readonly Condition?: object;
}

const statementsOf = ({ Properties }: { readonly Properties: unknown }, policy: string): Statement[] =>
  (inShort(Properties) as Record<string, { Statement: Statement[] }>)[policy]?.Statement ?? [];

const warningsOf = (region: string | undefined, props: (stack: Stack) => Partial<AdvertBridgeProps>) => {
  const stack = new Stack(bareApp(), 'Shop', { env: { account: '111122223333', ...(region && { region }) } });
  new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, eventBuses: ['custom'], ...props(stack) });
  return Annotations.fromStack(stack)
    .findWarning('*', Match.anyValue())
    .map(({ entry }) => String(entry.data));
};

it('listed accounts and the organization may make subscribers on the bus', () => {
  const { one } = bridgeWith(() => ({ eventBuses: both, ...guests }));
  const [deny, ...allowed] = statementsOf(one('AWS::EventsV2::ResourcePolicy'), 'PolicyDocument');
  expect(deny).toMatchObject({ Effect: 'Deny', Principal: { AWS: '*' } });
  const Action = ['events:CreateSubscriber', 'events:UpdateSubscriber', 'events:DescribeEventBus'];
  expect(allowed).toMatchObject([
    { Effect: 'Allow', Action, Principal: { AWS: 'arn:${AWS::Partition}:iam::444455556666:root' } },
    { Action, Condition: { StringEquals: { 'aws:PrincipalOrgID': 'o-a1b2c3d4e5' } } },
  ]);
});

it('the bus policy stays within 20 KB with the maximum of accounts', () => {
  const subscriberAccounts = Array.from({ length: 90 }, (_, index) => String(100_000_000_000 + index));
  const { one } = bridgeWith(() => ({ ...guests, eventBuses: both, subscriberAccounts }));
  const policy = JSON.stringify(statementsOf(one('AWS::EventsV2::ResourcePolicy'), 'PolicyDocument'));
  expect(policy.length).toBeLessThan(15_000);
});

it('the key of the bridge encrypts the bus, and its policy allows that', () => {
  const { one } = bridgeWith((stack) => ({
    ...{ eventBuses: both, ...guests },
    encryptionKey: new Key(stack, 'Key'),
  }));
  expect(inShort(one('AWS::EventsV2::EventBus').Properties)).toMatchObject({
    EncryptionConfiguration: { KmsKeyIdentifier: '${Key.Arn}' },
  });
  const [service, ...makers] = statementsOf(one('AWS::KMS::Key'), 'KeyPolicy').filter(({ Condition }) =>
    JSON.stringify(Condition ?? {}).includes('event-busv2'),
  );
  expect(service).toMatchObject({
    Principal: { Service: 'events.amazonaws.com' },
    Action: expect.arrayContaining(['kms:Decrypt', 'kms:GenerateDataKeyWithoutPlaintext']),
    Condition: { StringEquals: { 'aws:SourceAccount': '${AWS::AccountId}' }, StringLike: ofBus },
  });
  const via = { 'kms:ViaService': 'events.${AWS::Region}.amazonaws.com' };
  expect(makers).toMatchObject([
    { Action: 'kms:Decrypt', Condition: { StringEquals: via, StringLike: ofBus } },
    {
      Action: 'kms:Decrypt',
      Condition: { StringEquals: { ...via, 'aws:PrincipalOrgID': 'o-a1b2c3d4e5' } },
    },
  ]);
});

it('an imported key is warned of, as the stack cannot change its policy', () => {
  const [warning, ...others] = warningsOf('eu-west-1', (stack) => ({
    encryptionKey: Key.fromKeyArn(stack, 'Key', keyArn.replace('central', 'west')),
  }));
  expect(others).toEqual([]);
  expect(warning).toContain('allow events.amazonaws.com kms:Decrypt, kms:Encrypt, kms:GenerateDataKey');
});

it.each([
  ['eu-west-1', []],
  ['eu-west-3', [expect.stringContaining('eu-west-3 had no Custom Event Bus')]],
  // The stack of no region in particular.
  [undefined, [expect.stringContaining('eu-south-1 had no Custom Event Bus')]],
])('a Custom Event Bus in %s has these warnings of the region: %j', (region, expected) => {
  vi.stubEnv('CDK_DEFAULT_REGION', 'eu-south-1');
  expect(warningsOf(region, () => ({}))).toEqual(expected);
});

it('a Custom Event Bus is rejected when another bridge’s has its name', () => {
  const stack = new Stack(new App({ context: { 'aws:cdk:bundling-stacks': [] } }), 'Shop');
  const given = { partnerBaseUrl, eventBuses: ['custom'] as const };
  new AdvertBridge(stack, 'One', { ...given, name: 'One' });
  const faults = faultsOf(() => new AdvertBridge(stack, 'Two', { ...given, name: 'Two' }));
  expect(faults).toEqual([expect.stringMatching(/^busName: expected another one than adverts/)]);
});

it('a Custom Event Bus alone leaves no classic bus and says what to use', () => {
  const { bridge, template } = bridgeWith(() => ({ eventBuses: ['custom'] }));
  expect(() => bridge.bus).toThrow('Shop/Bridge publishes on the Custom Event Bus alone');
  const names = Object.keys(template.Outputs);
  expect(names).toContain('BridgeCustomEventBusArn');
  expect(names.filter((name) => /^BridgeEventBus/.test(name))).toEqual([]);
  expect(templateOf(bridgeWith().stack).template.Outputs).not.toHaveProperty('BridgeCustomEventBusArn');
});

const subscribedTo = (eventBuses: AdvertBridgeProps['eventBuses'], props: SubscribeProps) => {
  const stack = new Stack(bareApp(), 'Shop');
  const bridge = new AdvertBridge(stack, 'Bridge', { partnerBaseUrl, ...(eventBuses && { eventBuses }) });
  bridge.subscribe(stack, 'Search', props);
  const { ofType } = templateOf(stack);
  return {
    rules: ofType('AWS::Events::Rule').length,
    subscribers: ofType('AWS::EventsV2::Subscriber').map(([, { Properties }]) => inShort(Properties)),
  };
};
const EventBusArn = '${BridgeCustomEventsBus.EventBusArn}';

it.each<[string, AdvertBridgeProps['eventBuses'], SubscribeProps, number, unknown[]]>([
  ['its classic bus if it has one', both, {}, 1, []],
  ['the one that is chosen', both, { eventBus: 'custom', from: 'oldest' }, 0, [{ EventBusArn }]],
  ['the only one that there is', ['custom'], {}, 0, [{ EventBusArn, StartingPosition: 'LATEST' }]],
])('a bridge with the Custom Event Bus subscribes to %s', (_which, eventBuses, props, rules, subscribers) => {
  expect(subscribedTo(eventBuses, props)).toMatchObject({ rules, subscribers });
});

it.each<[AdvertBridgeProps['eventBuses'], SubscribeProps, string]>([
  [undefined, { eventBus: 'custom' }, "Shop/Bridge has no Custom Event Bus: add 'custom' to its eventBuses"],
  [['custom'], { eventBus: 'classic' }, 'Shop/Bridge publishes on the Custom Event Bus alone'],
  [both, { from: 'oldest' }, 'from: expected a customBusArn with it'],
])('a bridge with the buses %j refuses a subscription %j', (eventBuses, props, message) => {
  expect(() => subscribedTo(eventBuses, props)).toThrow(message);
});

it('the dashboard shows deliveries when the bus is a custom one', () => {
  const expressionsOf = (eventBuses: AdvertBridgeProps['eventBuses']) => {
    const { one } = bridgeWith(() => ({ eventBuses, dashboard: true }));
    const body = inShort(one('AWS::CloudWatch::Dashboard').Properties.DashboardBody) as string;
    return body.replaceAll('\\"', '"').match(/SEARCH\(.*?\)'/g) ?? [];
  };
  const found = expressionsOf(both).join('\n');
  for (const metric of [
    'PublishEventsEntryCount',
    'EventsDelivered',
    'EventsDropped',
    'ApproximateBacklogAge',
  ])
    expect(found).toContain(`MetricName="${metric}"`);
  // What follows `event-busv2/` in its ARN.
  expect(found).toMatch(
    /EventBus="\{"Fn::Select":\[1,\{"Fn::Split":\["event-busv2\/","\$\{[^}]*EventBusArn\}"/,
  );
  expect(expressionsOf(['classic'])).toEqual([]);
});
