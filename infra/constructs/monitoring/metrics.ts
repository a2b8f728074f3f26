import { Duration } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { type MetricName, metricsNamespace } from '../../../shared/contract/names.ts';

/** What alarms and the dashboard look at. */
export const period = Duration.minutes(5);

/** As shared/runtime/observer.ts writes it: the `service` is the same for all functions of a bridge, and a feed beside adverts is named. */
export const bridgeMetric = (
  { namePrefix }: { readonly namePrefix: string },
  metricName: MetricName,
  statistic: string,
  dimensions: { readonly feed?: string } = {},
): Metric =>
  new Metric({
    namespace: metricsNamespace,
    metricName,
    dimensionsMap: { service: namePrefix, ...dimensions },
    statistic,
    period,
  });
