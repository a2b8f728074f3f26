/**
 * Evaluates an alarm of the template as CloudWatch does:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
 */

export interface MetricDefinition {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly statistic: string;
  readonly periodSeconds: number;
}

export interface AlarmDefinition {
  /** Without the stack's name as a prefix. */
  readonly name: string;
  /** The runbook heading that the alarm's description links to, in lower case. */
  readonly anchor: string;
  readonly metric: MetricDefinition;
  /** The alarm is raised above it. */
  readonly threshold: number;
  readonly evaluationPeriods: number;
  readonly datapointsToAlarm: number;
  readonly missing: string;
}

export interface Point {
  /** Ms since 1970. */
  readonly at: number;
  readonly value: number;
  /** A value in seconds is a duration, which must be scaled when time runs faster. */
  readonly unit?: string | undefined;
}

export type AlarmState = 'OK' | 'ALARM';

// biome-ignore lint/suspicious/noExplicitAny: CloudFormation's own shape.
type Properties = any;

/**
 * @param properties of the resource in the template
 * @param resolve returns a value of the template with references resolved
 * @throws {Error} for an alarm of another kind than those of the stack
 */
export function alarmOf(properties: Properties, resolve: (value: unknown) => string): AlarmDefinition {
  const { EvaluationPeriods: evaluationPeriods, ComparisonOperator, Statistic, MetricName } = properties;
  const dimensions = (properties.Dimensions ?? []).map(({ Name, Value }: Properties) => [
    Name,
    resolve(Value),
  ]);
  if (ComparisonOperator !== 'GreaterThanThreshold' || !statistics[Statistic] || MetricName === undefined)
    throw new Error(`the drill does not know the alarm ${JSON.stringify(properties)}`);
  return {
    name: resolve(properties.AlarmName).replace(/^[^-]+-/, ''),
    anchor: /#([\w-]+)$/.exec(resolve(properties.AlarmDescription))?.[1] ?? '',
    metric: {
      namespace: properties.Namespace,
      name: MetricName,
      dimensions: Object.fromEntries(dimensions),
      statistic: Statistic,
      periodSeconds: properties.Period,
    },
    threshold: Number(properties.Threshold),
    evaluationPeriods,
    datapointsToAlarm: properties.DatapointsToAlarm ?? evaluationPeriods,
    missing: properties.TreatMissingData,
  };
}

/** The statistics of the stack's alarms. */
const statistics: Readonly<Record<string, (values: readonly number[]) => number>> = {
  Sum: (values) => values.reduce((a, b) => a + b, 0),
  Maximum: (values) => Math.max(...values),
};

/**
 * The alarm's state at `nowMs`, if time runs `factor` times faster than the clock: a period of 300 s lasts `300 /
 * factor` seconds, and a value in seconds is multiplied by `factor`.
 *
 * @param before its previous state, which stays while there is no data to the contrary and the alarm ignores missing
 * data
 */
export function stateAt(
  { metric, threshold, evaluationPeriods, datapointsToAlarm, missing }: AlarmDefinition,
  points: readonly Point[],
  nowMs: number,
  factor: number,
  before: AlarmState,
): AlarmState {
  const periodMs = (metric.periodSeconds * 1000) / factor;
  const values = Array.from({ length: evaluationPeriods }, (_, index) => {
    const until = nowMs - index * periodMs;
    return points
      .filter(({ at }) => at > until - periodMs && at <= until)
      .map(({ value, unit }) => (unit === 'Seconds' ? value * factor : value));
  });
  const known = values.filter(({ length }) => length > 0);
  const gaps = missing === 'breaching' ? values.length - known.length : 0;
  if (known.length === 0 && missing === 'ignore') return before;
  const breaching = known.filter((each) => (statistics[metric.statistic]?.(each) ?? 0) > threshold).length;
  return breaching + gaps >= datapointsToAlarm ? 'ALARM' : 'OK';
}
