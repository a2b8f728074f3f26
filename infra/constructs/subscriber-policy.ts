import { Stack } from 'aws-cdk-lib';
import { CfnEventBusPolicy, type IEventBus } from 'aws-cdk-lib/aws-events';
import {
  AccountPrincipal,
  AnyPrincipal,
  type Conditions,
  type IPrincipal,
  PolicyStatement,
} from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { detailTypes, eventSource } from '../../shared/contract/names.ts';
import type { StackSettings } from '../../shared/contract/settings.ts';

export interface SubscriberPolicyProps extends Pick<StackSettings, 'subscriberAccounts' | 'organizationId'> {
  readonly bus: IEventBus;
}

/** An AWS account may change only its own rules. (A rule that does not exist yet has no creator: `IfExists` below.) */
// biome-ignore lint/suspicious/noTemplateCurlyInString: an IAM variable, not a template literal.
const ownRules = { 'events:creatorAccount': '${aws:PrincipalAccount}' };
/** Its rules send to its own resources: only `PutTargets` has this condition key. */
const ownTargets = (partition: string): Conditions => ({
  'ForAllValues:ArnLike': { 'events:TargetArn': `arn:${partition}:*:*:\${aws:PrincipalAccount}:*` },
});
/** A rule must name the bridge as its source, and only detail types of the bridge. */
const bridgeEvents: Conditions = {
  'ForAllValues:StringEquals': {
    'events:source': [eventSource],
    'events:detail-type': Object.values(detailTypes),
  },
  // `ForAllValues` is also true if there are no values.
  Null: { 'events:source': 'false', 'events:detail-type': 'false' },
};

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

/**
 * Allows other AWS accounts (the listed ones and those of the organization) to manage their own rules on the bus.
 * AdvertSubscription (advert-subscription.ts) creates such a rule.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-bus-perms.html
 * @see https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoneventbridge.html
 */
export class SubscriberPolicy extends Construct {
  constructor(scope: Construct, id: string, props: SubscriberPolicyProps) {
    super(scope, id);
    const { bus, subscriberAccounts, organizationId } = props;
    const { partition, region, account } = Stack.of(this);
    const resources = [`arn:${partition}:events:${region}:${account}:rule/${bus.eventBusName}/*`];
    const allow = (sid: string, actions: string[], principals: IPrincipal[], conditions: Conditions) => {
      const own = { StringEqualsIfExists: ownRules };
      const props = { sid, actions, principals, resources, conditions: { ...conditions, ...own } };
      new CfnEventBusPolicy(this, sid, {
        eventBusName: bus.eventBusName,
        statementId: sid,
        statement: new PolicyStatement(props).toStatementJson(),
      });
    };
    const allowRules = (who: string, principals: IPrincipal[], conditions: Conditions) => {
      allow(`${who}MakeRules`, ['events:PutRule'], principals, { ...conditions, ...bridgeEvents });
      allow(`${who}ManageRules`, managing, principals, { ...conditions, ...ownTargets(partition) });
    };

    const accounts = [...new Set(subscriberAccounts)].map((id) => new AccountPrincipal(id));
    if (accounts.length > 0) allowRules('Accounts', accounts, {});
    if (organizationId !== undefined) {
      const members = { StringEquals: { 'aws:PrincipalOrgID': organizationId } };
      allowRules('Organization', [new AnyPrincipal()], members);
    }
  }
}
