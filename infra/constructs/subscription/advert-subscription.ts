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

/** What SQS keeps at most. The queue keeps less, as a dead letter is as old as its message: it has a week left then. */
const longestRetention = Duration.days(14);
const queueRetention = Duration.days(7);
/** Times the function's timeout, by AWS's advice: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html */
const visibilityFactor = 6;
/** For a function that may run for half a minute. */
const usualVisibility = Duration.seconds(visibilityFactor * 30);
/** Some deliveries are lost to throttling, or to another worker that has the advert: few are faults of the event. */
const usualReceiveCount = 10;
/** The most that EventBridge does: a target that is down for less loses nothing. */
const retryPolicy = { maximumEventAgeInSeconds: Duration.hours(24).toSeconds(), maximumRetryAttempts: 185 };
const longestRuleName = 64;

/**
 * A team's subscription to the bridge's events, in the team's own stack: rule, queue, dead-letter queue, policies, retry
 * policy, and an alarm on dead letters.
 *
 *     new AdvertSubscription(this, 'Search', { bus: EventBus.fromEventBusName(this, 'Adverts', 'adverts'), consumer })
 *
 * With a `consumer` it is a whole subscriber: the function's event source mapping, its table of positions, its grants.
 *
 * Where the bus is another AWS account's, EventBridge wants the target of a rule on it to be a bus: then the events come
 * by a relay bus, made here too, and the rules for the target are on that.
 *
 * @throws {SubscriptionError} with every fault, for what could never match or work
 * @see docs/subscribe/cdk.md
 */
export class AdvertSubscription extends Construct {
  /** The rules that the target hangs on: one, unless the detail types are filtered differently. */
  readonly rules: readonly CfnRule[];
  /** What could not be delivered, and what was given up: the body is the event. */
  readonly deadLetters: Queue;
  /** In alarm while there is a dead letter; `addAlarmAction` says who is told. */
  readonly alarm: Alarm;
  /** The table of the consumer's positions, where there is one. */
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
   * The queue of its own.
   *
   * @throws {Error} where the subscription was given another target
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
   * Rules on the bus of another AWS account. Several accounts may have a stack of the same name, and rule names are shared:
   * so the account is part of the name. The ARN is written out because the rule is in another account than this stack.
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

/** An unset timeout is Lambda's default of 3 seconds, but the function may be changed later: 3 minutes do for both. */
const visibilityOf = ({ consumer, visibilityTimeout }: AdvertSubscriptionProps): Duration =>
  visibilityTimeout ??
  (consumer?.timeout && Duration.seconds(visibilityFactor * consumer.timeout.toSeconds())) ??
  usualVisibility;

type ForeignBus = BridgeBus & Required<Pick<BridgeBus, 'elsewhere'>>;
const isForeign = (bus: BridgeBus): bus is ForeignBus => bus.elsewhere !== undefined;

/** The first has no number, so that the rule stays the same one when others come and go. */
const numbered = (id: string, index: number): string => (index === 0 ? id : `${id}${index + 1}`);
