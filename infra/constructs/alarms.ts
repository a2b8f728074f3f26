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
import {
  alarms,
  eventSource,
  type MetricName,
  metrics,
  metricsNamespace,
} from '../../shared/contract/names.ts';
import type { StackSettings } from '../../shared/contract/settings.ts';
import { AlarmTopic } from './alarm-topic.ts';
import type { ChangedAdverts } from './changed-adverts.ts';

export interface AlarmsProps {
  readonly settings: Pick<StackSettings, 'alarmEmail' | 'pollSeconds'>;
  readonly changedAdverts: ChangedAdverts;
}

interface Watch {
  readonly heading: (typeof alarms)[keyof typeof alarms];
  /** Where several alarms share a heading of the runbook. */
  readonly about?: string;
  /** `high`: events are late or missing now. `medium`: within the day. */
  readonly severity: 'high' | 'medium';
  readonly says: string;
  readonly metric: IMetric;
  readonly above: number;
  readonly missing: TreatMissingData;
}

const period = Duration.minutes(5);
const pollsMissed = 5;
/** Twice as long as a block of the address is respected, and as long as any pause that the service asks for (defaults). */
const longestWait = Duration.hours(1);

/** Who has to look at what: each alarm has a heading of its own in docs/operate/runbook.md. */
export class Alarms extends Construct {
  constructor(scope: Construct, id: string, { settings, changedAdverts }: AlarmsProps) {
    super(scope, id);
    const { queue, deadLetters } = changedAdverts;
    const longestLag = Duration.seconds(Math.max(period.toSeconds(), pollsMissed * settings.pollSeconds));
    const { IGNORE, BREACHING, NOT_BREACHING } = TreatMissingData;
    const watches: Watch[] = [
      {
        heading: alarms.deadLetters,
        severity: 'medium',
        says: 'Messages were given up: their adverts have no event until they are redriven.',
        metric: deadLetters.metricApproximateNumberOfMessagesVisible({ period, statistic: Stats.MAXIMUM }),
        above: 0,
        missing: IGNORE,
      },
      {
        heading: alarms.noSuccessfulDrain,
        severity: 'high',
        says: `A feed was not read to its end for ${longestLag.toHumanString()}, or the drain does not run.`,
        metric: bridgeMetric(metrics.feedLagSeconds, Stats.MAXIMUM),
        above: longestLag.toSeconds(),
        missing: BREACHING,
      },
      {
        heading: alarms.partnerAccountStopped,
        severity: 'high',
        says: 'A partner account waits for a person to connect it again.',
        metric: bridgeMetric(metrics.stoppedPartnerAccounts, Stats.MAXIMUM),
        above: 0,
        // Written while there are any; that the drain does not run is told by the alarm before this.
        missing: NOT_BREACHING,
      },
      {
        heading: alarms.needsAttention,
        severity: 'high',
        says: 'A fault that only a person can mend: the log says which.',
        metric: bridgeMetric(metrics.needsAttention, Stats.SUM),
        above: 0,
        missing: NOT_BREACHING,
      },
      {
        heading: alarms.needsAttention,
        about: 'CircuitOpened',
        severity: 'high',
        says: 'The partner service blocks this address: nothing is sent for a while.',
        metric: bridgeMetric(metrics.circuitOpened, Stats.SUM),
        above: 0,
        missing: NOT_BREACHING,
      },
      {
        heading: alarms.pauseCapped,
        severity: 'high',
        says: 'The partner service asked for a longer pause than maxPauseSeconds: the bridge asks again earlier.',
        metric: bridgeMetric(metrics.pauseCapped, Stats.SUM),
        above: 0,
        missing: NOT_BREACHING,
      },
      {
        heading: alarms.needsAttention,
        about: 'Backlog',
        severity: 'high',
        says: `A changed advert waits for ${longestWait.toHumanString()} or longer: the fan-out does not keep up.`,
        metric: queue.metricApproximateAgeOfOldestMessage({ period, statistic: Stats.MAXIMUM }),
        above: longestWait.toSeconds(),
        missing: NOT_BREACHING,
      },
    ];
    const all = watches.map((watch) => this.#alarm(watch));
    if (settings.alarmEmail === undefined) return;
    const action = new SnsAction(new AlarmTopic(this, 'Mail', { email: settings.alarmEmail }).topic);
    for (const alarm of all) {
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
    }
  }

  #alarm({ heading, about, severity, says, metric, above, missing }: Watch): Alarm {
    const name = [heading, about].filter(Boolean).join('-');
    return new Alarm(this, name, {
      alarmName: `${Stack.of(this).stackName}-${name}`,
      alarmDescription: `Severity: ${severity}. ${says} Runbook: docs/operate/runbook.md#${heading.toLowerCase()}`,
      metric,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      threshold: above,
      evaluationPeriods: 1,
      treatMissingData: missing,
    });
  }
}

/** As shared/runtime/observer.ts writes it: the `service` is the same for all functions. */
const bridgeMetric = (metricName: MetricName, statistic: string): Metric =>
  new Metric({
    namespace: metricsNamespace,
    metricName,
    dimensionsMap: { service: eventSource },
    statistic,
    period,
  });
