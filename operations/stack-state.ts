/**
 * The state of AWS resources around the bridge of a stack: its schedules, its event source mapping, its alarms and the
 * rules on its bus.
 */
import {
  CloudWatchClient,
  GetMetricDataCommand,
  type Metric,
  type MetricDataResult,
  paginateDescribeAlarms,
} from '@aws-sdk/client-cloudwatch';
import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type EventBridgeClient, ListRulesCommand, type Rule } from '@aws-sdk/client-eventbridge';
import { type LambdaClient, ListEventSourceMappingsCommand } from '@aws-sdk/client-lambda';
import { GetScheduleCommand, SchedulerClient } from '@aws-sdk/client-scheduler';
import { dynamoDbClient, eventBridgeClient } from '../shared/aws/clients.ts';
import { alarmOfBridge, metrics, metricsNamespace, namePrefixOf } from '../shared/contract/names.ts';
import { allPages, pagesOf } from './ask.ts';
import { makeAgainCommand } from './errors.ts';
import type { StackOutputs } from './stack-outputs.ts';

export interface StackState {
  /** `enabled`, or what differs: `drain disabled`, `unknown`. */
  readonly schedule: string;
  /**
   * State of fan-out's event source mapping: `enabled`, `disabled`, `missing`, `unknown`, or while it changes
   * `enabling` and similar.
   */
  readonly mapping: string;
  /** What is wrong with the two above, and with the tables. */
  readonly resourceFaults: readonly ResourceFault[];
  /** The alarms in state ALARM; null if they cannot be read. */
  readonly alarms: readonly RaisedAlarm[] | null;
  /** The rules on the bus, by which teams get the events; null if they cannot be read. */
  readonly rules: readonly ShownRule[] | null;
  /**
   * Age of the oldest message in the queue, SQS's last measurement of the last ten minutes; null if there is none.
   */
  readonly oldestMessageSeconds: number | null;
  /** What could not be read, and why. */
  readonly unseen: readonly string[];
}

export interface ResourceFault {
  readonly of: 'schedule' | 'mapping' | 'table';
  readonly says: string;
  /** The command or page that mends it. */
  readonly mend: string;
}

export interface RaisedAlarm {
  /** Without the bridge's name. */
  readonly name: string;
  /** The description of the alarm, including the section in the runbook. */
  readonly says: string;
  readonly since: string | null;
}

export interface ShownRule {
  readonly name: string;
  /** `enabled` or `disabled`. */
  readonly state: string;
}

export interface StackPlaces {
  /** Name of the bridge. */
  readonly bridge: string;
  readonly outputs: StackOutputs;
  readonly lambda: LambdaClient;
}

const enabled = 'enabled';
const restorePage = 'docs/operate/backup.md#restoring-a-table-on-aws';
const unknown = 'unknown';
const missing = 'missing';

/** Reads everything concurrently. What AWS refuses to show is listed in `unseen`, and does not affect the rest. */
export async function readStackState(
  { bridge, outputs, lambda }: StackPlaces,
  nowMs: number,
): Promise<StackState> {
  const cloudWatch = new CloudWatchClient();
  const scheduler = new SchedulerClient();
  const dynamoDb = dynamoDbClient();
  const events = eventBridgeClient();
  const unseen: string[] = [];
  const seen = <T>(what: string, look: Promise<T>): Promise<T | undefined> =>
    look.catch((error: unknown) => {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      unseen.push(`${what} (${name}: ${message})`);
      return undefined;
    });
  try {
    const [tables, schedule, mapping, alarms, rules, oldest] = await Promise.all([
      seen('the tables', tableFaults(dynamoDb, outputs)),
      seen('the schedules', readSchedules(scheduler, outputs)),
      seen("fan-out's event source mapping", readMapping(lambda, outputs)),
      seen('the alarms', raisedAlarms(cloudWatch, bridge)),
      seen('the rules', shownRules(events, outputs.eventBusName)),
      seen('the age of the oldest message', oldestMessage(cloudWatch, outputs.queueUrl, nowMs)),
    ]);
    return {
      schedule: schedule?.state ?? unknown,
      mapping: mapping?.state ?? unknown,
      resourceFaults: [...(tables ?? []), ...(schedule?.faults ?? []), ...(mapping?.faults ?? [])],
      alarms: alarms ?? null,
      rules: rules ?? null,
      oldestMessageSeconds: oldest ?? null,
      unseen,
    };
  } finally {
    dynamoDb.destroy();
    events.destroy();
    cloudWatch.destroy();
    scheduler.destroy();
  }
}

/** A resource, or both schedules: `enabled`, or what differs, and what is wrong. */
interface ResourceState {
  readonly state: string;
  readonly faults: readonly ResourceFault[];
}

/** Nothing reads the advert-status table but fan-out, so nothing else would notice that it is gone. */
async function tableFaults(
  client: DynamoDBClient,
  { feedStateTableName, advertStatusTableName }: StackOutputs,
): Promise<ResourceFault[]> {
  const faults = [feedStateTableName, advertStatusTableName].map(async (TableName) => {
    const { Table } = await client.send(new DescribeTableCommand({ TableName })).catch((error: unknown) => {
      if (error instanceof Error && error.name === 'ResourceNotFoundException') return { Table: undefined };
      throw error;
    });
    const { TableStatus = 'gone' } = Table ?? {};
    const fault = { of: 'table', says: `table ${TableName} is ${TableStatus}`, mend: restorePage } as const;
    return TableStatus === 'ACTIVE' || TableStatus === 'UPDATING' ? [] : [fault];
  });
  return (await Promise.all(faults)).flat();
}

/** Prefix of the names of all tails' rules and queues. The rule and the queue of one tail have the same name. */
export const tailPrefix = 'advert-bridge-tail-';

/** The rules on a bus by which others get the events: without those of tails and of an archive, which AWS manages. */
export async function rulesOf(events: EventBridgeClient, EventBusName: string): Promise<Rule[]> {
  const pages = pagesOf((NextToken) => events.send(new ListRulesCommand({ EventBusName, NextToken })));
  const all = await allPages(pages, ({ Rules }) => Rules);
  const isOwn = (name = '') => name.startsWith('Events-Archive-') || name.startsWith(tailPrefix);
  return all.filter(({ ManagedBy, Name }) => !ManagedBy && !isOwn(Name));
}

async function shownRules(events: EventBridgeClient, bus: string): Promise<ShownRule[]> {
  const rules = await rulesOf(events, bus);
  return rules.map(({ Name: name = unknown, State = unknown }) => ({ name, state: State.toLowerCase() }));
}

/** @see https://docs.aws.amazon.com/scheduler/latest/APIReference/API_GetSchedule.html */
export async function readSchedules(
  client: SchedulerClient,
  { drainScheduleName, drainFunctionName, refreshTokenScheduleName, refreshTokenFunctionName }: StackOutputs,
): Promise<ResourceState> {
  const schedules = await Promise.all([
    readSchedule(client, { of: 'drain', Name: drainScheduleName, invokes: drainFunctionName }),
    readSchedule(client, {
      ...{ of: 'refresh-token', Name: refreshTokenScheduleName, invokes: refreshTokenFunctionName },
    }),
  ]);
  const others = schedules.filter(({ state }) => state !== enabled);
  return {
    state: others.length === 0 ? enabled : others.map(({ of, state }) => `${of} ${state}`).join(', '),
    faults: others.map(({ name, state, invokes, mend }) => ({
      ...{ of: 'schedule', says: `schedule ${name} is ${state}: ${invokes} is not invoked`, mend },
    })),
  };
}

async function readSchedule(
  client: SchedulerClient,
  { of, Name, invokes }: { readonly of: string; readonly Name: string; readonly invokes: string },
) {
  const found = await client.send(new GetScheduleCommand({ Name })).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'ResourceNotFoundException') return undefined;
    throw error;
  });
  const schedule = { of, name: Name, invokes };
  if (!found) return { ...schedule, state: missing, mend: makeAgainCommand };
  const { State = unknown, ScheduleExpression, FlexibleTimeWindow, Target, Description } = found;
  const Arn = Target?.Arn ?? '';
  const wanted = { ...Target, Arn: Arn.replace(/^((?:[^:]*:){6})[^:]+/, `$1${invokes}`) };
  // The call replaces the whole schedule, so all of its properties are repeated.
  const mend =
    `aws scheduler update-schedule --name ${Name} --state ENABLED --schedule-expression '${ScheduleExpression}' ` +
    `${Description === undefined ? '' : `--description '${Description}' `}--flexible-time-window Mode=${FlexibleTimeWindow?.Mode} --target '${JSON.stringify(wanted)}'`;
  const state = State === 'ENABLED' && Arn !== wanted.Arn ? `invoking ${Arn}` : State.toLowerCase();
  return { ...schedule, state, mend };
}

/** @see https://docs.aws.amazon.com/lambda/latest/api/API_ListEventSourceMappings.html */
export async function readMapping(
  client: LambdaClient,
  { fanOutFunctionName, queueUrl }: StackOutputs,
): Promise<ResourceState> {
  const asked = new ListEventSourceMappingsCommand({ FunctionName: fanOutFunctionName });
  const { EventSourceMappings = [] } = await client.send(asked);
  const mapping = EventSourceMappings.find(
    ({ EventSourceArn }) => EventSourceArn?.split(':').at(-1) === queueUrl.split('/').at(-1),
  );
  const { UUID, FunctionResponseTypes = [], LastProcessingResult = '' } = mapping ?? {};
  const state = mapping ? (mapping.State ?? unknown).toLowerCase() : missing;
  const update = `aws lambda update-event-source-mapping --uuid ${UUID}`;
  const fault = (says: string, mend: string): ResourceState => ({
    state,
    faults: [{ of: 'mapping', says: `the event source mapping of fan-out ${says}`, mend }],
  });
  if (!mapping) return fault('is missing: no event is published', makeAgainCommand);
  if (state === 'disabled' || state === 'disabling')
    return fault(`is ${state}: no event is published`, `${update} --enabled`);
  if (!FunctionResponseTypes.includes('ReportBatchItemFailures')) {
    const mend = `${update} --function-response-types ReportBatchItemFailures`;
    return fault('does not report single failures: messages that failed would be deleted', mend);
  }
  if (LastProcessingResult.startsWith('PROBLEM'))
    return fault(`does not get through: ${LastProcessingResult}`, makeAgainCommand);
  return { state, faults: [] };
}

/** @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarms.html */
async function raisedAlarms(client: CloudWatchClient, bridge: string): Promise<RaisedAlarm[]> {
  const asked = { AlarmNamePrefix: `${bridge}-`, StateValue: 'ALARM' } as const;
  const found = await allPages(paginateDescribeAlarms({ client }, asked), ({ MetricAlarms }) => MetricAlarms);
  return found.flatMap(({ AlarmName = '', AlarmDescription: says = '', StateUpdatedTimestamp }) => {
    const name = alarmOfBridge(AlarmName, bridge);
    const since = StateUpdatedTimestamp?.toISOString() ?? null;
    return name === undefined ? [] : [{ name, says, since }];
  });
}

/**
 * The SQS API does not return the oldest message; reading the metric costs nothing, and it is a minute or two old.
 */
async function oldestMessage(
  client: CloudWatchClient,
  queueUrl: string,
  nowMs: number,
): Promise<number | undefined> {
  const age = { ...ofQueue(queueUrl, 'ApproximateAgeOfOldestMessage'), Stat: 'Maximum' };
  const [found] = await metricData(client, { age }, { fromMs: nowMs - 600_000, nowMs });
  return found?.Values?.[0];
}

/** A minute of the past, as CloudWatch has it; a figure that nothing was measured for is absent. */
export interface PastMinute {
  readonly atMs: number;
  readonly values: { readonly lag?: number; readonly waiting?: number; readonly events?: number };
}

const halfHourMs = 1_800_000;

/** The last half hour. */
export async function readPast(
  { bridge, outputs: { queueUrl } }: Pick<StackPlaces, 'bridge' | 'outputs'>,
  nowMs: number,
): Promise<readonly PastMinute[]> {
  const client = new CloudWatchClient();
  const ofBridge = (MetricName: string) => ({
    ...{ Namespace: metricsNamespace, MetricName },
    Dimensions: [{ Name: 'service', Value: namePrefixOf(bridge) }],
  });
  const wanted = {
    lag: { ...ofBridge(metrics.feedLagSeconds), Stat: 'Maximum' },
    waiting: { ...ofQueue(queueUrl, 'ApproximateNumberOfMessagesVisible'), Stat: 'Maximum' },
    events: { ...ofBridge(metrics.events), Stat: 'Sum' },
  };
  const minutes = new Map<number, PastMinute['values']>();
  try {
    for (const { Id = '', Timestamps = [], Values = [] } of await metricData(client, wanted, {
      fromMs: nowMs - halfHourMs,
      nowMs,
    })) {
      for (const [index, at] of Timestamps.entries()) {
        minutes.set(at.getTime(), { ...minutes.get(at.getTime()), [Id]: Values[index] });
      }
    }
  } finally {
    client.destroy();
  }
  return [...minutes].map(([atMs, values]) => ({ atMs, values }));
}

const ofQueue = (queueUrl: string, MetricName: string) => ({
  ...{ Namespace: 'AWS/SQS', MetricName },
  Dimensions: [{ Name: 'QueueName', Value: queueUrl.split('/').at(-1) ?? '' }],
});

/**
 * By minutes, newest first.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
 */
async function metricData(
  client: CloudWatchClient,
  wanted: Readonly<Record<string, Metric & { readonly Stat: string }>>,
  { fromMs, nowMs }: { readonly fromMs: number; readonly nowMs: number },
): Promise<readonly MetricDataResult[]> {
  const { MetricDataResults = [] } = await client.send(
    new GetMetricDataCommand({
      ...{ StartTime: new Date(fromMs), EndTime: new Date(nowMs), ScanBy: 'TimestampDescending' },
      MetricDataQueries: Object.entries(wanted).map(([Id, { Stat, ...metric }]) => {
        return { Id, MetricStat: { Metric: metric, Period: 60, Stat } };
      }),
    }),
  );
  return MetricDataResults;
}
