import { Annotations, Stack } from 'aws-cdk-lib';
import type { CfnRule } from 'aws-cdk-lib/aws-events';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { isBus, isFunction, isQueue, type SubscriptionTarget } from './subscription-props.ts';

/** Properties of a target for a rule, and a function that grants the rules access to the target. */
interface RuleTarget {
  readonly arn: string;
  /** Role with which EventBridge sends, for targets without a resource policy that could allow it. */
  readonly roleArn?: string;
  /** Allows only these rules to send. */
  allow(rules: readonly CfnRule[]): void;
}

const eventBridge = new ServicePrincipal('events.amazonaws.com');

/** @param eventBusName name of the rules' bus, in this AWS account */
export function ruleTargetOf(
  scope: Construct,
  eventBusName: string,
  target: SubscriptionTarget,
  deadLetters: IQueue,
): RuleTarget {
  if (isQueue(target)) {
    return {
      arn: target.queueArn,
      allow: (rules) => allowSending(target, arnsOf(rules)),
    };
  }
  if (isFunction(target)) {
    return { arn: target.functionArn, allow: (rules) => allowCalling(scope, target, rules, deadLetters) };
  }
  const [action, arn] = isBus(target)
    ? ['events:PutEvents', target.eventBusArn]
    : ['states:StartExecution', target.stateMachineArn];
  const { partition, region, account } = Stack.of(scope);
  // A rule refers to its role, so a reference to the rule here would be circular. The rule's ARN contains the bus, so a
  // pattern suffices.
  const rules = `arn:${partition}:events:${region}:${account}:rule/${eventBusName}/*`;
  const { roleArn } = senderRole(scope, 'Sender', { action, arn, account, rules: [rules] });
  return { arn, roleArn, allow: () => undefined };
}

/** The purpose of a role for EventBridge: an action on a target, on behalf of rules. */
export interface Sending {
  readonly action: string;
  readonly arn: string;
  /** The AWS account that the rules are in. */
  readonly account: string;
  /** ARNs or patterns of ARNs. */
  readonly rules: readonly string[];
}

/**
 * The role that EventBridge assumes to send to a bus or a state machine, which have no policy that could name a rule.
 * EventBridge may assume it only for the given rules, so that no other rule can send with this role.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-identity-based.html
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/cross-service-confused-deputy-prevention.html
 */
export function senderRole(scope: Construct, id: string, { action, arn, account, rules }: Sending): Role {
  const role = new Role(scope, id, {
    assumedBy: eventBridge.withConditions({
      StringEquals: { 'aws:SourceAccount': account },
      ArnLike: { 'aws:SourceArn': rules },
    }),
    description: 'Hands events of the advert bridge to the target of a subscription',
  });
  role.addToPolicy(new PolicyStatement({ sid: 'Send', actions: [action], resources: [arn] }));
  return role;
}

const arnsOf = (rules: readonly CfnRule[]): string[] => rules.map(({ attrArn }) => attrArn);

/**
 * Allows rules to send to a queue. If the queue has a customer managed key, rules of the AWS account may use the key.
 */
export function allowSending(queue: IQueue, ruleArns: readonly string[]): void {
  const { statementAdded } = queue.addToResourcePolicy(
    new PolicyStatement({
      principals: [eventBridge],
      actions: ['sqs:SendMessage'],
      resources: [queue.queueArn],
      conditions: { ArnEquals: { 'aws:SourceArn': ruleArns } },
    }),
  );
  if (!statementAdded) {
    Annotations.of(queue).addWarningV2(
      'advert-bridge:queue-policy',
      'This stack cannot change the policy of an imported queue: allow events.amazonaws.com to send to it, with the rule as aws:SourceArn; otherwise every event becomes a dead letter.',
    );
  }
  queue.encryptionMasterKey?.addToResourcePolicy(
    new PolicyStatement({
      principals: [eventBridge],
      actions: ['kms:Decrypt', 'kms:GenerateDataKey*'],
      resources: ['*'], // In the policy of a key: this key.
      // A reference to the rule here would be circular: rule, queue, key.
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(queue).account } },
    }),
  );
}

function allowCalling(
  scope: Construct,
  target: IFunction,
  rules: readonly CfnRule[],
  deadLetters: IQueue,
): void {
  for (const rule of rules) {
    target.addPermission(`${scope.node.addr}${rule.node.id}`, {
      principal: eventBridge,
      sourceArn: rule.attrArn,
      scope,
    });
  }
  // For EventBridge, an event is delivered once Lambda has accepted it. Without this destination, an event that the
  // function fails to handle would be lost.
  if (target.node.tryFindChild('EventInvokeConfig')) return;
  if (target.role) target.configureAsyncInvoke({ onFailure: new SqsDestination(deadLetters) });
  else {
    Annotations.of(scope).addWarningV2(
      'advert-bridge:function-failures',
      'The role of an imported function is not known here: add a destination for failures to the function yourself; otherwise an event that it fails to handle is lost after two retries.',
    );
  }
}
