/** The state of AWS resources around the bridge of a stack. */
import { GetMetricDataCommand, type MetricAlarm, paginateDescribeAlarms } from '@aws-sdk/client-cloudwatch';
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { ListRulesCommand, type ListRulesCommandOutput, type Rule } from '@aws-sdk/client-eventbridge';
import {
  type EventSourceMappingConfiguration,
  GetFunctionConcurrencyCommand,
  ListEventSourceMappingsCommand,
} from '@aws-sdk/client-lambda';
import { GetScheduleCommand, type GetScheduleCommandOutput } from '@aws-sdk/client-scheduler';
import { paginateListSecrets, type SecretListEntry } from '@aws-sdk/client-secrets-manager';
import { listSubscribers, type Subscriber } from '../../shared/aws/custom-event-bus.ts';
import { metrics, metricsNamespace, namePrefixOf, secretNamesOf } from '../../shared/contract/names.ts';
import type { AlarmName } from '../../shared/findings/finding.ts';
import problems from '../../shared/findings/problems.json' with { type: 'json' };
import type { RaisedAlarm, ResourceFault, StackState } from './printed.ts';
import { allPages, type StackClients, unlessMissing } from './stack-clients.ts';
import type { StackOutputs } from './stack-outputs.ts';

/** A deployed bridge, with what its resources are read through. */
export interface DeployedStack {
  readonly outputs: StackOutputs;
  readonly clients: StackClients;
}

/** A resource, or both schedules. */
interface ResourceState {
  /** `enabled`, or what differs: `missing`, `drain disabled`, or the state of AWS in lower case. */
  readonly state: string;
  readonly faults: readonly ResourceFault[];
}

const enabled = 'enabled';
const unknown = 'unknown';
const missing = 'missing';

/** Reads everything concurrently. What AWS refuses to show is listed in `unseen`, and does not affect the rest. */
export async function readStackState(stack: DeployedStack, nowMs: number): Promise<StackState> {
  const unseen: string[] = [];
  const seen = <T>(what: string, look: Promise<T>): Promise<T | undefined> =>
    look.catch((error: unknown) => {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      unseen.push(`${what} (${name}: ${message})`);
      return undefined;
    });
  const [tables = [], functions = [], secrets, schedule, mapping, alarms, rules, subscribers, [newest] = []] =
    await Promise.all([
      // In the order of the names above.
      seen('the tables', readTables(stack)),
      seen('the functions', readFunctions(stack)),
      seen('the secrets', secretsOf(stack)),
      seen('the schedules', readSchedules(stack)),
      seen("fan-out's event source mapping", readMapping(stack)),
      seen('the alarms', readAlarms(stack, { StateValue: 'ALARM' })),
      seen('the rules', rulesOf(stack)),
      seen('the subscribers', readSubscribers(stack)),
      seen(
        'the age of the oldest message',
        readMinutes(stack, ['oldest'], { fromMs: nowMs - 600_000, nowMs }),
      ),
    ]);
  return {
    schedule: schedule?.state ?? unknown,
    mapping: mapping?.state ?? unknown,
    resourceFaults: [tables, functions, schedule ?? [], mapping ?? []].flat().flatMap(({ faults }) => faults),
    secretsToBeDeleted: (secrets ?? []).flatMap(({ Name, DeletedDate }) =>
      DeletedDate && Name ? [Name] : [],
    ),
    alarms: alarms?.map((alarm) => raisedAlarm(alarm, stack.outputs)) ?? null,
    rules:
      rules?.map(({ Name: name = unknown, State = unknown }) => ({ name, state: State.toLowerCase() })) ??
      null,
    subscribers:
      subscribers?.map((one) => ({ name: one.Name ?? unknown, state: subscriberState(one).toLowerCase() })) ??
      null,
    oldestMessageSeconds: newest?.values.oldest ?? null,
    unseen,
  };
}

/** Nothing reads the advert-status table but fan-out, so nothing else would notice that it is gone. */
export function readTables({ clients, outputs }: DeployedStack) {
  return Promise.all(
    [outputs.feedStateTableName, outputs.advertStatusTableName].map(async (name) => {
      const found = await unlessMissing(clients.dynamoDb.send(new DescribeTableCommand({ TableName: name })));
      const { TableStatus = 'gone', DeletionProtectionEnabled: isProtected = false } = found?.Table ?? {};
      const fault: ResourceFault = { of: 'table', code: 'table', facts: { name, status: TableStatus } };
      return { name, isProtected, faults: /^(ACTIVE|UPDATING)$/.test(TableStatus) ? [] : [fault] };
    }),
  );
}

/** Without the connect function, which delivers nothing. Lambda invokes none whose reserved concurrency is 0. */
function readFunctions({ clients, outputs }: DeployedStack) {
  const names = [outputs.drainFunctionName, outputs.fanOutFunctionName, outputs.refreshTokenFunctionName];
  return Promise.all(
    names.map(async (FunctionName) => {
      const asked = new GetFunctionConcurrencyCommand({ FunctionName });
      const found = await unlessMissing(clients.lambda.send(asked));
      const code = found ? 'function-stopped' : 'function-gone';
      const fault: ResourceFault = { of: 'function', code, facts: { name: FunctionName } };
      return { faults: found && found.ReservedConcurrentExecutions !== 0 ? [] : [fault] };
    }),
  );
}

/** The application's and those of partner accounts, including those that wait for their deletion. */
export async function secretsOf({ clients, outputs }: DeployedStack): Promise<SecretListEntry[]> {
  const { application, partnerAccountPrefix } = secretNamesOf(namePrefixOf(outputs.bridgeName));
  const Values = [application, partnerAccountPrefix];
  const asked = { Filters: [{ Key: 'name' as const, Values }], IncludePlannedDeletion: true };
  const found = await allPages(
    paginateListSecrets({ client: clients.secrets }, asked),
    ({ SecretList }) => SecretList,
  );
  return found.filter(({ Name = '' }) => Name === application || Name.startsWith(partnerAccountPrefix));
}

/** Prefix of the names of all tails' rules and queues. The rule and the queue of one tail have the same name. */
export const tailPrefix = 'advert-bridge-tail-';

/** The rules by which others get the events, if there is a classic bus: without those of tails and of an archive, which AWS manages. */
export async function rulesOf({ clients, outputs }: DeployedStack): Promise<Rule[] | undefined> {
  // Without a name, AWS lists the rules of the default bus.
  if (outputs.eventBusName === undefined) return undefined;
  const all: Rule[] = [];
  let page: ListRulesCommandOutput | undefined;
  do {
    const asked = { EventBusName: outputs.eventBusName, NextToken: page?.NextToken };
    page = await clients.events.send(new ListRulesCommand(asked));
    all.push(...(page.Rules ?? []));
  } while (page.NextToken);
  const isOwn = (name = '') => name.startsWith('Events-Archive-') || name.startsWith(tailPrefix);
  return all.filter(({ ManagedBy, Name }) => !ManagedBy && !isOwn(Name));
}

/** The subscribers on the Custom Event Bus, if the bridge has one: those of other AWS accounts, too. */
export const readSubscribers = async ({
  clients,
  outputs,
}: DeployedStack): Promise<Subscriber[] | undefined> =>
  outputs.customEventBusArn === undefined
    ? undefined
    : listSubscribers(clients.customBus, outputs.customEventBusArn);

export const subscriberState = ({ Revoked, State }: Subscriber): string =>
  Revoked ? 'REVOKED' : (State ?? unknown);

/** @see https://docs.aws.amazon.com/scheduler/latest/APIReference/API_GetSchedule.html */
export async function readSchedules({ clients, outputs: names }: DeployedStack): Promise<ResourceState> {
  const schedules = [
    { of: 'drain', name: names.drainScheduleName, invokes: names.drainFunctionName },
    { of: 'refresh-token', name: names.refreshTokenScheduleName, invokes: names.refreshTokenFunctionName },
  ];
  const looked = schedules.map(async ({ of, name, invokes }) => {
    const found = await unlessMissing(clients.scheduler.send(new GetScheduleCommand({ Name: name })));
    const { State = found ? unknown : missing, Target } = found ?? {};
    const Arn = Target?.Arn ?? '';
    const wanted = { ...Target, Arn: Arn.replace(/^((?:[^:]*:){6})[^:]+/, `$1${invokes}`) };
    const state = State === 'ENABLED' && Arn !== wanted.Arn ? `invoking ${Arn}` : State.toLowerCase();
    const code = found ? 'schedule-changed' : 'schedule-missing';
    const update = found ? updateCommand({ ...found, Name: name }, wanted) : '';
    const fault: ResourceFault = { of: 'schedule', code, facts: { name, state, invokes, update } };
    return { of, state, fault };
  });
  const others = (await Promise.all(looked)).filter(({ state }) => state !== enabled);
  return {
    state: others.map(({ of, state }) => `${of} ${state}`).join(', ') || enabled,
    faults: others.map(({ fault }) => fault),
  };
}

/** The call replaces the whole schedule, so all of its properties are repeated. */
const updateCommand = (
  { Name, ScheduleExpression, FlexibleTimeWindow, Description }: GetScheduleCommandOutput,
  target: object,
): string =>
  `aws scheduler update-schedule --name ${Name} --state ENABLED --schedule-expression '${ScheduleExpression}' ` +
  `${Description === undefined ? '' : `--description '${Description}' `}--flexible-time-window Mode=${FlexibleTimeWindow?.Mode} --target '${JSON.stringify(target)}'`;

/** @see https://docs.aws.amazon.com/lambda/latest/api/API_ListEventSourceMappings.html */
export async function readMapping({ clients, outputs }: DeployedStack): Promise<ResourceState> {
  const asked = new ListEventSourceMappingsCommand({ FunctionName: outputs.fanOutFunctionName });
  const { EventSourceMappings = [] } = await clients.lambda.send(asked);
  const queueName = outputs.queueUrl.split('/').at(-1);
  const mapping = EventSourceMappings.find(
    ({ EventSourceArn = '' }) => EventSourceArn.split(':').at(-1) === queueName,
  );
  const state = mapping ? (mapping.State ?? unknown).toLowerCase() : missing;
  const code = mappingFault(mapping, state);
  const facts = { state, uuid: mapping?.UUID ?? '', result: mapping?.LastProcessingResult ?? '' };
  return { state, faults: code === undefined ? [] : [{ of: 'mapping', code, facts }] };
}

function mappingFault(
  mapping: EventSourceMappingConfiguration | undefined,
  state: string,
): string | undefined {
  if (!mapping) return 'mapping-missing';
  if (/^disabl(ed|ing)$/.test(state)) return 'mapping-disabled';
  if (!mapping.FunctionResponseTypes?.includes('ReportBatchItemFailures')) return 'mapping-deletes-failed';
  return mapping.LastProcessingResult?.startsWith('PROBLEM') ? 'mapping-blocked' : undefined;
}

/** @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarms.html */
export async function readAlarms(
  { clients, outputs: { bridgeName } }: DeployedStack,
  only: { readonly StateValue?: 'ALARM' } = {},
): Promise<MetricAlarm[]> {
  const asked = { AlarmNamePrefix: `${bridgeName}-`, ...only };
  const pages = paginateDescribeAlarms({ client: clients.cloudWatch }, asked);
  const found = await allPages(pages, ({ MetricAlarms }) => MetricAlarms);
  return found.filter(({ AlarmName = '' }) => alarmOfBridge(AlarmName, bridgeName) !== undefined);
}

/** Its name in its bridge, such as `FunctionErrors-FanOut`; undefined for an alarm of another bridge or program. */
export function alarmOfBridge(alarmName: string, bridgeName: string): AlarmName | undefined {
  const names = Object.keys(problems.alarm) as AlarmName[];
  return names.find((name) => alarmName === `${bridgeName}-${name}`);
}

export const raisedAlarm = (alarm: MetricAlarm, { bridgeName }: StackOutputs): RaisedAlarm => ({
  name: alarmOfBridge(alarm.AlarmName ?? '', bridgeName) as AlarmName,
  says: alarm.AlarmDescription ?? '',
  since: alarm.StateUpdatedTimestamp?.toISOString() ?? null,
});

const measured = {
  lag: { of: 'bridge', MetricName: metrics.feedLagSeconds, Stat: 'Maximum' },
  events: { of: 'bridge', MetricName: metrics.events, Stat: 'Sum' },
  waiting: { of: 'queue', MetricName: 'ApproximateNumberOfMessagesVisible', Stat: 'Maximum' },
  /** The SQS API does not return the oldest message; reading the metric costs nothing, and it is a minute or two old. */
  oldest: { of: 'queue', MetricName: 'ApproximateAgeOfOldestMessage', Stat: 'Maximum' },
} as const;

/** A minute of the past, as CloudWatch has it; a figure that nothing was measured for is absent. */
export interface PastMinute {
  readonly atMs: number;
  readonly values: Readonly<Partial<Record<keyof typeof measured, number>>>;
}

export const readPast = (stack: DeployedStack, nowMs: number): Promise<PastMinute[]> =>
  readMinutes(stack, ['lag', 'waiting', 'events'], { fromMs: nowMs - 1_800_000, nowMs });

/**
 * Newest first.
 *
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
 */
async function readMinutes(
  { outputs: { bridgeName, queueUrl }, clients: { cloudWatch } }: DeployedStack,
  wanted: readonly (keyof typeof measured)[],
  { fromMs, nowMs }: { readonly fromMs: number; readonly nowMs: number },
): Promise<PastMinute[]> {
  const places = {
    bridge: [metricsNamespace, { Name: 'service', Value: namePrefixOf(bridgeName) }],
    queue: ['AWS/SQS', { Name: 'QueueName', Value: queueUrl.split('/').at(-1) ?? '' }],
  } as const;
  const { MetricDataResults = [] } = await cloudWatch.send(
    new GetMetricDataCommand({
      StartTime: new Date(fromMs),
      EndTime: new Date(nowMs),
      ScanBy: 'TimestampDescending',
      MetricDataQueries: wanted.map((Id) => {
        const { of, MetricName, Stat } = measured[Id];
        const [Namespace, dimension] = places[of];
        const Metric = { Namespace, MetricName, Dimensions: [dimension] };
        return { Id, MetricStat: { Metric, Period: 60, Stat } };
      }),
    }),
  );
  const minutes = new Map<number, PastMinute['values']>();
  for (const { Id = '', Timestamps = [], Values = [] } of MetricDataResults) {
    for (const [index, at] of Timestamps.entries())
      minutes.set(at.getTime(), { ...minutes.get(at.getTime()), [Id]: Values[index] });
  }
  return [...minutes].map(([atMs, values]) => ({ atMs, values }));
}
