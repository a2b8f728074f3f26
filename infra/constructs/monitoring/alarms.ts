import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  type AlarmProps,
  ComparisonOperator,
  type IMetric,
  Metric,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { type Conditions, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import {
  alarms,
  attentionAlarms,
  lateAfterSeconds,
  maxLagSeconds,
  metrics,
  metricsNamespace,
} from '../../../shared/contract/names.ts';
import type { ChangedAdverts } from '../changed-adverts.ts';
import type { BridgeConfig } from '../props/bridge-config.ts';
import { refusesAlarms } from '../props/resources.ts';
import { keyUse } from '../subscription/subscription-target.ts';

export interface AlarmsProps {
  readonly settings: BridgeConfig;
  readonly changedAdverts: ChangedAdverts;
  readonly fanOut: IFunction;
  readonly refreshToken: IFunction;
}

/** By default, an alarm is raised as soon as its metric is above 0. */
interface Watch extends Partial<AlarmProps> {
  /** For the person who is on call: what is wrong, and how it affects subscribers. */
  readonly says: string;
  readonly metric: IMetric;
}

export const period = Duration.minutes(5);

/** Written with each run of the drain, or a duration: their sum says nothing. */
const maxima = ['feedLagSeconds', 'stoppedPartnerAccounts', 'deadLetters', 'answerMs'];

/** As functions/runtime/observer.ts writes them: `service` is the same for all functions of a bridge. */
export function metricsOf({ namePrefix: service }: BridgeConfig) {
  const all = Object.entries(metrics).map(([key, metricName]) => {
    const statistic = maxima.includes(key) ? Stats.MAXIMUM : Stats.SUM;
    const shared = { namespace: metricsNamespace, period, dimensionsMap: { service } };
    return [key, new Metric({ ...shared, metricName, statistic })] as const;
  });
  return Object.fromEntries(all) as Readonly<Record<keyof typeof metrics, Metric>>;
}

export function alarmsOf(parent: Construct, id: string, props: AlarmsProps): Alarm[] {
  const scope = new Construct(parent, id);
  const { name: bridge, runbookUrl, alarmEmail: email, alarmTopic } = props.settings;
  const all = Object.entries(watchesOf(props)).map(([name, watch]) => {
    const { says, ...own } = watch;
    const severity = attentionAlarms.includes(name) ? 'attention' : 'fault';
    const heading = name.split('-')[0]?.toLowerCase();
    return new Alarm(scope, name, {
      alarmName: `${bridge}-${name}`,
      alarmDescription: `Severity: ${severity}. ${says} Runbook: ${runbookUrl}#${heading}`,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      threshold: 0,
      evaluationPeriods: 1,
      // Most metrics are emitted only when non-zero.
      treatMissingData: TreatMissingData.NOT_BREACHING,
      ...own,
    });
  });
  const mail = email === undefined ? [] : [mailTopic(scope, all, email)];
  if (alarmTopic) allowAlarms(scope, alarmTopic);
  const actions = [...mail, ...(alarmTopic ? [alarmTopic] : [])].map((topic) => new SnsAction(topic));
  for (const alarm of all) {
    alarm.addAlarmAction(...actions);
    alarm.addOkAction(...actions);
  }
  return all;
}

function watchesOf({
  settings,
  changedAdverts,
  fanOut,
  refreshToken,
}: AlarmsProps): Readonly<Record<string, Watch>> {
  const { queue, deadLetters } = changedAdverts;
  const { MAXIMUM, SUM } = Stats;
  const own = metricsOf(settings);
  const longestLag = Duration.seconds(maxLagSeconds);
  const longestWait = Duration.seconds(settings.backlogAlarmSeconds);
  return {
    [alarms.deadLetters]: {
      says: 'The bridge gave up on changed adverts. Subscribers do not hear of these changes until somebody redrives them.',
      metric: own.deadLetters,
    },
    [`${alarms.deadLetters}-Queue`]: {
      says: 'SQS itself moved messages to its dead-letter queue: fan-out failed on each of their 1,000 receives.',
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ period, statistic: MAXIMUM }),
      treatMissingData: TreatMissingData.IGNORE,
    },
    [`${alarms.deadLetters}-New`]: {
      // Also while older dead letters keep the other alarm from going off again.
      says: 'The bridge has just given up on changed adverts.',
      metric: own.deadLettered,
    },
    [alarms.noSuccessfulDrain]: {
      says: `A feed has not been read to its end for ${longestLag.toHumanString()}, the partner service asked for a long pause, or the drain function does not run. Events are late.`,
      metric: own.feedLagSeconds,
      threshold: longestLag.toSeconds(),
      treatMissingData: TreatMissingData.BREACHING,
    },
    [alarms.partnerAccountStopped]: {
      says: 'A partner account is stopped: nothing of it is published until somebody connects it again.',
      metric: own.stoppedPartnerAccounts,
    },
    [alarms.lateEvents]: {
      ...repeated,
      says: `Events were published more than ${Duration.seconds(lateAfterSeconds).toHumanString()} after the feed had listed their changes, again and again.`,
      metric: own.lateEvents,
    },
    [alarms.needsAttention]: {
      says: 'Something happened that the bridge cannot mend by itself, such as a wrong secret, another partner account that stopped, or a service that blocks the bridge. `advert-bridge status` says what.',
      metric: own.needsAttention,
    },
    [`${alarms.needsAttention}-Backlog`]: {
      says: `A changed advert has waited in the queue for ${longestWait.toHumanString()}: fan-out does not keep up, or its event source mapping is switched off. Events are late.`,
      metric: queue.metricApproximateAgeOfOldestMessage({ period, statistic: MAXIMUM }),
      threshold: longestWait.toSeconds(),
    },
    ...(settings.auditSample > 0 && {
      [alarms.auditDifferences]: {
        says: 'An audit found adverts whose latest event did not say what the partner service says, and published their next event. Subscribers were told something that was not so.',
        metric: own.auditDifferences,
      },
    }),
    [`${alarms.functionErrors}-FanOut`]: {
      ...repeated,
      says: 'Fan-out ends with an error again and again. Its messages come back; if this stays, events are late.',
      metric: fanOut.metricErrors({ period, statistic: SUM }),
    },
    [`${alarms.functionErrors}-Throttled`]: {
      ...repeated,
      says: 'Lambda throttles fan-out: the AWS account has no concurrency left. If this stays, events are late.',
      metric: fanOut.metricThrottles({ period, statistic: SUM }),
    },
    [`${alarms.functionErrors}-RefreshToken`]: {
      ...repeated,
      says: 'Refresh-token ends with an error again and again. If this stays, tokens run out, and feeds are not read.',
      metric: refreshToken.metricErrors({ period, statistic: SUM }),
    },
  };
}

/**
 * In three of the last twelve periods: a single failure is a crash that the next run repairs. Failures of the drain appear
 * in the lag.
 */
const repeated = { evaluationPeriods: 12, datapointsToAlarm: 3 } as const;

const cloudWatchOf = (scope: Construct, conditions: Conditions = {}) =>
  new ServicePrincipal('cloudwatch.amazonaws.com', {
    conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account }, ...conditions },
  });

/** CloudWatch drops what it may not publish, and only the alarm's history shows that. */
function allowAlarms(scope: Construct, topic: ITopic): void {
  const principals = [cloudWatchOf(scope)];
  topic.masterKey?.addToResourcePolicy(
    // In the policy of a key: this key.
    new PolicyStatement({ principals, actions: keyUse, resources: ['*'] }),
  );
  const says =
    "alarmTopic: the topic's policy does not let cloudwatch.amazonaws.com publish, so nobody would get the alarms. Allow it with topic.addToResourcePolicy(…)";
  scope.node.addValidation({ validate: () => (refusesAlarms(topic) ? [says] : []) });
}

/**
 * Sends alarms by email. CloudWatch may publish to an encrypted topic only if the key's policy allows it, and the
 * policy of AWS's own key for SNS cannot be changed. So the topic has its own key, for a dollar a month.
 *
 * @see https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#compatibility-with-aws-services
 */
function mailTopic(parent: Construct, alarms: readonly Alarm[], email: string): Topic {
  const scope = new Construct(parent, 'Mail');
  const key = new Key(scope, 'Key', {
    description: 'Alarms of the advert bridge on their way to a mailbox',
    enableKeyRotation: true,
    pendingWindow: Duration.days(7),
    removalPolicy: RemovalPolicy.DESTROY,
  });
  key.grant(cloudWatchOf(scope), ...keyUse);
  const topic = new Topic(scope, 'Topic', { masterKey: key, enforceSSL: true });
  // Full names instead of a prefix: a bridge `Shop-2` in the same AWS account also has alarms whose names begin with
  // `Shop-`. This policy replaces the default one, which lets the AWS account's alarms publish.
  const own = { ArnEquals: { 'aws:SourceArn': alarms.map(({ alarmArn }) => alarmArn) } };
  topic.addToResourcePolicy(
    new PolicyStatement({
      principals: [cloudWatchOf(scope, own)],
      actions: ['sns:Publish'],
      resources: [topic.topicArn],
    }),
  );
  topic.addSubscription(new EmailSubscription(email));
  return topic;
}
