import { Duration, Fn } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  MathExpression,
  SingleValueWidget,
  Stats,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { FunctionName } from '../../../shared/contract/environment.ts';
import { maxLagSeconds } from '../../../shared/contract/names.ts';
import type { ChangedAdverts } from '../changed-adverts.ts';
import { stageOf } from '../package-files.ts';
import type { BridgeConfig } from '../props/bridge-config.ts';
import { metricsOf, period } from './alarms.ts';

export interface DashboardProps {
  readonly settings: BridgeConfig;
  readonly alarms: readonly Alarm[];
  readonly changedAdverts: ChangedAdverts;
  readonly functions: Readonly<Record<FunctionName, IFunction>>;
  readonly customBusArn: string | undefined;
}

const { MAXIMUM, SUM } = Stats;
const third = 8;

export function dashboard(
  parent: Construct,
  id: string,
  { settings, alarms, changedAdverts, functions, customBusArn }: DashboardProps,
): void {
  const { queue } = changedAdverts;
  const own = metricsOf(settings);
  const of = (...names: readonly (keyof typeof own)[]): IMetric[] => names.map((name) => own[name]);
  const greatest = (label: string) => ({ period, statistic: MAXIMUM, label });
  const ofFunctions = (metric: 'metricErrors' | 'metricThrottles', what = ''): IMetric[] =>
    Object.entries(functions).map(([name, lambda]) =>
      lambda[metric]({ period, statistic: SUM, label: `${stageOf(name)}${what}` }),
    );
  const durations = Object.entries(functions).map(([name, lambda]) =>
    lambda.metricDuration(greatest(stageOf(name))),
  );
  new Dashboard(new Construct(parent, id), 'Dashboard', {
    dashboardName: settings.name,
    defaultInterval: Duration.hours(12),
    widgets: [
      [new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: 3 * third, height: 4 })],
      [
        graph('How far behind the feeds are, s', of('feedLagSeconds'), maxLagSeconds),
        graph('Changes', of('listed', 'events', 'unchanged', 'coalesced', 'unavailable')),
        freshness(own),
      ],
      [
        graph('In the queue', [
          queue.metricApproximateNumberOfMessagesVisible(greatest('waiting')),
          queue.metricApproximateNumberOfMessagesNotVisible(greatest('in hand')),
        ]),
        graph('Age of the oldest message, s', [
          queue.metricApproximateAgeOfOldestMessage(greatest('oldest')),
        ]),
        graph('Given up, put aside, repeated', of('deadLetters', 'deadLettered', 'held', 'redelivered')),
      ],
      [
        graph(
          'Needs a person, or the service',
          of('stoppedPartnerAccounts', 'needsAttention', 'circuitOpened', 'cursorResets', 'auditDifferences'),
        ),
        graph('Functions that failed or were throttled', [
          ...ofFunctions('metricErrors'),
          ...ofFunctions('metricThrottles', ' throttled'),
        ]),
        graph('How long functions ran, ms', durations),
      ],
      [
        graph('What the service answered', [
          own.answerMs.with({ statistic: Stats.SAMPLE_COUNT, label: 'to fan-out' }),
          ...of('answers429', 'answers403', 'answers4xx', 'answers5xx', 'answersNone'),
        ]),
        graph('How long its answers took, ms', [
          own.answerMs.with({ statistic: Stats.p(50), label: 'half of them' }),
          own.answerMs.with({ statistic: Stats.p(95), label: '95 % of them' }),
        ]),
      ],
      ...(customBusArn === undefined ? [] : [ofCustomBus(customBusArn, settings.busName)]),
    ],
  });
}

/**
 * What AWS measures of the Custom Event Bus, with a line for each subscriber: those of other AWS accounts, too. In the user
 * guide the dimension `EventBus` is the bus's ARN, or its name; what has been seen is `NAME/ID`, as AWS's toolkit has it, and
 * a search for another value finds nothing.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus-observability.html
 * @see https://github.com/aws/agent-toolkit-for-aws, its skill amazon-eventbridge-event-bus: references/observability.md
 */
function ofCustomBus(arn: string, name: string): IWidget[] {
  const nameAndId = Fn.select(1, Fn.split('event-busv2/', arn));
  const ofBus = [nameAndId, arn, name].map((value) => `EventBus="${value}"`).join(' OR ');
  const found = (dimensions: string, metric: string, statistic: string, label = '') =>
    new MathExpression({
      expression: `SEARCH('{AWS/EventsV2,${dimensions}} MetricName="${metric}" (${ofBus})', '${statistic}', ${period.toSeconds()})`,
      usingMetrics: {},
      label,
      period,
    });
  const ofSubscribers = (...given: [metric: string, statistic: string, label?: string]) =>
    ['EventBus,Subscriber', 'EventBus,SubscriberAccount'].map((dimensions) => found(dimensions, ...given));
  return [
    graph('Published on the Custom Event Bus', [
      found('EventBus', 'PublishEventsEntryCount', SUM, 'events'),
      found('EventBus', 'PublishEventsFailedEntriesCount', SUM, 'refused'),
      found('EventBus', 'PublishEventsApproximateThrottledCallCount', SUM, 'calls throttled'),
    ]),
    graph('Delivered to its subscribers, given up', [
      ...ofSubscribers('EventsDelivered', SUM),
      ...ofSubscribers('OnFailureDestinationDelivered', SUM, 'given up'),
      ...ofSubscribers('EventsDropped', SUM, 'lost'),
    ]),
    graph('Oldest event that a subscriber lacks, ms', ofSubscribers('ApproximateBacklogAge', MAXIMUM)),
  ];
}

const graph = (title: string, left: IMetric[], limit?: number): IWidget =>
  new GraphWidget({
    title,
    left,
    width: third,
    leftYAxis: { min: 0 },
    ...(limit !== undefined && { leftAnnotations: [{ value: limit, label: 'alarm' }] }),
  });

/**
 * The share of events in the displayed time range that were published in time:
 * docs/operate/capacity.md#freshness-as-an-slo.
 */
const freshness = ({ lateEvents: late, events, unavailable }: ReturnType<typeof metricsOf>): IWidget =>
  new SingleValueWidget({
    title: 'Events in time, %',
    width: third,
    height: 6,
    setPeriodToTimeRange: true,
    metrics: [
      new MathExpression({
        label: 'in time',
        expression: '100 * (1 - FILL(late, 0) / (FILL(events, 0) + FILL(unavailable, 0)))',
        usingMetrics: { late, events, unavailable },
        period,
      }),
    ],
  });
