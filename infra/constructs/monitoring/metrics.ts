import { Duration } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { type FeedName, feeds } from '../../../shared/contract/feeds.ts';
import { type MetricName, metrics, metricsNamespace } from '../../../shared/contract/names.ts';

/** The metrics of alarms and the dashboard. */
export const period = Duration.minutes(5);

/**
 * A metric as shared/runtime/observer.ts writes it: `service` is the same for all functions of a bridge, and feeds
 * other than adverts have the dimension `feed`.
 */
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

/** The lag of the partner account whose feed is furthest behind. The metric of the adverts feed has no dimension `feed`. */
export const lagOf = (bridge: { readonly namePrefix: string }, feed: FeedName): Metric =>
  bridgeMetric(bridge, metrics.feedLagSeconds, Stats.MAXIMUM, feeds[feed].isOptional ? { feed } : {});
