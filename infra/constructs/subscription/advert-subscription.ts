import { Duration, Names, Stack, Validations } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { CfnRule, EventBus } from 'aws-cdk-lib/aws-events';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { BridgeBus } from './bridge-bus.ts';
import { connectConsumer } from './subscription-consumer.ts';
import { patternsOf, type SubscriptionPattern } from './subscription-pattern.ts';
import {
  type AdvertSubscriptionProps,
  checkedBus,
  isBus,
  type SubscriptionTarget,
} from './subscription-props.ts';
import { allowSending, ruleTargetOf, senderRole } from './subscription-target.ts';

/**
 * The maximum retention of SQS. The queue itself keeps messages for a shorter time, because a dead letter keeps the age
 * of its message: so at least a week remains for it.
 */
const longestRetention = Duration.days(14);
const queueRetention = Duration.days(7);
/**
 * Multiple of the function's timeout that AWS recommends.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
 */
const visibilityFactor = 6;
/** For a function with a timeout of 30 seconds. */
const usualVisibility = Duration.seconds(visibilityFactor * 30);
/**
 * Many receives fail because of throttling, or because another worker is applying events of the advert, and only a few
 * because of the event itself.
 */
const usualReceiveCount = 10;
/** The maximum of EventBridge: a target that is down for less than a day loses nothing. */
const retryPolicy = { maximumEventAgeInSeconds: Duration.hours(24).toSeconds(), maximumRetryAttempts: 185 };
const longestRuleName = 64;

/**
 * A team's subscription to the bridge's events, in the team's own stack: a rule, a queue, a dead-letter queue,
 * policies, a retry policy, and an alarm for dead letters.
 *
 *     new AdvertSubscription(this, 'Search', { bus: EventBus.fromEventBusName(this, 'Adverts', 'adverts'), consumer })
 *
 * With a `consumer`, the subscription also creates the function's event source mapping, its table of positions and its
 * grants.
 *
 * If the bus belongs to another AWS account, EventBridge requires that the target of a rule on it is a bus. The
 * subscription then creates a relay bus in this account, and puts the rules for the target on the relay bus.
 *
 * @throws {SubscriptionError} with all faults, for a subscription that could never match or work
 * @see docs/subscribe/cdk.md
 */
export class AdvertSubscription extends Construct {
  /** The rules that send to the target: one, unless the filters of the detail types differ. */
  readonly rules: readonly CfnRule[];
  /** Events that could not be delivered, and messages that were given up. The body is the event. */
  readonly deadLetters: Queue;
  /** In alarm while there are dead letters. Add receivers with `addAlarmAction`. */
  readonly alarm: Alarm;
  /** The table of the consumer's positions, if there is one. */
  readonly positions: ITable | undefined;
  readonly #queue: Queue | undefined;

  constructor(scope: Construct, id: string, props: AdvertSubscriptionProps) {
    super(scope, id);
    const bus = checkedBus(this, props);
    const patterns = patternsOf(props);
    const safe = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };
    this.deadLetters = new Queue(this, 'DeadLetters', { ...safe, retentionPeriod: longestRetention });
    if (props.target === undefined) {
      this.#queue = new Queue(this, 'Queue', {
        ...safe,
        retentionPeriod: queueRetention,
        visibilityTimeout: visibilityOf(props),
        deadLetterQueue: {
          queue: this.deadLetters,
          maxReceiveCount: props.maxReceiveCount ?? usualReceiveCount,
        },
      });
    } else {
      Validations.of(this.deadLetters).acknowledge({
        id: 'AwsSolutions-SQS3',
        reason: 'It is a dead-letter queue itself, of a rule.',
      });
    }
    const target = props.target ?? this.queue;
    if (isForeign(bus) && !isBus(target)) {
      const relay = new EventBus(this, 'Relay', {
        description: "The advert bridge's events, from another AWS account",
      });
      this.#forwardingRules(bus, patterns, relay.eventBusArn);
      this.rules = this.#rules(relay.eventBusName, patterns, target);
    } else if (isForeign(bus) && isBus(target)) {
      this.rules = this.#forwardingRules(bus, patterns, target.eventBusArn);
    } else this.rules = this.#rules(bus.reference, patterns, target);
    if (props.consumer) {
      this.positions = connectConsumer(this, props.consumer, this.queue, this.deadLetters, props.positions);
    }
    this.alarm = new Alarm(this, 'DeadLettersAlarm', {
      alarmDescription: `Severity: medium. Events of the advert bridge did not reach ${this.node.path}, or were given up there.`,
      metric: this.deadLetters.metricApproximateNumberOfMessagesVisible({
        period: Duration.minutes(5),
        statistic: Stats.MAXIMUM,
      }),
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      threshold: 0,
      evaluationPeriods: 1,
      treatMissingData: TreatMissingData.IGNORE,
    });
  }

  /**
   * The queue that the subscription created.
   *
   * @throws {Error} if the subscription was given a target
   */
  get queue(): Queue {
    if (!this.#queue) throw new Error(`${this.node.path} was given a target, so it has no queue of its own`);
    return this.#queue;
  }

  #rules(eventBusName: string, patterns: readonly SubscriptionPattern[], to: SubscriptionTarget): CfnRule[] {
    const { arn, roleArn, allow } = ruleTargetOf(this, eventBusName, to, this.deadLetters);
    const rules = patterns.map(
      (eventPattern, index) =>
        new CfnRule(this, numbered('Rule', index), {
          description: 'Events of the advert bridge for this stack',
          eventBusName,
          eventPattern,
          targets: [this.#delivery(arn, roleArn)],
        }),
    );
    allow(rules);
    allowSending(
      this.deadLetters,
      rules.map(({ attrArn }) => attrArn),
    );
    return rules;
  }

  /**
   * Creates rules on the bus of another AWS account. Rule names must be unique on that bus, and several accounts may
   * have a stack with the same name, so the account is part of the rule's name. The ARN is spelled out because the rule
   * is in another account than this stack.
   *
   * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-service-cross-account.html
   */
  #forwardingRules(
    { reference, elsewhere }: ForeignBus,
    patterns: readonly SubscriptionPattern[],
    toBusArn: string,
  ): CfnRule[] {
    const { partition, region, account, name: busName } = elsewhere;
    const suffix = `-${Stack.of(this).account}`;
    // One character is left for the number.
    const maxLength = longestRuleName - suffix.length - 1;
    const name = Names.uniqueResourceName(this, { maxLength });
    const names = patterns.map((_, index) => `${numbered(name, index)}${suffix}`);
    const arns = names.map((rule) => `arn:${partition}:events:${region}:${account}:rule/${busName}/${rule}`);
    const { roleArn } = senderRole(this, 'Forwarder', {
      ...{ action: 'events:PutEvents', arn: toBusArn },
      ...{ account, rules: arns },
    });
    const rules = patterns.map(
      (eventPattern, index) =>
        new CfnRule(this, numbered('Forward', index), {
          name: names[index],
          description: `Events of the advert bridge for AWS account ${Stack.of(this).account}`,
          eventBusName: reference,
          eventPattern,
          targets: [this.#delivery(toBusArn, roleArn)],
        }),
    );
    allowSending(this.deadLetters, arns);
    return rules;
  }

  #delivery(arn: string, roleArn: string | undefined): CfnRule.TargetProperty {
    const deadLetterConfig = { arn: this.deadLetters.queueArn };
    return { id: 'Target', arn, ...(roleArn && { roleArn }), retryPolicy, deadLetterConfig };
  }
}

/**
 * An unset timeout means Lambda's default of 3 seconds, but the function may be changed later; 3 minutes suffice for
 * both.
 */
const visibilityOf = ({ consumer, visibilityTimeout }: AdvertSubscriptionProps): Duration =>
  visibilityTimeout ??
  (consumer?.timeout && Duration.seconds(visibilityFactor * consumer.timeout.toSeconds())) ??
  usualVisibility;

type ForeignBus = BridgeBus & Required<Pick<BridgeBus, 'elsewhere'>>;
const isForeign = (bus: BridgeBus): bus is ForeignBus => bus.elsewhere !== undefined;

/** The first rule has no number, so that its name stays the same when others are added or removed. */
const numbered = (id: string, index: number): string => (index === 0 ? id : `${id}${index + 1}`);
