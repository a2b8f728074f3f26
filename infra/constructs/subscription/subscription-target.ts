import { Annotations, Aspects, Stack } from 'aws-cdk-lib';
import type { CfnRule } from 'aws-cdk-lib/aws-events';
import {
  AccountPrincipal,
  PolicyStatement,
  Role,
  type RoleProps,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { CfnEventInvokeConfig, IFunction } from 'aws-cdk-lib/aws-lambda';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import { CfnQueue, type IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct, IConstruct } from 'constructs';
import { addMark, hasCustomerKey, otherAccount, rendered, rolePathOf } from '../props/resources.ts';
import { arnOf, isQueue, type SubscriptionTarget } from './subscription-props.ts';

const eventBridge = new ServicePrincipal('events.amazonaws.com');

const usualPath = '/advert-bridge/';

interface Sending extends Pick<RoleProps, 'path' | 'description'> {
  readonly actions: string[];
  readonly resources: string[];
  readonly key: IKey | undefined;
  /** Which rules or subscribers of this AWS account may use it. */
  readonly source: string;
}

/**
 * A role with which EventBridge sends.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/cross-service-confused-deputy-prevention.html
 */
export function sendingRole(scope: Construct, id: string, sending: Sending): Role {
  const { actions, resources, key, source, ...props } = sending;
  const { partition, region, account } = Stack.of(scope);
  const assumedBy = eventBridge.withConditions({
    StringEquals: { 'aws:SourceAccount': account },
    // A rule refers to its role, so a reference to the rule here would be circular.
    ArnLike: { 'aws:SourceArn': `arn:${partition}:events:${region}:${account}:${source}/*` },
  });
  const role = new Role(scope, id, { assumedBy, ...props });
  role.addToPolicy(new PolicyStatement({ sid: 'Send', actions, resources }));
  if (key) role.addToPolicy(new PolicyStatement({ sid: 'Key', actions: keyUse, resources: [key.keyArn] }));
  return role;
}

/**
 * The role for a target in another AWS account. Only rules on this bus may use it. An Aspect that changes its path would
 * lock it out of the other account's queue: then synth fails.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-service-cross-account.html
 */
export function senderRoleOf(
  scope: Construct,
  eventBusName: string,
  target: SubscriptionTarget,
  path = usualPath,
): Role | undefined {
  if (otherAccount(scope, target) === undefined) return undefined;
  const role = sendingRole(scope, 'Sender', {
    path,
    description: 'Hands events of the advert bridge to a subscriber in another AWS account',
    source: `rule/${eventBusName}`,
    actions: [isQueue(target) ? 'sqs:SendMessage' : 'lambda:InvokeFunction'],
    resources: [arnOf(target)],
    key: isQueue(target) ? target.encryptionMasterKey : undefined,
  });
  role.node.addValidation({
    validate: () => {
      const found = rolePathOf(role);
      if (found === path) return [];
      const says = `senderPath: the role that sends has the path ${found}, and the queue of the other AWS account accepts only ${path}`;
      // Not a remedy for the root: every role of this account would be accepted.
      const remedy = found === '/' ? `Give it that path` : `Give both halves senderPath: '${found}'`;
      return [`${says}. ${remedy}, or exempt ${role.node.path}`];
    },
  });
  return role;
}

/** Allows the roles of subscriptions in the bridge's AWS account to send to a queue of this account. */
export function allowAccount(queue: IQueue, account: string, path = usualPath): void {
  const { partition } = Stack.of(queue);
  queue.addToResourcePolicy(
    new PolicyStatement({
      principals: [new AccountPrincipal(account)],
      actions: ['sqs:SendMessage'],
      resources: [queue.queueArn],
      conditions: {
        ArnLike: { 'aws:PrincipalArn': `arn:${partition}:iam::${account}:role${path}*` },
      },
    }),
  );
}

export function allowSending(queue: IQueue, rules: readonly CfnRule[]): void {
  const { statementAdded } = queue.addToResourcePolicy(
    new PolicyStatement({
      principals: [eventBridge],
      actions: ['sqs:SendMessage'],
      resources: [queue.queueArn],
      conditions: { ArnEquals: { 'aws:SourceArn': rules.map(({ attrArn }) => attrArn) } },
    }),
  );
  if (!statementAdded) {
    Annotations.of(queue).addWarningV2(
      'advert-bridge:queue-policy',
      'This stack cannot change the policy of an imported queue: allow events.amazonaws.com to send to it, with the rule as aws:SourceArn; otherwise every event becomes a dead letter. For a queue of another AWS account, give the stack an env with its account: the rule then sends with a role.',
    );
  }
  const ofKey = queue.encryptionMasterKey?.addToResourcePolicy(
    new PolicyStatement({
      principals: [eventBridge],
      actions: keyUse,
      resources: ['*'], // In the policy of a key: this key.
      // A reference to the rule here would be circular: rule, queue, key.
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(queue).account } },
    }),
  );
  if (ofKey?.statementAdded === false) {
    Annotations.of(queue).addWarningV2(
      'advert-bridge:key-policy',
      `This stack cannot change the policy of the queue's key, which is imported: allow events.amazonaws.com ${keyUse.join(' and ')} in it; otherwise every event becomes a dead letter.`,
    );
  }
}

/** An Aspect may encrypt the queues of a subscription later than here. */
export function warnOfKeys(scope: Construct): void {
  const visit = (node: IConstruct) => {
    if (node instanceof CfnQueue && hasCustomerKey(node))
      Annotations.of(node).addWarningV2(
        'advert-bridge:key-policy',
        `An Aspect encrypts this queue with a key that EventBridge may not use: allow events.amazonaws.com ${keyUse.join(' and ')} in its policy, and the consumer's role kms:Decrypt; otherwise every event is lost.`,
      );
  };
  // As AspectPriority.READONLY, which older versions of the CDK do not have: after the Aspects of the app.
  Aspects.of(scope).add({ visit }, { priority: 1000 });
}

/** What it takes to send to an encrypted queue or topic. */
export const keyUse = ['kms:Decrypt', 'kms:GenerateDataKey*'];

/** Allows rules to invoke a function. What it fails to handle becomes a dead letter. */
export function allowCalling(
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
  const own = target.node.tryFindChild('EventInvokeConfig')?.node.defaultChild as
    | CfnEventInvokeConfig
    | undefined;
  if (own && rendered(own)?.Properties.DestinationConfig?.OnFailure) return;
  if (!target.role) {
    Annotations.of(scope).addWarningV2(
      'advert-bridge:function-failures',
      'The role of an imported function is not known here: add a destination for failures to the function yourself; otherwise an event that it fails to handle is lost after two retries.',
    );
    return;
  }
  addMark(target, 'advert-bridge:failures', scope);
  if (own) {
    // Settings without a destination for failures: they stay as they are, and get one.
    const { destination } = new SqsDestination(deadLetters).bind(scope, target);
    own.destinationConfig = { ...own.destinationConfig, onFailure: { destination } };
  } else target.configureAsyncInvoke({ onFailure: new SqsDestination(deadLetters) });
}
