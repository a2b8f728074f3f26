import { Duration, Stack } from 'aws-cdk-lib';
import { EventBus as Bus, CfnEventBusPolicy, type IEventBus } from 'aws-cdk-lib/aws-events';
import {
  AccountPrincipal,
  AnyPrincipal,
  type Conditions,
  Effect,
  type IPrincipal,
  type IRole,
  PolicyStatement,
  type PolicyStatementProps,
} from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { detailTypes, eventSource } from '../../shared/contract/names.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

type Settings = Pick<
  BridgeConfig,
  'bus' | 'busName' | 'eventBuses' | 'subscriberAccounts' | 'organizationId'
>;

/** An AWS account may change only its own rules. (A rule that does not exist yet has no creator: `IfExists` below.) */
// biome-ignore lint/suspicious/noTemplateCurlyInString: an IAM variable, not a template literal.
const ownRules = { 'events:creatorAccount': '${aws:PrincipalAccount}' };
/** Its rules send to its own resources: only `PutTargets` has this condition key. */
const ownTargets = (partition: string): Conditions => ({
  'ForAllValues:ArnLike': { 'events:TargetArn': `arn:${partition}:*:*:\${aws:PrincipalAccount}:*` },
});
/** What a rule matches, or what is published: only events of the bridge, and only of these detail types. */
export const bridgeEvents = (types: readonly string[] = Object.values(detailTypes)): Conditions => ({
  'ForAllValues:StringEquals': { 'events:source': [eventSource], 'events:detail-type': types },
  // `ForAllValues` is also true if there are no values.
  Null: { 'events:source': 'false', 'events:detail-type': 'false' },
});

/** Of these actions, `PutTargets` alone has targets; `PutRule` has already checked what the rule matches. */
const managing = [
  'PutTargets',
  'DeleteRule',
  'RemoveTargets',
  'DescribeRule',
  'ListTargetsByRule',
  'EnableRule',
  'DisableRule',
  'TagResource',
  'UntagResource',
  'ListTagsForResource',
].map((action) => `events:${action}`);

/** For a team that notices within a quarter that it has handled events wrongly; some cents per million events. */
export const archivedFor = Duration.days(90);

/** The classic bus, if the bridge publishes on it. */
export function eventBus(parent: Construct, id: string, settings: Settings): IEventBus | undefined {
  if (!settings.eventBuses.includes('classic')) return undefined;
  if (settings.bus) return settings.bus;
  const scope = new Construct(parent, id);
  const bus = new Bus(scope, 'Bus', {
    eventBusName: settings.busName,
    description: 'Status changes of adverts at the partner service',
  });
  bus.archive('Archive', {
    description: 'Everything that the advert bridge published',
    eventPattern: { source: [eventSource] },
    retention: archivedFor,
  });
  allowSubscribers(scope, bus, settings);
  return bus;
}

/**
 * Denies everybody else to publish in the bridge's name, whatever their own policies allow: subscribers would believe a
 * forged event with a great generation, and then no true event of its advert any more. What AWS's own services do on the
 * bus, such as a replay of the archive, has no principal with an ARN. The condition is what AWS advises in place of
 * `NotPrincipal`; of a session, `aws:PrincipalArn` is the role's.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_notprincipal.html
 */
export const publishOnlyBy = (
  publishers: readonly IRole[],
  { conditions, ...denied }: Pick<PolicyStatementProps, 'actions' | 'resources' | 'conditions'>,
): PolicyStatement =>
  new PolicyStatement({
    sid: 'PublishOnlyByBridge',
    effect: Effect.DENY,
    principals: [new AnyPrincipal()],
    ...denied,
    conditions: {
      ...conditions,
      ArnNotEquals: { 'aws:PrincipalArn': publishers.map(({ roleArn }) => roleArn) },
      Null: { 'aws:PrincipalArn': 'false' },
    },
  });

/** Reserves the bridge's source on a classic bus, on which others may publish events of theirs. */
export function reserveSource(scope: Construct, bus: IEventBus, publishers: readonly IRole[]): void {
  const conditions = { 'ForAnyValue:StringEquals': { 'events:source': [eventSource] } };
  const denied = { actions: ['events:PutEvents'], resources: [bus.eventBusArn], conditions };
  addToPolicy(scope, bus, publishOnlyBy(publishers, denied));
}

function addToPolicy(scope: Construct, { eventBusName }: IEventBus, statement: PolicyStatement): void {
  const { sid: statementId = '' } = statement;
  const json: unknown = statement.toStatementJson();
  new CfnEventBusPolicy(scope, statementId, { eventBusName, statementId, statement: json });
}

/**
 * Allows other AWS accounts (the listed ones and those of the organization) to manage their own rules on the bus.
 * AdvertSubscription (advert-subscription.ts) creates such a rule.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-bus-perms.html
 * @see https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoneventbridge.html
 */
function allowSubscribers(parent: Construct, bus: Bus, settings: Settings): void {
  const scope = new Construct(parent, 'Subscribers');
  const { partition, region, account } = Stack.of(scope);
  const resources = [`arn:${partition}:events:${region}:${account}:rule/${bus.eventBusName}/*`];
  const allow = (sid: string, actions: string[], principals: IPrincipal[], conditions: Conditions) => {
    const own = { StringEqualsIfExists: ownRules };
    const props = { sid, actions, principals, resources, conditions: { ...conditions, ...own } };
    addToPolicy(scope, bus, new PolicyStatement(props));
  };
  for (const { who, principals, conditions } of subscribersOf(settings)) {
    allow(`${who}MakeRules`, ['events:PutRule'], principals, { ...conditions, ...bridgeEvents() });
    allow(`${who}ManageRules`, managing, principals, { ...conditions, ...ownTargets(partition) });
  }
}

interface Subscribers {
  readonly who: 'Accounts' | 'Organization';
  readonly principals: IPrincipal[];
  readonly conditions: { readonly StringEquals?: Readonly<Record<string, string>> };
}

/** Other AWS accounts that may subscribe: the listed ones, and those of the organization. */
export function subscribersOf({
  subscriberAccounts,
  organizationId,
}: Pick<Settings, 'subscriberAccounts' | 'organizationId'>): Subscribers[] {
  const principals = [...new Set(subscriberAccounts)].map((id) => new AccountPrincipal(id));
  const accounts: Subscribers[] =
    principals.length > 0 ? [{ who: 'Accounts', principals, conditions: {} }] : [];
  if (organizationId === undefined) return accounts;
  const conditions = { StringEquals: { 'aws:PrincipalOrgID': organizationId } };
  return [...accounts, { who: 'Organization', principals: [new AnyPrincipal()], conditions }];
}
