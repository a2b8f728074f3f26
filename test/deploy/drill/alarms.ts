/**
 * Evaluates the alarms of the template as CloudWatch does:
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html
 */
import { DescribeStackResourcesCommand } from '@aws-sdk/client-cloudformation';
import { GetMetricStatisticsCommand } from '@aws-sdk/client-cloudwatch';
import { GetQueueAttributesCommand, GetQueueUrlCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { stackName } from '../../../shared/contract/names.ts';
import { synthesized } from '../../helpers/synthesized.ts';
import { functionLogs, sizeOf, textAfter } from '../emulator/logs.ts';
import type { Deployment } from '../stack/deployment.ts';

/** The properties of the template's resource, with references replaced by the names of the deployed resources. */
export interface Alarm {
  /** Without the stack's name as a prefix. */
  readonly name: string;
  /** The runbook heading that the alarm's description links to, in lower case. */
  readonly anchor: string;
  readonly Namespace: string;
  readonly MetricName: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly Statistic: 'Sum' | 'Maximum';
  readonly Period: number;
  readonly Threshold: number;
  readonly EvaluationPeriods: number;
  readonly DatapointsToAlarm?: number;
  readonly TreatMissingData: 'breaching' | 'notBreaching' | 'ignore';
}

/** The alarms of the template for AWS, by name. @throws {Error} for one that cannot be evaluated here */
export async function alarmsOf({ cloud, settings }: Deployment): Promise<Map<string, Alarm>> {
  const { StackResources = [] } = await cloud.cloudFormation.send(
    new DescribeStackResourcesCommand({ StackName: stackName }),
  );
  const physical = new Map(StackResources.map((each) => [each.LogicalResourceId, each.PhysicalResourceId]));
  /** A dimension is a string, a reference, or the name of a queue, whose physical ID is its URL. */
  function resolve(value: unknown): string {
    if (typeof value === 'string') return value;
    const { Ref, 'Fn::GetAtt': attribute, 'Fn::Join': joined } = value as Record<string, unknown>;
    if (Array.isArray(joined)) return (joined[1] as unknown[]).map(resolve).join(joined[0]);
    const id = String(Ref ?? (attribute as string[])[0]);
    return physical.get(id)?.split('/').at(-1) ?? id;
  }
  const alarms = synthesized({ ...settings, target: 'aws' }).ofType('AWS::CloudWatch::Alarm');
  return new Map(
    alarms.map(([, { Properties: alarm }]) => {
      const { Statistic, ComparisonOperator, AlarmName, AlarmDescription } = alarm;
      if (ComparisonOperator !== 'GreaterThanThreshold' || !['Sum', 'Maximum'].includes(Statistic))
        throw new Error(`the drill does not know the alarm ${JSON.stringify(alarm)}`);
      const name = resolve(AlarmName).replace(/^[^-]+-/, '');
      const anchor = /#([\w-]+)$/.exec(resolve(AlarmDescription))?.[1] ?? '';
      const dimensions = (alarm.Dimensions as { Name: string; Value: unknown }[]).map(
        ({ Name, Value }) => [Name, resolve(Value)] as const,
      );
      return [name, { ...alarm, name, anchor, dimensions: Object.fromEntries(dimensions) }];
    }),
  );
}

export interface Point {
  /** Ms since 1970. */
  readonly at: number;
  readonly value: number;
  /** A value in seconds is a duration, which must be scaled when time runs faster. */
  readonly unit?: string | undefined;
}

/**
 * Whether the alarm is on, if time runs `factor` times faster than the clock: a period of 300 s lasts `300 / factor`
 * seconds, and a value in seconds is multiplied by `factor`.
 *
 * @param before whether it was, which stays while there is no data to the contrary and the alarm ignores missing data
 */
export function isOn(alarm: Alarm, points: readonly Point[], factor: number, before: boolean): boolean {
  const { Statistic, Period, Threshold, EvaluationPeriods, DatapointsToAlarm, TreatMissingData } = alarm;
  const periodMs = (Period * 1000) / factor;
  const now = Date.now();
  const periods = Array.from({ length: EvaluationPeriods }, (_, index) => {
    const until = now - index * periodMs;
    const own = points.filter(({ at }) => at > until - periodMs && at <= until);
    return own.map(({ value, unit }) => (unit === 'Seconds' ? value * factor : value));
  });
  const known = periods.filter(({ length }) => length > 0);
  if (known.length === 0 && TreatMissingData === 'ignore') return before;
  const gaps = TreatMissingData === 'breaching' ? periods.length - known.length : 0;
  const breaching = known.filter((values) => {
    const total = values.reduce((sum, value) => sum + value, 0);
    return (Statistic === 'Sum' ? total : Math.max(...values)) > Threshold;
  });
  return breaching.length + gaps >= (DatapointsToAlarm ?? EvaluationPeriods);
}

/** A batch that Lambda throttled also fails, but without an error type: that is not an error of the function. */
const batchFailed = /ESM: Lambda (\S+) failed processing .*errorType=(?!None)/g;

export type Meter = Awaited<ReturnType<typeof startMeter>>;

/** @returns what collects the datapoints of an alarm's metric since a time, ms since 1970 */
export async function startMeter({ cloud, emulator: { logFile } }: Deployment) {
  let read = await sizeOf(logFile);
  /** What SQS and event source mappings report to CloudWatch on AWS, sampled whenever a metric is read. */
  const sampled: (Point & { readonly of: string })[] = [];

  /** From log lines in the embedded metric format, which CloudWatch converts to metrics. */
  async function emitted({ Namespace, MetricName, dimensions }: Alarm, sinceMs: number): Promise<Point[]> {
    const lines = [...(await functionLogs(cloud.endpoint, sinceMs)).values()].flat();
    const own = lines.filter((line) => line.includes('"_aws"') && line.includes(`"${MetricName}"`));
    return own.flatMap((text) => {
      const line = JSON.parse(text.slice(text.indexOf('{')));
      const groups: EmbeddedMetrics[] = line._aws.CloudWatchMetrics;
      return groups.flatMap((group) => {
        const metric = group.Metrics.find(({ Name }) => Name === MetricName);
        const names = Object.keys(dimensions);
        const isMeant = group.Dimensions.some(
          (set) => set.length === names.length && set.every((key) => line[key] === dimensions[key]),
        );
        if (group.Namespace !== Namespace || !metric || !isMeant) return [];
        const values: number[] = [line[MetricName]].flat();
        return values.map((value) => ({ at: line._aws.Timestamp, value, unit: metric.Unit }));
      });
    });
  }

  async function fromCloudWatch(alarm: Alarm, sinceMs: number): Promise<Point[]> {
    const { Namespace, MetricName, dimensions, Statistic } = alarm;
    const { Datapoints = [] } = await cloud.cloudWatch.send(
      new GetMetricStatisticsCommand({
        ...{ Namespace, MetricName, Period: 1, Statistics: [Statistic] },
        Dimensions: Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value })),
        StartTime: new Date(sinceMs),
        EndTime: new Date(Date.now() + 1000),
      }),
    );
    return Datapoints.map((point) => ({ at: Number(point.Timestamp), value: Number(point[Statistic]) }));
  }

  /** The emulator counts only failures of direct `Invoke` calls, but logs the result of each batch. */
  async function sampleBatches(): Promise<void> {
    const text = await textAfter(logFile, read);
    const lines = text.slice(0, text.lastIndexOf('\n') + 1);
    read += Buffer.byteLength(lines);
    for (const [, of = ''] of lines.matchAll(batchFailed)) sampled.push({ of, at: Date.now(), value: 1 });
  }

  async function sampleQueue(name: string, metric: string): Promise<void> {
    const { QueueUrl } = await cloud.sqs.send(new GetQueueUrlCommand({ QueueName: name }));
    const point = { of: `${name} ${metric}`, at: Date.now() };
    if (metric === 'ApproximateNumberOfMessagesVisible') {
      const { Attributes } = await cloud.sqs.send(
        new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['ApproximateNumberOfMessages'] }),
      );
      sampled.push({ ...point, value: Number(Attributes?.ApproximateNumberOfMessages) });
      return;
    }
    // The age: the emulator does not report it, so this reads the messages without hiding them.
    const { Messages = [] } = await cloud.sqs.send(
      new ReceiveMessageCommand({
        ...{ QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 0 },
        MessageSystemAttributeNames: ['SentTimestamp'],
      }),
    );
    const ages = Messages.map(({ Attributes }) => (point.at - Number(Attributes?.SentTimestamp)) / 1000);
    sampled.push({ ...point, value: Math.max(0, ...ages), unit: 'Seconds' });
  }

  return async (alarm: Alarm, sinceMs: number): Promise<Point[]> => {
    const { Namespace, MetricName, dimensions } = alarm;
    const { QueueName = '', FunctionName } = dimensions;
    const since = (of?: string) => sampled.filter((point) => point.of === of && point.at >= sinceMs);
    if (!Namespace.startsWith('AWS/')) return emitted(alarm, sinceMs);
    if (Namespace === 'AWS/SQS') {
      await sampleQueue(QueueName, MetricName);
      return since(`${QueueName} ${MetricName}`);
    }
    const points = await fromCloudWatch(alarm, sinceMs);
    if (MetricName !== 'Errors') return points;
    await sampleBatches();
    return [...points, ...since(FunctionName)];
  };
}

interface EmbeddedMetrics {
  readonly Namespace: string;
  readonly Dimensions: readonly (readonly string[])[];
  readonly Metrics: readonly { readonly Name: string; readonly Unit?: string }[];
}
