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
  lateAfterSeconds,
  maxLagSeconds,
  metrics,
  metricsNamespace,
} from '../../../shared/contract/names.ts';
import type { AlarmName } from '../../../shared/findings/finding.ts';
import { filled } from '../../../shared/findings/sentences.ts';
import type { ChangedAdverts } from '../changed-adverts.ts';
import { problems } from '../package-files.ts';
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
  const { name: bridge, runbookUrl, alarmEmail: email, alarmTopic, backlogAlarmSeconds } = props.settings;
  const text = (seconds: number) => Duration.seconds(seconds).toHumanString();
  const facts = { lag: text(maxLagSeconds), late: text(lateAfterSeconds), wait: text(backlogAlarmSeconds) };
  const command = (words: string) => `advert-bridge ${words}`;
  const all = Object.entries(watchesOf(props)).map(([name, own]) => {
    const { severity, says, runbook } = problems.alarm[name as AlarmName];
    return new Alarm(scope, name, {
      alarmName: `${bridge}-${name}`,
      alarmDescription: `Severity: ${severity}. ${filled(says, facts, { command })} Runbook: ${runbookUrl}#${runbook}`,
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
}: AlarmsProps): Readonly<Partial<Record<AlarmName, Watch>>> {
  const { queue, deadLetters } = changedAdverts;
  const { MAXIMUM, SUM } = Stats;
  const own = metricsOf(settings);
  return {
    DeadLetters: { metric: own.deadLetters },
    'DeadLetters-Queue': {
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ period, statistic: MAXIMUM }),
      treatMissingData: TreatMissingData.IGNORE,
    },
    // Also while older dead letters keep the other alarm from going off again.
    'DeadLetters-New': { metric: own.deadLettered },
    NoSuccessfulDrain: {
      metric: own.feedLagSeconds,
      threshold: maxLagSeconds,
      treatMissingData: TreatMissingData.BREACHING,
    },
    PartnerAccountStopped: { metric: own.stoppedPartnerAccounts },
    LateEvents: { ...repeated, metric: own.lateEvents },
    NeedsAttention: { metric: own.needsAttention },
    'NeedsAttention-Backlog': {
      metric: queue.metricApproximateAgeOfOldestMessage({ period, statistic: MAXIMUM }),
      threshold: settings.backlogAlarmSeconds,
    },
    ...(settings.auditSample > 0 && {
      AuditDifferences: { metric: own.auditDifferences },
    }),
    'FunctionErrors-FanOut': { ...repeated, metric: fanOut.metricErrors({ period, statistic: SUM }) },
    'FunctionErrors-Throttled': { ...repeated, metric: fanOut.metricThrottles({ period, statistic: SUM }) },
    'FunctionErrors-RefreshToken': {
      ...repeated,
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
