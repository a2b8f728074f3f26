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
  readonly metrics: readonly { readonly id: string; readonly metric: MetricDefinition }[];
  /** An expression with the metrics' IDs. */
  readonly expression: string;
  readonly comparison: string;
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

export type AlarmState = 'OK' | 'ALARM' | 'INSUFFICIENT_DATA';

// biome-ignore lint/suspicious/noExplicitAny: CloudFormation's own shape.
type Properties = any;

/**
 * @param properties of the resource in the template
 * @param resolve returns a value of the template with references resolved
 */
export function alarmOf(properties: Properties, resolve: (value: unknown) => string): AlarmDefinition {
  const { Metrics, EvaluationPeriods: evaluationPeriods } = properties;
  const single = { Id: 'm', MetricStat: { ...properties, Metric: properties, Stat: properties.Statistic } };
  const parts: Properties[] = Metrics ?? [single];
  const result = parts.find(({ ReturnData = true }) => ReturnData);
  return {
    name: resolve(properties.AlarmName).replace(/^[^-]+-/, ''),
    anchor: /#([\w-]+)$/.exec(resolve(properties.AlarmDescription))?.[1] ?? '',
    metrics: parts.flatMap(({ Id: id, MetricStat: stat }) =>
      stat === undefined ? [] : [{ id, metric: metricOf(stat, resolve) }],
    ),
    expression: result?.Expression ?? result?.Id ?? 'm',
    comparison: properties.ComparisonOperator,
    threshold: Number(properties.Threshold),
    evaluationPeriods,
    datapointsToAlarm: properties.DatapointsToAlarm ?? evaluationPeriods,
    missing: properties.TreatMissingData ?? 'missing',
  };
}

function metricOf(
  { Metric: metric, Stat: statistic, Period: periodSeconds }: Properties,
  resolve: (value: unknown) => string,
): MetricDefinition {
  const dimensions = (metric.Dimensions ?? []).map(({ Name, Value }: Properties) => [Name, resolve(Value)]);
  return {
    namespace: metric.Namespace,
    name: metric.MetricName,
    dimensions: Object.fromEntries(dimensions),
    statistic,
    periodSeconds,
  };
}

/**
 * The alarm's state at `nowMs`, if time runs `factor` times faster than the clock: a period of 300 s lasts `300 /
 * factor` seconds, and a value in seconds is multiplied by `factor`.
 *
 * @param before its previous state, which stays while there is no data to the contrary and the alarm ignores missing
 * data
 */
export function stateAt(
  alarm: AlarmDefinition,
  pointsOf: (metric: MetricDefinition) => readonly Point[],
  nowMs: number,
  factor: number,
  before: AlarmState,
): AlarmState {
  const { metrics, evaluationPeriods, datapointsToAlarm, missing } = alarm;
  const periodMs = ((metrics[0]?.metric.periodSeconds ?? 0) * 1000) / factor;
  const values = Array.from({ length: evaluationPeriods }, (_, index) => {
    const until = nowMs - index * periodMs;
    const inPeriod = new Map(
      metrics.map(({ id, metric }) => {
        const points = pointsOf(metric).filter(({ at }) => at > until - periodMs && at <= until);
        return [id, statisticOf(metric.statistic, points, factor)] as const;
      }),
    );
    return resultOf(alarm.expression, inPeriod);
  });
  const known = values.filter((value) => value !== undefined);
  const gaps = missing === 'breaching' ? values.length - known.length : 0;
  if (known.length === 0 && missing === 'ignore') return before;
  if (known.length === 0 && missing === 'missing') return 'INSUFFICIENT_DATA';
  const breaching = known.filter((value) => isBeyond(alarm, value)).length + gaps;
  return breaching >= datapointsToAlarm ? 'ALARM' : 'OK';
}

function statisticOf(statistic: string, points: readonly Point[], factor: number): number | undefined {
  if (points.length === 0) return undefined;
  const values = points.map(({ value, unit }) => (unit === 'Seconds' ? value * factor : value));
  const sum = values.reduce((a, b) => a + b, 0);
  if (statistic === 'Sum') return sum;
  if (statistic === 'Maximum') return Math.max(...values);
  if (statistic === 'Minimum') return Math.min(...values);
  if (statistic === 'Average') return sum / values.length;
  if (statistic === 'SampleCount') return values.length;
  throw new Error(`the drill does not know the statistic ${statistic}`);
}

const operators: Readonly<Record<string, (value: number, threshold: number) => boolean>> = {
  GreaterThanThreshold: (value, threshold) => value > threshold,
  GreaterThanOrEqualToThreshold: (value, threshold) => value >= threshold,
  LessThanThreshold: (value, threshold) => value < threshold,
  LessThanOrEqualToThreshold: (value, threshold) => value <= threshold,
};

function isBeyond({ comparison, threshold }: AlarmDefinition, value: number): boolean {
  const operator = operators[comparison];
  if (!operator) throw new Error(`the drill does not know the comparison ${comparison}`);
  return operator(value, threshold);
}

const filled = /^FILL\((?<id>\w+), ?(?<fill>\d+)\)$/;

/** The part of metric math that the stack's alarms use: a sum of metrics, each `m` or `FILL(m, number)`. */
function resultOf(expression: string, values: ReadonlyMap<string, number | undefined>): number | undefined {
  const terms = expression.split('+').map((text) => {
    const term = text.trim();
    const { id = term, fill } = filled.exec(term)?.groups ?? {};
    if (!values.has(id)) throw new Error(`the drill does not know the expression ${expression}`);
    return values.get(id) ?? (fill === undefined ? Number.NaN : Number(fill));
  });
  const sum = terms.reduce((a, b) => a + b, 0);
  return Number.isNaN(sum) ? undefined : sum;
}
