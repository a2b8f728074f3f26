import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { CfnRule, type IEventBus } from 'aws-cdk-lib/aws-events';
import { DeduplicationScope, FifoThroughputLimit, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { hasAwsKey } from '../props/resources.ts';
import { customSubscriber } from './custom-subscriber.ts';
import { acknowledge, connectConsumer } from './subscription-consumer.ts';
import { patternsOf } from './subscription-pattern.ts';
import { type AdvertSubscriptionProps, arnOf, checkProps, isQueue } from './subscription-props.ts';
import { allowAccount, allowCalling, allowSending, senderRoleOf, warnOfKeys } from './subscription-target.ts';

/** The maximum of SQS. A dead letter keeps the age of its message: so at least a week remains for it. */
const longestRetention = Duration.days(14);
const queueRetention = Duration.days(7);
/**
 * Multiple of the function's timeout that AWS recommends.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
 */
const visibilityFactor = 6;
/** For a function with a timeout of 30 seconds; an unset one means Lambda's default of 3 seconds. */
const usualVisibility = Duration.seconds(visibilityFactor * 30);
/**
 * Many receives fail because of throttling, or because another worker is applying events of the advert, and only a few
 * because of the event itself.
 */
const usualReceiveCount = 10;
/** The maximum of EventBridge: a target that is down for less than a day loses nothing. */
const retryPolicy = { maximumEventAgeInSeconds: Duration.hours(24).toSeconds(), maximumRetryAttempts: 185 };

/**
 * A team's subscription to the bridge's events, in the team's own stack: a rule, a queue, a dead-letter queue,
 * policies, a retry policy, and an alarm for dead letters.
 *
 *     new AdvertSubscription(this, 'Search', { bus: EventBus.fromEventBusName(this, 'Adverts', 'adverts'), consumer })
 *
 * With a `consumer`, the subscription also creates the function's event source mapping, its table of positions and its
 * grants.
 *
 * With `customBusArn`, a subscriber on the Custom Event Bus brings the events, in order, to a FIFO queue.
 *
 * For a classic bus of another AWS account, the rule has to be in the bridge's account: `bridgeAccount` allows a subscription
 * there, whose `target` is the queue of this one, to send to this queue.
 *
 * @throws {SubscriptionError} with all faults, for a subscription that could never match or work
 * @see docs/subscribe/cdk.md
 */
export class AdvertSubscription extends Construct {
  /**
   * The rules that send to the target: one, unless the filters of the detail types differ; none with `bridgeAccount` or
   * `customBusArn`.
   */
  readonly rules: readonly CfnRule[];
  /** Events that could not be delivered, and messages that were given up. The body is the event. */
  readonly deadLetters: Queue;
  /**
   * With `customBusArn` and without a `target`: records of events that could not be delivered, which name the event but do
   * not contain it. Begin again `from` a time before.
   */
  readonly undelivered: Queue | undefined;
  /** In alarm while there are dead letters. Add receivers with `addAlarmAction`. */
  readonly alarm: Alarm;
  /** That alarm, and with `undelivered` one for its records. */
  readonly alarms: readonly Alarm[];
  /** The table of the consumer's positions, if there is one. */
  readonly positions: ITable | undefined;
  readonly #queue: Queue | undefined;

  constructor(scope: Construct, id: string, props: AdvertSubscriptionProps) {
    super(scope, id);
    checkProps(this, props);
    const safe = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };
    const isOrdered = props.customBusArn !== undefined && props.target === undefined;
    const ordered = isOrdered && { fifo: true };
    this.deadLetters = new Queue(this, 'DeadLetters', {
      ...safe,
      ...ordered,
      retentionPeriod: longestRetention,
    });
    this.undelivered = isOrdered
      ? new Queue(this, 'Undelivered', { ...safe, retentionPeriod: longestRetention })
      : undefined;
    if (this.undelivered)
      acknowledge(
        this.undelivered,
        'AwsSolutions-SQS3',
        'It is a dead-letter queue itself, of a subscriber.',
      );
    if (props.target === undefined) {
      this.#queue = new Queue(this, 'Queue', {
        ...safe,
        ...ordered,
        ...(isOrdered && {
          deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
          fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
        }),
        retentionPeriod: queueRetention,
        visibilityTimeout: visibilityOf(props),
        deadLetterQueue: {
          queue: this.deadLetters,
          maxReceiveCount: props.maxReceiveCount ?? usualReceiveCount,
        },
      });
    } else {
      acknowledge(this.deadLetters, 'AwsSolutions-SQS3', 'It is a dead-letter queue itself, of a rule.');
    }
    this.node.addValidation({ validate: () => this.#lockedQueues(props) });
    warnOfKeys(this);
    this.rules = props.bus ? this.#rules(props, props.bus) : [];
    if (props.customBusArn !== undefined) this.#subscriber(props.customBusArn, props);
    else if (!props.bus) allowAccount(this.queue, props.bridgeAccount, props.senderPath);
    if (props.consumer) {
      this.positions = connectConsumer(this, props.consumer, this.queue, this.deadLetters, props.positions);
    }
    this.alarm = this.#alarmOf('DeadLettersAlarm', this.deadLetters);
    this.alarms = [
      this.alarm,
      // Not one alarm on both: SQS tells nothing of a queue that was empty for six hours, and a sum would be missing, too.
      ...(this.undelivered ? [this.#alarmOf('UndeliveredAlarm', this.undelivered)] : []),
    ];
  }

  #alarmOf(id: string, queue: Queue): Alarm {
    return new Alarm(this, id, {
      alarmDescription: `Severity: attention. Events of the advert bridge did not reach ${this.node.path}, or were given up there.`,
      metric: queue.metricApproximateNumberOfMessagesVisible({
        period: Duration.minutes(5),
        statistic: 'Maximum',
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

  #subscriber(customBusArn: string, props: AdvertSubscriptionProps & { readonly from?: string }): void {
    const target = props.target ?? this.queue;
    if (!isQueue(target)) return;
    const { undelivered = this.deadLetters } = this;
    const { from = 'now' } = props;
    customSubscriber(this, { customBusArn, from, filter: props, target, undelivered, retryPolicy });
  }

  #lockedQueues({ customBusArn, target = this.queue }: AdvertSubscriptionProps): string[] {
    // A role sends there, which may use that key.
    if (customBusArn !== undefined) return [];

    const says =
      'an Aspect encrypts this queue with alias/aws/sqs, which EventBridge cannot use: every event would be lost. Exempt';
    return [this.deadLetters, target].filter(hasAwsKey).map(({ node }) => `${says} it: ${node.path}`);
  }

  #rules(props: AdvertSubscriptionProps, { eventBusName }: IEventBus): CfnRule[] {
    const { deadLetters } = this;
    const target = props.target ?? this.queue;
    const role = senderRoleOf(this, eventBusName, target, props.senderPath);
    const delivery: CfnRule.TargetProperty = {
      id: 'Target',
      arn: arnOf(target),
      ...(role && { roleArn: role.roleArn }),
      retryPolicy,
      deadLetterConfig: { arn: deadLetters.queueArn },
    };
    const rules = patternsOf(props).map(
      (eventPattern, index) =>
        new CfnRule(this, numbered('Rule', index), {
          description: 'Events of the advert bridge for this stack',
          eventBusName,
          eventPattern,
          targets: [delivery],
        }),
    );
    if (isQueue(target)) {
      if (!role) allowSending(target, rules);
    } else if (!role) allowCalling(this, target, rules, deadLetters);
    allowSending(deadLetters, rules);
    return rules;
  }
}

const visibilityOf = ({ consumer, visibilityTimeout }: AdvertSubscriptionProps): Duration =>
  visibilityTimeout ??
  (consumer?.timeout && Duration.seconds(visibilityFactor * consumer.timeout.toSeconds())) ??
  usualVisibility;

/** The first rule has no number, so that its name stays the same when others are added or removed. */
const numbered = (id: string, index: number): string => (index === 0 ? id : `${id}${index + 1}`);
