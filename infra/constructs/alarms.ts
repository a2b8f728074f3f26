import { Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  Metric,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Construct } from 'constructs';
import { defaultFeeds, feeds } from '../../shared/contract/feeds.ts';
import {
  alarms,
  eventSource,
  type MetricName,
  maxLagSeconds,
  metrics,
  metricsNamespace,
} from '../../shared/contract/names.ts';
import type { StackSettings } from '../../shared/contract/settings.ts';
import { AlarmTopic } from './alarm-topic.ts';
import type { ChangedAdverts } from './changed-adverts.ts';

export interface AlarmsProps {
  readonly settings: Pick<StackSettings, 'alarmEmail' | 'feeds'>;
  readonly changedAdverts: ChangedAdverts;
}

interface Watch {
  /** The alarm's heading in the runbook. */
  readonly heading: (typeof alarms)[keyof typeof alarms];
  /** Where several alarms share a heading. */
  readonly about?: string;
  /** `high` (default): events are late or missing now. `medium`: within the day. */
  readonly severity?: 'high' | 'medium';
  /** For who is woken by it: what is the matter, and what that does to subscribers. */
  readonly says: string;
  readonly metric: IMetric;
  /** The alarm goes off above this. Default 0. */
  readonly above?: number;
  /** What no data means. Default: nothing is wrong, for most metrics are written only when not zero. */
  readonly missing?: TreatMissingData;
}

const period = Duration.minutes(5);
/** Twice as long as a block of the address is respected, and as long as any pause that the service asks for (defaults). */
const longestWait = Duration.hours(1);

/** Who has to look at what: each alarm has a heading of its own in docs/operate/runbook.md. */
export class Alarms extends Construct {
  constructor(scope: Construct, id: string, { settings, changedAdverts }: AlarmsProps) {
    super(scope, id);
    const all = watchesOf(changedAdverts, settings).map((watch) => this.#alarm(watch));
    if (settings.alarmEmail === undefined) return;
    const action = new SnsAction(new AlarmTopic(this, 'Mail', { email: settings.alarmEmail }).topic);
    for (const alarm of all) {
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
    }
  }

  #alarm({ heading, about, severity = 'high', says, metric, above = 0, missing }: Watch): Alarm {
    const name = [heading, about].filter(Boolean).join('-');
    return new Alarm(this, name, {
      alarmName: `${Stack.of(this).stackName}-${name}`,
      alarmDescription: `Severity: ${severity}. ${says} Runbook: docs/operate/runbook.md#${heading.toLowerCase()}`,
      metric,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      threshold: above,
      evaluationPeriods: 1,
      treatMissingData: missing ?? TreatMissingData.NOT_BREACHING,
    });
  }
}

function watchesOf(
  { queue, deadLetters }: ChangedAdverts,
  { feeds: given }: AlarmsProps['settings'],
): Watch[] {
  const names = given ?? defaultFeeds;
  const { MAXIMUM, SUM } = Stats;
  const longestLag = Duration.seconds(maxLagSeconds);
  return [
    {
      heading: alarms.deadLetters,
      severity: 'medium',
      says: 'The bridge gave up on changed adverts. Subscribers do not hear of these changes until somebody redrives them.',
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ period, statistic: MAXIMUM }),
      missing: TreatMissingData.IGNORE,
    },
    {
      heading: alarms.noSuccessfulDrain,
      says: `A feed has not been read to its end for ${longestLag.toHumanString()}, or the drain function does not run. Events are late.`,
      metric: bridgeMetric(metrics.feedLagSeconds, MAXIMUM),
      above: longestLag.toSeconds(),
      missing: TreatMissingData.BREACHING,
    },
    ...names
      .filter((name) => feeds[name].isOptional)
      .map((name) => ({
        heading: alarms.noSuccessfulDrain,
        about: name,
        says: `A feed of ${name} has not been read to its end for ${longestLag.toHumanString()}. Its events are late; adverts have an alarm of their own.`,
        metric: bridgeMetric(metrics.feedLagSeconds, MAXIMUM, { feed: name }),
        above: longestLag.toSeconds(),
      })),
    {
      heading: alarms.partnerAccountStopped,
      says: 'A partner account is stopped: nothing of it is published until somebody connects it again.',
      metric: bridgeMetric(metrics.stoppedPartnerAccounts, MAXIMUM),
    },
    {
      heading: alarms.needsAttention,
      says: "The bridge met a fault that it cannot mend by itself. The functions' logs say which.",
      metric: bridgeMetric(metrics.needsAttention, SUM),
    },
    {
      heading: alarms.needsAttention,
      about: 'CircuitOpened',
      says: 'The partner service blocks the bridge. The bridge sends nothing for a while, then tries one request. Events are late.',
      metric: bridgeMetric(metrics.circuitOpened, SUM),
    },
    {
      heading: alarms.pauseCapped,
      says: 'The partner service asked for a pause longer than maxPauseSeconds. The bridge will ask again before that pause ends.',
      metric: bridgeMetric(metrics.pauseCapped, SUM),
    },
    {
      heading: alarms.needsAttention,
      about: 'Backlog',
      says: `A changed advert has waited in the queue for ${longestWait.toHumanString()} or longer: fan-out does not keep up. Events are late.`,
      metric: queue.metricApproximateAgeOfOldestMessage({ period, statistic: MAXIMUM }),
      above: longestWait.toSeconds(),
    },
  ];
}

/** As shared/runtime/observer.ts writes it: the `service` is the same for all functions. */
const bridgeMetric = (
  metricName: MetricName,
  statistic: string,
  dimensions: { feed?: string } = {},
): Metric =>
  new Metric({
    namespace: metricsNamespace,
    metricName,
    dimensionsMap: { service: eventSource, ...dimensions },
    statistic,
    period,
  });
