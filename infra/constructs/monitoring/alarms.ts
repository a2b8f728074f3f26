import { Duration } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { alarms, lateAfterSeconds, maxLagSeconds, metrics } from '../../../shared/contract/names.ts';
import type { BridgeFunction } from '../bridge-function.ts';
import type { ChangedAdverts } from '../changed-adverts.ts';
import type { BridgeConfig } from '../props/bridge-config.ts';
import { AlarmTopic } from './alarm-topic.ts';
import { bridgeMetric, period } from './metrics.ts';

export interface AlarmsProps {
  readonly settings: BridgeConfig;
  readonly changedAdverts: ChangedAdverts;
  readonly fanOut: BridgeFunction;
  readonly refreshToken: BridgeFunction;
}

interface Watch {
  /** The alarm's heading in the runbook. */
  readonly heading: (typeof alarms)[keyof typeof alarms];
  /** For several alarms with the same heading. */
  readonly about?: string;
  /** `high` (default): events are late or missing now. `medium`: within the day. */
  readonly severity?: 'high' | 'medium';
  /** For the person who is on call: what is wrong, and how it affects subscribers. */
  readonly says: string;
  readonly metric: IMetric;
  /** The alarm is raised above this value. Default 0. */
  readonly above?: number;
  /** How many of the last twelve periods (one hour) must be above the threshold. Default: only the last one counts. */
  readonly periodsInAnHour?: number;
  /** What missing data means. Default: nothing is wrong, because most metrics are emitted only when non-zero. */
  readonly missing?: TreatMissingData;
}

/** The alarms. Each one has a section in docs/operate/runbook.md. */
export class Alarms extends Construct {
  readonly all: readonly Alarm[];

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.all = watchesOf(props).map((watch) => this.#alarm(props.settings, watch));
    const { alarmEmail, alarmTopic } = props.settings;
    const topics: ITopic[] = [];
    if (alarmEmail !== undefined)
      topics.push(new AlarmTopic(this, 'Mail', { alarms: this.all, email: alarmEmail }).topic);
    if (alarmTopic !== undefined) topics.push(alarmTopic);
    const actions = topics.map((topic) => new SnsAction(topic));
    for (const alarm of this.all) {
      alarm.addAlarmAction(...actions);
      alarm.addOkAction(...actions);
    }
  }

  #alarm({ name: bridge, runbookUrl }: BridgeConfig, watch: Watch): Alarm {
    const { heading, about, severity = 'high', says, metric, above = 0, periodsInAnHour, missing } = watch;
    const name = [heading, about].filter(Boolean).join('-');
    return new Alarm(this, name, {
      alarmName: `${bridge}-${name}`,
      alarmDescription: `Severity: ${severity}. ${says} Runbook: ${runbookUrl}#${heading.toLowerCase()}`,
      metric,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      threshold: above,
      ...(periodsInAnHour === undefined
        ? { evaluationPeriods: 1 }
        : { evaluationPeriods: 12, datapointsToAlarm: periodsInAnHour }),
      treatMissingData: missing ?? TreatMissingData.NOT_BREACHING,
    });
  }
}

function watchesOf({ settings, changedAdverts, fanOut, refreshToken }: AlarmsProps): Watch[] {
  const { queue, deadLetters } = changedAdverts;
  const { MAXIMUM, SUM } = Stats;
  const longestLag = Duration.seconds(maxLagSeconds);
  const longestWait = Duration.seconds(settings.backlogAlarmSeconds);
  return [
    {
      heading: alarms.deadLetters,
      severity: 'medium',
      says: 'The bridge gave up on changed adverts. Subscribers do not hear of these changes until somebody redrives them.',
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ period, statistic: MAXIMUM }),
      missing: TreatMissingData.IGNORE,
    },
    {
      heading: alarms.deadLetters,
      // Also while older dead letters keep the other alarm from going off again.
      about: 'New',
      severity: 'medium',
      says: 'The bridge has just given up on changed adverts.',
      metric: bridgeMetric(settings, metrics.deadLettered, SUM),
    },
    {
      heading: alarms.noSuccessfulDrain,
      says: `A feed has not been read to its end for ${longestLag.toHumanString()}, the partner service asked for a long pause, or the drain function does not run. Events are late.`,
      metric: bridgeMetric(settings, metrics.feedLagSeconds, MAXIMUM),
      above: longestLag.toSeconds(),
      missing: TreatMissingData.BREACHING,
    },
    {
      heading: alarms.partnerAccountStopped,
      says: 'A partner account is stopped: nothing of it is published until somebody connects it again.',
      metric: bridgeMetric(settings, metrics.stoppedPartnerAccounts, MAXIMUM),
    },
    {
      heading: alarms.partnerAccountStopped,
      about: 'Further',
      says: 'Another partner account was stopped, while one was stopped already.',
      metric: bridgeMetric(settings, metrics.furtherStops, MAXIMUM),
    },
    {
      heading: alarms.lateEvents,
      severity: 'medium',
      periodsInAnHour: often,
      says: `Events were published more than ${Duration.seconds(lateAfterSeconds).toHumanString()} after the feed had listed their changes, again and again.`,
      metric: bridgeMetric(settings, metrics.lateEvents, SUM),
    },
    {
      heading: alarms.needsAttention,
      says: "The bridge met a fault that it cannot mend by itself. The functions' logs say which.",
      metric: bridgeMetric(settings, metrics.needsAttention, SUM),
    },
    {
      heading: alarms.needsAttention,
      about: 'CircuitOpened',
      says: 'The partner service blocks the bridge. The bridge sends nothing for a while, then tries one request. Events are late.',
      metric: bridgeMetric(settings, metrics.circuitOpened, SUM),
    },
    {
      heading: alarms.pauseCapped,
      says: 'The partner service asked for a pause longer than maxPauseSeconds. The bridge will ask again before that pause ends.',
      metric: bridgeMetric(settings, metrics.pauseCapped, SUM),
    },
    {
      heading: alarms.needsAttention,
      about: 'Backlog',
      says: `A changed advert has waited in the queue for ${longestWait.toHumanString()}: fan-out does not keep up, or its event source mapping is switched off. Events are late.`,
      metric: queue.metricApproximateAgeOfOldestMessage({ period, statistic: MAXIMUM }),
      above: longestWait.toSeconds(),
    },
    {
      ...failing,
      about: 'FanOut',
      says: 'Fan-out ends with an error again and again. Its messages come back; if this stays, events are late.',
      metric: fanOut.lambda.metricErrors({ period, statistic: SUM }),
    },
    {
      ...failing,
      about: 'Throttled',
      says: 'Lambda throttles fan-out: the AWS account has no concurrency left. If this stays, events are late.',
      metric: fanOut.lambda.metricThrottles({ period, statistic: SUM }),
    },
    {
      ...failing,
      about: 'RefreshToken',
      says: 'Refresh-token ends with an error again and again. If this stays, tokens run out, and feeds are not read.',
      metric: refreshToken.lambda.metricErrors({ period, statistic: SUM }),
    },
    ...(settings.auditSample > 0 ? [auditWatch(settings)] : []),
  ];
}

const auditWatch = (settings: AlarmsProps['settings']): Watch => ({
  heading: alarms.auditDifferences,
  says: 'An audit found adverts whose latest event did not say what the partner service says, and published their next event. Subscribers were told something that was not so.',
  metric: bridgeMetric(settings, metrics.auditDifferences, Stats.SUM),
});

/**
 * A single failure is a crash that the next run repairs; refresh-token runs four times an hour. Failures of
 * the drain appear in the lag.
 */
const often = 3;
const failing = { heading: alarms.functionErrors, severity: 'medium', periodsInAnHour: often } as const;
