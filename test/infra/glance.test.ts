import { expect, it, vi } from 'vitest';
import { createTelemetry } from '../../functions/runtime/observer.ts';
import { eventSource, metrics, metricsNamespace } from '../../shared/contract/names.ts';
import { inShort, synthesized } from '../helpers/synthesized.ts';

const bridge = synthesized({ dashboard: 'true', auditSample: '299' });

const shown = (namespace: unknown, name: unknown, dimension: unknown, value: unknown): string =>
  `${namespace} ${name} ${dimension}=${value}`;

const { widgets } = JSON.parse(
  inShort(bridge.one('AWS::CloudWatch::Dashboard').Properties.DashboardBody) as string,
) as { widgets: { properties: { metrics?: unknown[][]; alarms?: string[] } }[] };

/** A widget's row is namespace, name, then names and values of dimensions in turn; an expression is only an object. */
const onDashboard = widgets
  .flatMap(({ properties }) => properties.metrics ?? [])
  .map((row) => row.filter((part) => typeof part === 'string'))
  .filter(([namespace]) => namespace !== undefined)
  .map(([namespace, name, dimension, value]) => shown(namespace, name, dimension, value));

const inAlarms = bridge
  .ofType('AWS::CloudWatch::Alarm')
  .map(([, { Properties: p }]) =>
    shown(p.Namespace, p.MetricName, p.Dimensions[0].Name, inShort(p.Dimensions[0].Value)),
  );

/** The metrics in lines of the embedded metric format. */
const emittedIn = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => {
    const record = JSON.parse(line);
    // biome-ignore lint/suspicious/noExplicitAny: the embedded metric format, as it is.
    return (record._aws?.CloudWatchMetrics ?? []).flatMap(({ Namespace, Dimensions, Metrics }: any) =>
      Metrics.map(({ Name }: { Name: string }) =>
        shown(Namespace, Name, Dimensions[0][0], record[Dimensions[0][0]]),
      ),
    );
  });

it('the dashboard has at most fifty metrics, which are free', () => {
  expect(new Set(onDashboard).size).toBeLessThanOrEqual(50);
});

it('the dashboard shows every metric, every function and every alarm', () => {
  const names = onDashboard.filter((one) => one.startsWith(metricsNamespace)).map((one) => one.split(' ')[1]);
  expect(new Set(names)).toEqual(new Set(Object.values(metrics)));
  const shownAlarms = widgets.flatMap(({ properties }) => properties.alarms ?? []);
  expect(shownAlarms).toHaveLength(bridge.ofType('AWS::CloudWatch::Alarm').length);
});

it('dashboard and alarms use each of our metrics with its dimension', () => {
  // CDK itself names the metrics that AWS writes.
  const all = [...onDashboard, ...inAlarms].filter((one) => one.startsWith(`${metricsNamespace} `));
  const { observer, metrics: writer } = createTelemetry();
  const written: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((line) => void written.push(line));
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => written.push(String(line)) > 0);
  for (const name of Object.values(metrics)) observer.count(name, 1);
  writer.publishStoredMetrics();
  vi.restoreAllMocks();
  const own = emittedIn(written);

  expect(own).toContain(shown(metricsNamespace, metrics.events, 'service', eventSource));
  expect(all.filter((one) => !own.includes(one))).toEqual([]);
});
