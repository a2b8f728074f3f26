/**
 * The state of AWS resources around the bridge of a stack: its schedules, its event source mapping and its alarms.
 */
import { CloudWatchClient, GetMetricDataCommand, paginateDescribeAlarms } from '@aws-sdk/client-cloudwatch';
import { type LambdaClient, ListEventSourceMappingsCommand } from '@aws-sdk/client-lambda';
import { GetScheduleCommand, SchedulerClient } from '@aws-sdk/client-scheduler';
import { alarmOfBridge } from '../shared/contract/names.ts';
import { allPages } from './ask.ts';
import type { StackOutputs } from './stack-outputs.ts';

export interface StackState {
  /** `enabled`, or what differs: `drain disabled`, `unknown`. */
  readonly schedule: string;
  /** Names of the schedules that exist and are not enabled. */
  readonly schedulesOff: readonly string[];
  /**
   * State of fan-out's event source mapping: `enabled`, `disabled`, `missing`, `unknown`, or while it changes
   * `enabling` and similar.
   */
  readonly mapping: string;
  readonly mappingId: string | null;
  /** The alarms in state ALARM; null if they cannot be read. */
  readonly alarms: readonly RaisedAlarm[] | null;
  /**
   * Age of the oldest message in the queue, SQS's last measurement of the last ten minutes; null if there is none.
   */
  readonly oldestMessageSeconds: number | null;
  /** What could not be read, and why. */
  readonly unseen: readonly string[];
}

export interface RaisedAlarm {
  /** Without the bridge's name. */
  readonly name: string;
  /** The description of the alarm, including the section in the runbook. */
  readonly says: string;
  readonly since: string | null;
}

export interface StackPlaces {
  /** Name of the bridge. */
  readonly bridge: string;
  readonly outputs: StackOutputs;
  readonly lambda: LambdaClient;
}

const unknown = 'unknown';
const missing = 'missing';

/** Reads everything concurrently. What AWS refuses to show is listed in `unseen`, and does not affect the rest. */
export async function readStackState(
  { bridge, outputs, lambda }: StackPlaces,
  nowMs: number,
): Promise<StackState> {
  const cloudWatch = new CloudWatchClient();
  const scheduler = new SchedulerClient();
  const unseen: string[] = [];
  const seen = <T>(what: string, look: Promise<T>): Promise<T | undefined> =>
    look.catch((error: unknown) => {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      unseen.push(`${what} (${name}: ${message})`);
      return undefined;
    });
  try {
    const [schedule, mapping, alarms, oldest] = await Promise.all([
      seen('the schedules', scheduleState(scheduler, outputs)),
      seen("fan-out's event source mapping", mappingState(lambda, outputs.fanOutFunctionName)),
      seen('the alarms', raisedAlarms(cloudWatch, bridge)),
      seen('the age of the oldest message', oldestMessage(cloudWatch, outputs.queueUrl, nowMs)),
    ]);
    return {
      schedule: schedule?.state ?? unknown,
      schedulesOff: schedule?.off ?? [],
      mapping: mapping?.state ?? unknown,
      mappingId: mapping?.id ?? null,
      alarms: alarms ?? null,
      oldestMessageSeconds: oldest ?? null,
      unseen,
    };
  } finally {
    cloudWatch.destroy();
    scheduler.destroy();
  }
}

/** @see https://docs.aws.amazon.com/scheduler/latest/APIReference/API_GetSchedule.html */
async function scheduleState(client: SchedulerClient, outputs: StackOutputs) {
  const { drainScheduleName, refreshTokenScheduleName } = outputs;
  const names = { drain: drainScheduleName, 'refresh-token': refreshTokenScheduleName };
  const states = await Promise.all(
    Object.entries(names).map(async ([of, Name]) => {
      const state = await client.send(new GetScheduleCommand({ Name })).then(
        ({ State = unknown }) => State.toLowerCase(),
        (error: unknown) => {
          if (error instanceof Error && error.name === 'ResourceNotFoundException') return missing;
          throw error;
        },
      );
      return { of, state, name: Name };
    }),
  );
  const others = states.filter(({ state }) => state !== 'enabled');
  return {
    state: others.length === 0 ? 'enabled' : others.map(({ of, state }) => `${of} ${state}`).join(', '),
    off: others.filter(({ state }) => state !== missing).map(({ name }) => name),
  };
}

/** @see https://docs.aws.amazon.com/lambda/latest/api/API_ListEventSourceMappings.html */
async function mappingState(client: LambdaClient, functionName: string) {
  const { EventSourceMappings = [] } = await client.send(
    new ListEventSourceMappingsCommand({ FunctionName: functionName }),
  );
  const [mapping] = EventSourceMappings;
  return { state: mapping ? (mapping.State ?? unknown).toLowerCase() : missing, id: mapping?.UUID ?? null };
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
  const { MetricDataResults = [] } = await client.send(
    new GetMetricDataCommand({
      StartTime: new Date(nowMs - 600_000),
      EndTime: new Date(nowMs),
      ScanBy: 'TimestampDescending',
      MetricDataQueries: [
        {
          Id: 'age',
          MetricStat: {
            Metric: {
              Namespace: 'AWS/SQS',
              MetricName: 'ApproximateAgeOfOldestMessage',
              Dimensions: [{ Name: 'QueueName', Value: queueUrl.split('/').at(-1) ?? '' }],
            },
            Period: 60,
            Stat: 'Maximum',
          },
        },
      ],
    }),
  );
  return MetricDataResults[0]?.Values?.[0];
}
