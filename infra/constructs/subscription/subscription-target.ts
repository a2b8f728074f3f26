import { Annotations, Stack } from 'aws-cdk-lib';
import type { CfnRule } from 'aws-cdk-lib/aws-events';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { isBus, isFunction, isQueue, type SubscriptionTarget } from './subscription-props.ts';

/** What a rule has to know of its target, and how the target is told of the rules. */
interface RuleTarget {
  readonly arn: string;
  /** What EventBridge sends as, where the target has no policy of its own for that. */
  readonly roleArn?: string;
  /** Lets these rules send, and nobody else. */
  allow(rules: readonly CfnRule[]): void;
}

const eventBridge = new ServicePrincipal('events.amazonaws.com');

/** @param eventBusName of the bus, in this AWS account, that the rules are on */
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
  // A rule names its role: to name the rule here would be a circle, but its bus it has in its ARN.
  const rules = `arn:${partition}:events:${region}:${account}:rule/${eventBusName}/*`;
  const { roleArn } = senderRole(scope, 'Sender', { action, arn, account, rules: [rules] });
  return { arn, roleArn, allow: () => undefined };
}

/** What a role of EventBridge's is for: an action on a target, on behalf of rules. */
export interface Sending {
  readonly action: string;
  readonly arn: string;
  /** The AWS account that the rules are in. */
  readonly account: string;
  /** ARNs or patterns of ARNs. */
  readonly rules: readonly string[];
}

/**
 * What EventBridge assumes to send to a bus or a state machine, which have no policy that could name a rule. It does so for
 * the rules named and no others, so that nobody else's rule can send by this role.
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

/** Lets rules send to a queue; where its key is a customer's, the AWS account's rules may use that. */
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
      'The policy of a queue that was made elsewhere cannot be changed from here: let events.amazonaws.com send to it, with the rule as aws:SourceArn, or every event becomes a dead letter.',
    );
  }
  queue.encryptionMasterKey?.addToResourcePolicy(
    new PolicyStatement({
      principals: [eventBridge],
      actions: ['kms:Decrypt', 'kms:GenerateDataKey*'],
      resources: ['*'], // In the policy of a key: this key.
      // Naming the rule here would be a circle: rule, queue, key.
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
  // EventBridge has done its part once Lambda has accepted an event: what the function then fails at would be gone.
  if (target.node.tryFindChild('EventInvokeConfig')) return;
  if (target.role) target.configureAsyncInvoke({ onFailure: new SqsDestination(deadLetters) });
  else {
    Annotations.of(scope).addWarningV2(
      'advert-bridge:function-failures',
      'The role of a function that was made elsewhere is not known here: give the function a destination for failures yourself, or an event that it fails at is lost after two retries.',
    );
  }
}
