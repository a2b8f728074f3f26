import { Duration } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { type MetricName, metricsNamespace } from '../../../shared/contract/names.ts';

/** The metrics of alarms and the dashboard. */
export const period = Duration.minutes(5);

/**
 * A metric as shared/runtime/observer.ts writes it: `service` is the same for all functions of a bridge.
 */
export const bridgeMetric = (
  { namePrefix }: { readonly namePrefix: string },
  metricName: MetricName,
  statistic: string,
): Metric =>
  new Metric({
    namespace: metricsNamespace,
    metricName,
    dimensionsMap: { service: namePrefix },
    statistic,
    period,
  });
