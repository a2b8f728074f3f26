/**
 * Checks that dashboard and alarms use metrics that the functions really write, by a run
 * of the real handlers.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventSource, metrics, metricsNamespace } from '../../shared/contract/names.ts';
import { createTelemetry } from '../../shared/runtime/observer.ts';
import { startAws } from '../helpers/aws/played-aws.ts';
import { inShort, repository, synthesized } from '../helpers/synthesized.ts';

const bridge = synthesized({ dashboard: 'true', auditSample: '299' });
const stopped = synthesized();

/** `Namespace MetricName Dimension=value …`. */
type Shown = string;
const shown = (namespace: string, name: string, dimensions: readonly (readonly [string, string])[]): Shown =>
  [namespace, name, ...dimensions.map((pair) => pair.join('='))].join(' ');

interface Widget {
  readonly type: string;
  readonly width: number;
  readonly properties: {
    readonly metrics?: readonly (readonly unknown[])[];
    readonly alarms?: readonly string[];
  };
}
const body = JSON.parse(
  inShort(bridge.one('AWS::CloudWatch::Dashboard').Properties.DashboardBody) as string,
) as { readonly widgets: readonly Widget[] };

/** A widget's row is namespace, name, then names and values of dimensions by turns; an expression is an object alone. */
const onDashboard: Shown[] = body.widgets
  .flatMap(({ properties }) => properties.metrics ?? [])
  .flatMap((row) => {
    const [namespace, name, ...rest] = row.filter((part): part is string => typeof part === 'string');
    if (namespace === undefined || name === undefined) return [];
    const pairs = rest.flatMap((part, index): [string, string][] =>
      index % 2 === 0 ? [[part, rest[index + 1] ?? '']] : [],
    );
    return [shown(namespace, name, pairs)];
  });

interface AlarmMetric {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions: readonly { readonly Name: string; readonly Value: string }[];
}
const inAlarms: Shown[] = bridge
  .ofType('AWS::CloudWatch::Alarm')
  .map(([, { Properties }]) => inShort(Properties) as AlarmMetric)
  .map(({ Namespace, MetricName, Dimensions }) =>
    shown(
      Namespace,
      MetricName,
      Dimensions.map(({ Name, Value }) => [Name, Value] as const),
    ),
  );

/** The metrics in lines of the embedded metric format. */
const emittedIn = (lines: readonly string[]): Shown[] =>
  lines.flatMap((line) => {
    const record = JSON.parse(line);
    // biome-ignore lint/suspicious/noExplicitAny: the embedded metric format, as it is.
    return (record._aws?.CloudWatchMetrics ?? []).flatMap(({ Namespace, Dimensions, Metrics }: any) =>
      Metrics.map(({ Name }: { Name: string }) =>
        shown(
          Namespace,
          Name,
          (Dimensions[0] as string[]).map((name) => [name, record[name]] as const),
        ),
      ),
    );
  });

/**
 * Metrics that AWS writes for nothing, by the resource that each is about.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
 */
const ofAws = [
  ...['Drain', 'FanOut', 'RefreshToken', 'Connect'].flatMap((name) =>
    ['Errors', 'Throttles', 'Duration'].map((metric) =>
      shown('AWS/Lambda', metric, [['FunctionName', `\${${name}Function}`]]),
    ),
  ),
  ...['ChangedAdvertsQueue', 'ChangedAdvertsDeadLetters'].flatMap((name) =>
    [
      'ApproximateNumberOfMessagesVisible',
      'ApproximateNumberOfMessagesNotVisible',
      'ApproximateAgeOfOldestMessage',
    ].map((metric) => shown('AWS/SQS', metric, [['QueueName', `\${${name}.QueueName}`]])),
  ),
];

const adverts = { good: '', bad: '' };
const lines: string[] = [];
let aws: Awaited<ReturnType<typeof startAws>>;

beforeAll(async () => {
  const keep = (chunk: unknown) =>
    lines.push(
      ...String(chunk)
        .split('\n')
        .filter((line) => line.startsWith('{')),
    ) > 0;
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
  aws = await startAws({
    setEnvironment: (variables) => {
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    },
    loadHandler: async (name) => (await import(`../../functions/${name}/handler.ts`)).handler,
  });
  const { control } = aws.sandbox;
  [adverts.good = '', adverts.bad = ''] = control.createAdverts(2, { status: 'active' });
  control.faults.add({ kind: 'wrong-shape', endpoint: 'advert', advertId: adverts.bad });
  await aws.invoke('drain');
  await aws.fanOut();
  vi.restoreAllMocks();
});
afterAll(() => aws.stop());

describe('the dashboard', () => {
  it('is there when it is asked for, one for the stack', () => {
    expect(stopped.ofType('AWS::CloudWatch::Dashboard')).toEqual([]);
    expect(bridge.one('AWS::CloudWatch::Dashboard').Properties.DashboardName).toBe('AdvertBridge');
  });

  it('stays within what the first three dashboards of an AWS account have for nothing: fifty metrics', () => {
    expect(new Set(onDashboard).size).toBeLessThanOrEqual(50);
  });

  it('shows every metric of the bridge, every function, and every alarm', () => {
    const names = onDashboard
      .filter((one) => one.startsWith(metricsNamespace))
      .map((one) => one.split(' ')[1]);
    expect(new Set(names)).toEqual(new Set(Object.values(metrics)));
    const shownAlarms = body.widgets.flatMap(({ properties }) => properties.alarms ?? []);
    expect(shownAlarms).toHaveLength(bridge.ofType('AWS::CloudWatch::Alarm').length);
  });
});

describe('every metric that is shown or raises an alarm is written', () => {
  const all = [...new Set([...onDashboard, ...inAlarms])];

  it('under the namespace and the dimension of the functions, or by AWS of a resource of the stack', async () => {
    const { observer, metrics: writer } = createTelemetry();
    const written: string[] = [];
    vi.spyOn(console, 'log').mockImplementation((line) => void written.push(line));
    vi.spyOn(process.stdout, 'write').mockImplementation((line) => written.push(String(line)) > 0);
    for (const name of Object.values(metrics)) observer.count(name, 1);
    writer.publishStoredMetrics();
    vi.restoreAllMocks();
    const own = emittedIn(written);

    expect(own).toContain(shown(metricsNamespace, metrics.events, [['service', eventSource]]));
    expect(all.filter((one) => ![...own, ...ofAws].includes(one))).toEqual([]);
  });

  it('by some function, not only listed as a name', () => {
    const sources = globSync(['functions/**/*.ts', 'shared/{partner-api,runtime}/**/*.ts'], {
      cwd: repository,
    })
      .map((file) => readFileSync(join(repository, file), 'utf8'))
      .join('\n');
    const counted = new Set([...sources.matchAll(/\.count\(\s*metrics\.(\w+)/g)].map(([, key]) => key));
    // Outcomes are counted under the name of each: what the run above did not meet, fan-out's own tests do.
    const outcomes = ['events', 'unchanged', 'coalesced', 'unavailable', 'deadLettered', 'held'];
    expect(sources).toMatch(/\.count\(metrics\[became\]/);

    expect(Object.keys(metrics).filter((key) => !counted.has(key) && !outcomes.includes(key))).toEqual([]);
    const inRun = emittedIn(lines.filter((line) => line.includes('"_aws"')));
    for (const name of [metrics.feedLagSeconds, metrics.listed, metrics.events]) {
      expect(inRun).toContain(shown(metricsNamespace, name, [['service', eventSource]]));
    }
  });
});
