import { DescribeStackResourcesCommand } from '@aws-sdk/client-cloudformation';
import { GetMetricStatisticsCommand } from '@aws-sdk/client-cloudwatch';
import { GetQueueAttributesCommand, GetQueueUrlCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { stackName } from '../../../shared/contract/names.ts';
import { synthesized } from '../../helpers/synthesized.ts';
import type { Cloud } from '../emulator/cloud.ts';
import { EmulatorLog } from '../emulator/emulator-log.ts';
import { logEvents } from '../emulator/logs.ts';
import { type AlarmDefinition, alarmOf, type MetricDefinition, type Point } from './alarm.ts';

/** The alarms of the template for AWS, by name, with references replaced by the deployed resources. */
export async function alarmsOf(
  cloud: Cloud,
  settings: Readonly<Record<string, string>>,
): Promise<Map<string, AlarmDefinition>> {
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
  const alarms = synthesized({ ...settings, target: 'aws' })
    .ofType('AWS::CloudWatch::Alarm')
    .map(([, { Properties }]) => alarmOf(Properties, resolve));
  return new Map(alarms.map((alarm) => [alarm.name, alarm]));
}

/** Collects the existing datapoints of each metric. */
export class Meter {
  readonly #cloud: Cloud;
  readonly #emulatorLog: EmulatorLog;
  /** What SQS and event source mappings report to CloudWatch on AWS; here sampled whenever a metric is read. */
  readonly #sampled = new Map<string, Point[]>();
  /** How far the emulator's log has been read. */
  readonly #read = new Map<string, number>();

  /** @param logFile the emulator's own log */
  constructor(cloud: Cloud, logFile: string) {
    this.#cloud = cloud;
    this.#emulatorLog = new EmulatorLog(logFile);
  }

  /** @param sinceMs ms since 1970: older datapoints are not returned */
  async pointsOf(metric: MetricDefinition, sinceMs: number): Promise<Point[]> {
    const { namespace } = metric;
    if (namespace === 'AWS/SQS') return this.#queuePoints(metric, sinceMs);
    if (namespace === 'AWS/Lambda' && metric.name === 'Errors') {
      return [
        ...(await this.#cloudWatchPoints(metric, sinceMs)),
        ...(await this.#failedBatches(metric, sinceMs)),
      ];
    }
    if (namespace.startsWith('AWS/')) return this.#cloudWatchPoints(metric, sinceMs);
    return this.#emittedPoints(metric, sinceMs);
  }

  /** From log lines in the embedded metric format, which CloudWatch converts to metrics. */
  async #emittedPoints({ namespace, name, dimensions }: MetricDefinition, sinceMs: number): Promise<Point[]> {
    const events = [...(await logEvents(this.#cloud.endpoint, sinceMs)).values()].flat();
    const lines = events.filter(({ message }) => message.includes('"_aws"') && message.includes(`"${name}"`));
    return lines.flatMap(({ message }) => {
      const line = JSON.parse(message.slice(message.indexOf('{')));
      const { Timestamp: at, CloudWatchMetrics: groups } = line._aws;
      return (groups as EmbeddedMetrics[]).flatMap(({ Namespace, Dimensions, Metrics }) => {
        const metric = Metrics.find(({ Name }) => Name === name);
        const names = Object.keys(dimensions);
        const isMeant = Dimensions.some(
          (set) => set.length === names.length && set.every((key) => line[key] === dimensions[key]),
        );
        if (Namespace !== namespace || !metric || !isMeant) return [];
        return [line[name]].flat().map((value: number) => ({ at, value, unit: metric.Unit }));
      });
    });
  }

  async #cloudWatchPoints(metric: MetricDefinition, sinceMs: number): Promise<Point[]> {
    const { namespace, name, dimensions, statistic } = metric;
    const { Datapoints = [] } = await this.#cloud.cloudWatch.send(
      new GetMetricStatisticsCommand({
        Namespace: namespace,
        MetricName: name,
        Dimensions: Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value })),
        StartTime: new Date(sinceMs),
        EndTime: new Date(Date.now() + 1000),
        Period: 1,
        Statistics: [statistic as 'Sum'],
      }),
    );
    return Datapoints.map(({ Timestamp, ...values }) => ({
      at: Timestamp?.getTime() ?? 0,
      value: Number(values[statistic as 'Sum']),
    }));
  }

  /**
   * Failed invocations by an event source mapping: the emulator counts only failures of direct `Invoke` calls, but
   * logs the result of each batch. The first call reads nothing.
   */
  async #failedBatches({ dimensions }: MetricDefinition, sinceMs: number): Promise<Point[]> {
    const { FunctionName = '' } = dimensions;
    const key = `${FunctionName} Errors`;
    const points = this.#sampled.get(key) ?? [];
    this.#sampled.set(key, points);
    const from = this.#read.get(key) ?? (await this.#emulatorLog.mark());
    const text = await this.#emulatorLog.since(from);
    const lines = text.slice(0, text.lastIndexOf('\n') + 1);
    this.#read.set(key, from + Buffer.byteLength(lines));
    const ends = [...lines.matchAll(batchFailed(FunctionName))];
    points.push(...ends.map(() => ({ at: Date.now(), value: 1 })));
    return points.filter(({ at }) => at >= sinceMs);
  }

  async #queuePoints({ name, dimensions }: MetricDefinition, sinceMs: number): Promise<Point[]> {
    const { QueueName = '' } = dimensions;
    const points = this.#sampled.get(`${QueueName} ${name}`) ?? [];
    this.#sampled.set(`${QueueName} ${name}`, points);
    const { QueueUrl = '' } = await this.#cloud.sqs.send(new GetQueueUrlCommand({ QueueName }));
    if (name === 'ApproximateNumberOfMessagesVisible')
      points.push({ at: Date.now(), value: await this.#visible(QueueUrl) });
    else if (name === 'ApproximateAgeOfOldestMessage')
      points.push({ at: Date.now(), value: await this.#ageOfOldest(QueueUrl), unit: 'Seconds' });
    else throw new Error(`the drill does not know what SQS counts as ${name}`);
    return points.filter(({ at }) => at >= sinceMs);
  }

  async #visible(QueueUrl: string): Promise<number> {
    const { Attributes } = await this.#cloud.sqs.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['ApproximateNumberOfMessages'] }),
    );
    return Number(Attributes?.ApproximateNumberOfMessages);
  }

  /** Age in seconds. The emulator does not report it, so this reads the messages without hiding them. */
  async #ageOfOldest(QueueUrl: string): Promise<number> {
    const { Messages = [] } = await this.#cloud.sqs.send(
      new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: 10,
        VisibilityTimeout: 0,
        MessageSystemAttributeNames: ['SentTimestamp'],
      }),
    );
    const sent = Messages.map(({ Attributes }) => Number(Attributes?.SentTimestamp));
    return Math.max(0, ...sent.map((at) => (Date.now() - at) / 1000));
  }
}

/** A batch that Lambda throttled also fails, but without an error type: that is not an error of the function. */
const batchFailed = (functionName: string): RegExp =>
  new RegExp(`ESM: Lambda ${functionName} failed processing .*errorType=(?!None)`, 'g');

interface EmbeddedMetrics {
  readonly Namespace: string;
  readonly Dimensions: readonly (readonly string[])[];
  readonly Metrics: readonly { readonly Name: string; readonly Unit?: string }[];
}
